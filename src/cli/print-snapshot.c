/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/print.h"

#include "app/snapshot/snapshot.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "etcd/db/snapshot-file.h"
#include "sys/systemd/events.h"

#include <string.h>

/* etcdctl's "revision" is that of the last row. Without rows it is 0. */
JsonObject *
gbe_snapshot_json(const GbeVerification *verification)
{
	const GbeDb *db = &verification->directory.db;
	JsonObject *object = gbe_json_answer();
	JsonObject *whole = gbe_verification_to_json(verification);
	JsonObject *figures = db->present ? json_object_get_object_member(whole, "db") : NULL;
	static const struct {
		const char *key, *from;
	} keys[] = {{"hash", "snapshot_hash"},	    {"total_keys", "total_keys"},
		    {"key_rows", "key_rows"},	    {"live_keys", "live_keys"},
		    {"total_size", "total_size"},   {"size", "size"},
		    {"hash_kv", "hash_kv"},	    {"compact_revision", "compact_revision"},
		    {"version", "cluster_version"}, {"storage_version", "storage_version"}};

	gbe_json_set_string(object, "file", json_object_get_string_member(whole, "name"));
	gbe_json_set_string(object, "result", gbe_verification_result(verification));
	if (db->has_hash)
		json_object_set_int_member(object, "revision", db->last_row);
	else
		json_object_set_null_member(object, "revision");
	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
		if (figures != NULL)
			json_object_set_member(
			    object, keys[i].key,
			    json_node_copy(json_object_get_member(figures, keys[i].from)));
		else
			json_object_set_null_member(object, keys[i].key);
	json_object_set_boolean_member(object, "checksum",
				       db->size % GBE_SNAPSHOT_SECTOR == GBE_SNAPSHOT_SUM);
	json_object_set_array_member(
	    object, "findings", json_array_ref(json_object_get_array_member(whole, "findings")));
	json_object_unref(whole);
	return object;
}

static void
print_findings(const GbeVerification *verification)
{
	const GPtrArray *items = verification->findings.items;

	for (guint i = 0; i < items->len; i++) {
		const GbeFinding *finding = items->pdata[i];
		g_autofree char *text = gbe_finding_to_text(finding);

		if (finding->severity != GBE_FINDING_NOTE)
			gbe_print("%s: %s\n", gbe_severity_to_string(finding->severity), text);
	}
}

void
gbe_print_snapshot(const GbeCli *cli, const GbeVerification *verification)
{
	const GbeDb *db = &verification->directory.db;
	g_autofree char *size = gbe_size_to_text(db->total_size);
	g_autofree char *live = NULL;

	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_snapshot_json(verification);

		gbe_print_object(object);
		return;
	}
	if (cli->quiet)
		return;
	gbe_print("%s: %s\n", verification->name, gbe_verification_result(verification));
	if ((db->checked & GBE_DB_CHECKED_HISTORIES) != 0)
		live = g_strdup_printf("; etcd 3.6: %" G_GUINT64_FORMAT, db->live_keys);
	if (db->has_hash)
		gbe_print("hash %x, revision %" G_GINT64_FORMAT ", total keys %" G_GUINT64_FORMAT
			  " (as etcd up to 3.5 counts%s), total size %s\n",
			  db->snapshot_hash, db->last_row, db->keys, live != NULL ? live : "",
			  size);
	if (db->has_hash_kv)
		gbe_print("HashKV %u at revision %" G_GINT64_FORMAT "\n", db->hash_kv,
			  db->revision);
	print_findings(verification);
}

static char *
copy_command(const char *path)
{
	g_autofree char *from = g_strdup_printf("%s:%s", g_get_host_name(), path);
	g_autofree char *quoted = g_shell_quote(from);
	bool plain =
	    strspn(from, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/:._-+@") == strlen(from);

	return g_strdup_printf("scp %s .", plain ? from : quoted);
}

void
gbe_print_snapshot_file(const GbeCli *cli, const char *path, JsonObject *object)
{
	g_auto(GbeSnapshotFile) file = {0};
	g_autoptr(GError) local = NULL;
	g_autofree char *copy = NULL, *size = NULL;

	if (object == NULL && cli->quiet)
		return;
	if (!gbe_snapshot_file(cli->app, path, &file, &local)) {
		gbe_complain("%s: cannot read the file back for its SHA-256: %s", path,
			     local->message);
		return;
	}
	copy = copy_command(file.path);
	if (object != NULL) {
		gbe_json_set_string(object, "path", file.path);
		json_object_set_int_member(object, "file_size", (gint64)file.size);
		gbe_json_set_string(object, "sha256", file.sha256);
		gbe_json_set_string(object, "copy", copy);
		return;
	}
	size = gbe_size_to_text(file.size);
	gbe_print("%s: %s, SHA-256 %s\ncopy it with: %s\n", file.path, size, file.sha256, copy);
}
