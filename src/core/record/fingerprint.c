/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/fingerprint.h"

#include "core/json/members.h"
#include "core/json/parse.h"

#define TXID_FORMAT "%016" G_GINT64_MODIFIER "x"

void
gbe_fingerprint_clear(GbeFingerprint *fp)
{
	GbeFingerprint absent = {0};

	/* Where @fp is absent its fields are undefined, but these are never set to foreign pointers. */
	g_free(fp->wal_name);
	g_free(fp->snaps);
	g_free(fp->others);
	*fp = absent;
}

void
gbe_fingerprint_copy(GbeFingerprint *to, const GbeFingerprint *from)
{
	GbeFingerprint copy = *from;

	copy.wal_name = g_strdup(from->wal_name);
	copy.snaps = g_strdup(from->snaps);
	copy.others = g_strdup(from->others);
	gbe_fingerprint_clear(to);
	*to = copy;
}

bool
gbe_fingerprint_same_db(const GbeFingerprint *a, const GbeFingerprint *b)
{
	return a->present && b->present && a->txid[0] == b->txid[0] && a->txid[1] == b->txid[1];
}

bool
gbe_fingerprint_same_etcd(const GbeFingerprint *a, const GbeFingerprint *b)
{
	return gbe_fingerprint_same_db(a, b) && a->wal_size == b->wal_size &&
	       a->wal_offset == b->wal_offset && a->wal_crc == b->wal_crc &&
	       g_strcmp0(a->wal_name, b->wal_name) == 0 && g_strcmp0(a->snaps, b->snaps) == 0;
}

bool
gbe_fingerprint_equal(const GbeFingerprint *a, const GbeFingerprint *b)
{
	return gbe_fingerprint_same_etcd(a, b) && g_strcmp0(a->others, b->others) == 0;
}

void
gbe_fingerprint_to_json(const GbeFingerprint *fp, JsonObject *object)
{
	g_autofree char *txid0 = g_strdup_printf(TXID_FORMAT, fp->txid[0]);
	g_autofree char *txid1 = g_strdup_printf(TXID_FORMAT, fp->txid[1]);

	gbe_json_set_string(object, "txid0", txid0);
	gbe_json_set_string(object, "txid1", txid1);
	gbe_json_set_string(object, "wal", fp->wal_name);
	json_object_set_int_member(object, "wal_size", (gint64)fp->wal_size);
	json_object_set_int_member(object, "wal_offset", (gint64)fp->wal_offset);
	json_object_set_int_member(object, "wal_crc", fp->wal_crc);
	gbe_json_set_string(object, "snaps", fp->snaps != NULL ? fp->snaps : "");
	gbe_json_set_string(object, "others", fp->others);
}

void
gbe_fingerprint_from_json(GbeFingerprint *fp, JsonObject *object)
{
	static const char *const needed[] = {"txid0",	"txid1", "wal_size", "wal_offset",
					     "wal_crc", "snaps", "others"};
	GbeMembers m = {object, "", NULL};
	GbeFingerprint read = {0};
	g_autofree char *txid0 = gbe_members_string(&m, "txid0", &gbe_kind_hex64);
	g_autofree char *txid1 = gbe_members_string(&m, "txid1", &gbe_kind_hex64);

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		gbe_members_need(&m, needed[i]);
	/* null means that there is no WAL. An absent member means nothing. */
	if (!json_object_has_member(object, "wal"))
		gbe_members_fail(&m, "wal", "is missing");
	read.wal_name = gbe_members_string(&m, "wal", NULL);
	read.wal_size = gbe_members_u64(&m, "wal_size", 0);
	read.wal_offset = gbe_members_u64(&m, "wal_offset", 0);
	read.wal_crc = gbe_members_uint(&m, "wal_crc", 0);
	read.snaps = gbe_members_string(&m, "snaps", NULL);
	read.others = gbe_members_string(&m, "others", NULL);
	gbe_fingerprint_clear(fp);
	if (!gbe_members_end(&m, "fingerprint", NULL)) {
		gbe_fingerprint_clear(&read);
		return;
	}
	read.txid[0] = g_ascii_strtoull(txid0, NULL, 16);
	read.txid[1] = g_ascii_strtoull(txid1, NULL, 16);
	read.present = true;
	*fp = read;
}
