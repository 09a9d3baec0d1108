/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/fingerprint.h"

#include "core/json/parse.h"
#include "core/record/take-over.h"

#define TXID_FORMAT "%016" G_GINT64_MODIFIER "x"

/* Next to these, the JSON has txid0 and txid1 in hex. "wal": null means that there is no WAL; absent means nothing. */
static const GbeField fields[] = {
    GBE_FIELD_OF(GbeFingerprint, wal_name, "wal", TEXT, NULL, GBE_FIELD_THERE),
    GBE_FIELD_OF(GbeFingerprint, wal_size, "wal_size", NUMBER, NULL, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeFingerprint, wal_offset, "wal_offset", NUMBER, NULL, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeFingerprint, wal_crc, "wal_crc", COUNT, NULL, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeFingerprint, snaps, "snaps", TEXT, NULL, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeFingerprint, others, "others", TEXT, NULL, GBE_FIELD_NEEDED),
    {0},
};

void
gbe_fingerprint_clear(GbeFingerprint *fp)
{
	/* If @fp is absent its fields are undefined, but these are never set to foreign pointers. */
	gbe_fields_clear(fields, fp);
	*fp = (GbeFingerprint){0};
}

void
gbe_fingerprint_copy(GbeFingerprint *to, const GbeFingerprint *from)
{
	GbeFingerprint copy = *from;

	gbe_fields_own(fields, &copy);
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
	gbe_fields_print(fields, object, fp);
	if (fp->snaps == NULL)
		gbe_json_set_string(object, "snaps", "");
}

void
gbe_fingerprint_from_json(GbeFingerprint *fp, JsonObject *object)
{
	GbeMembers m = {object, "", NULL};
	GbeFingerprint read = {0};
	g_autofree char *txid0 = gbe_members_string(&m, "txid0", &gbe_kind_hex64);
	g_autofree char *txid1 = gbe_members_string(&m, "txid1", &gbe_kind_hex64);

	gbe_members_need(&m, "txid0");
	gbe_members_need(&m, "txid1");
	gbe_fields_read(fields, &m, &read);
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

static void
read_fingerprint(GbeMembers *m, const char *key, void *field)
{
	JsonObject *object = gbe_members_object(m, key);

	if (object != NULL)
		gbe_fingerprint_from_json(field, object);
}

static void
print_fingerprint(JsonObject *object, const char *key, const void *field)
{
	const GbeFingerprint *fp = field;

	if (fp->present)
		gbe_fingerprint_to_json(fp, gbe_json_open_object(object, key));
	else
		json_object_set_null_member(object, key);
}

static void
own_fingerprint(void *field)
{
	gbe_fields_own(fields, field);
}

const GbeFieldOwn gbe_fingerprint_own = {NULL, read_fingerprint, print_fingerprint, own_fingerprint,
					 (GDestroyNotify)gbe_fingerprint_clear};
