/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the result of verify into JSON. */
#include "app/backups/verify.h"

#include "base/format.h"
#include "core/json/members.h"
#include "core/json/parse.h"

/* The files may come from anybody: a number that JSON cannot hold exactly is null. */
static void
set_number(JsonObject *object, const char *key, bool known, guint64 value)
{
	if (!known || value > (G_GUINT64_CONSTANT(1) << 53))
		json_object_set_null_member(object, key);
	else
		json_object_set_int_member(object, key, (gint64)value);
}

static void
set_id(JsonObject *object, const char *key, bool known, guint64 id)
{
	g_autofree char *text = gbe_hex64(id);

	gbe_json_set_string(object, key, known ? text : NULL);
}

const char *
gbe_verification_advice(const GbeVerification *verification, const GbeFinding *finding)
{
	if (verification->advice != NULL && finding->severity == GBE_FINDING_DAMAGE)
		return verification->advice;
	return gbe_finding_advice(finding);
}

static JsonObject *
finding_to_json(const GbeVerification *verification, const GbeFinding *finding)
{
	JsonObject *object = json_object_new();
	g_autofree char *file = g_utf8_make_valid(finding->file, -1);
	g_autofree char *what = g_utf8_make_valid(finding->what, -1);

	gbe_json_set_string(object, "severity", gbe_severity_to_string(finding->severity));
	gbe_json_set_string(object, "code", finding->code);
	gbe_json_set_string(object, "file", file);
	gbe_json_set_string(object, "place", gbe_place_to_string(finding->place));
	set_number(object, "at", finding->place != GBE_PLACE_FILE, finding->at);
	gbe_json_set_string(object, "what", what);
	gbe_json_set_tri(object, "etcd_notices", finding->etcd_notices);
	gbe_json_set_tri(object, "loses_data", finding->loses_data);
	gbe_json_set_string(object, "advice", gbe_verification_advice(verification, finding));
	return object;
}

static JsonArray *
checked_to_json(const GbeVerification *verification)
{
	static const struct {
		GbeDbChecked bit;
		const char *name;
	} names[] = {
	    {GBE_DB_CHECKED_BUCKETS, "buckets"},     {GBE_DB_CHECKED_PAGES, "pages"},
	    {GBE_DB_CHECKED_FREE, "free"},	     {GBE_DB_CHECKED_ROWS, "rows"},
	    {GBE_DB_CHECKED_REVISIONS, "revisions"}, {GBE_DB_CHECKED_HISTORIES, "histories"},
	};
	JsonArray *array = json_array_new();

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if ((verification->directory.db.checked & names[i].bit) != 0)
			json_array_add_string_element(array, names[i].name);
	return array;
}

static JsonObject *
db_to_json(const GbeDb *db)
{
	JsonObject *object = json_object_new();

	set_number(object, "consistent_index", true, db->consistent_index);
	set_number(object, "term", db->term > 0, db->term);
	set_number(object, "revision", db->revision > 0, (guint64)db->revision);
	set_number(object, "compact_revision", db->compact_revision >= 0,
		   (guint64)db->compact_revision);
	set_number(object, "total_keys", db->has_hash, db->keys);
	set_number(object, "key_rows", db->has_hash, db->rows);
	set_number(object, "live_keys", (db->checked & GBE_DB_CHECKED_HISTORIES) != 0,
		   db->live_keys);
	set_number(object, "total_size", true, db->total_size);
	set_number(object, "page_size", true, db->page_size);
	set_number(object, "size", true, db->size);
	set_number(object, "snapshot_hash", db->has_hash, db->snapshot_hash);
	set_number(object, "hash_kv", db->has_hash_kv, db->hash_kv);
	gbe_json_set_string(object, "cluster_version", db->cluster_version);
	gbe_json_set_string(object, "storage_version", db->storage_version);
	return object;
}

static JsonObject *
wal_to_json(const GbeDirectory *directory)
{
	const GbeWal *wal = &directory->wal;
	JsonObject *object = json_object_new();

	set_number(object, "segments", true, wal->segments->len);
	set_number(object, "records", true, wal->records);
	set_number(object, "bytes", true, wal->bytes);
	json_object_set_boolean_member(object, "complete", wal->complete);
	set_number(object, "start", wal->complete, directory->start.index);
	set_number(object, "last", wal->complete, wal->last_entry);
	set_number(object, "commit", wal->complete && wal->has_state, wal->state.commit);
	set_number(object, "term", wal->complete && wal->has_state, wal->state.term);
	return object;
}

static void
set_voters(JsonObject *object, const GbeConfState *conf)
{
	JsonArray *array;

	if (conf->voters == NULL) {
		json_object_set_null_member(object, "voters");
		return;
	}
	array = json_array_new();
	for (guint i = 0; i < conf->voters->len; i++) {
		g_autofree char *id = gbe_hex64(g_array_index(conf->voters, guint64, i));

		json_array_add_string_element(array, id);
	}
	json_object_set_array_member(object, "voters", array);
}

const char *
gbe_verify_kind_to_string(GbeVerifyKind kind)
{
	static const char *const names[] = {
	    [GBE_VERIFY_BACKUP] = "backup",
	    [GBE_VERIFY_DATA] = "data",
	    [GBE_VERIFY_DIRECTORY] = "directory",
	    [GBE_VERIFY_SNAPSHOT] = "snapshot",
	};

	return names[kind];
}

const char *
gbe_verification_result(const GbeVerification *verification)
{
	static const char *const words[] = {
	    [GBE_FINDING_NOTE] = "sound",
	    [GBE_FINDING_WARNING] = "sound",
	    [GBE_FINDING_DAMAGE] = "damaged",
	    [GBE_FINDING_UNKNOWN] = "cannot-tell",
	};

	return words[gbe_findings_worst(&verification->findings)];
}

JsonObject *
gbe_verification_to_json(const GbeVerification *verification)
{
	const GbeDirectory *directory = &verification->directory;
	JsonObject *object = json_object_new();
	JsonArray *findings = json_array_new();
	g_autofree char *name = g_utf8_make_valid(verification->name, -1);

	for (guint i = 0; i < verification->findings.items->len; i++)
		json_array_add_object_element(
		    findings,
		    finding_to_json(verification, verification->findings.items->pdata[i]));
	gbe_json_set_string(object, "kind", gbe_verify_kind_to_string(verification->kind));
	gbe_json_set_string(object, "name", name);
	gbe_json_set_string(object, "result", gbe_verification_result(verification));
	gbe_json_set_string(object, "level",
			    verification->level == GBE_VERIFY_FULL ? "full" : "sanity");
	json_object_set_array_member(object, "checked", checked_to_json(verification));
	set_id(object, "cluster_id", directory->wal.has_metadata, directory->wal.metadata.cluster);
	set_id(object, "member_id", directory->wal.has_metadata, directory->wal.metadata.member);
	set_voters(object, &directory->conf);
	json_object_set_object_member(object, "db",
				      directory->db.present ? db_to_json(&directory->db) : NULL);
	json_object_set_object_member(object, "wal",
				      directory->wal.segments != NULL &&
					      directory->wal.segments->len > 0
					  ? wal_to_json(directory)
					  : NULL);
	json_object_set_int_member(object, "duration_usec", verification->usec);
	json_object_set_array_member(object, "findings", findings);
	json_object_set_int_member(object, "dropped", verification->findings.dropped);
	return object;
}
