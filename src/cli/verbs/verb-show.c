/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/space.h"

/* The members that list prints, those that only the manifest has, and the manifest as it is on the disk. */
static JsonObject *
to_json(const GbeListEntry *entry, const GbeManifest *manifest, const char *path)
{
	JsonObject *object = gbe_list_entry_to_json(entry);
	JsonObject *whole = gbe_manifest_to_json(manifest, true);
	static const char *const keys[] = {
	    "grade_reason", "origin",		"verified",	    "live",
	    "data_dir",	    "voters",		"storage_version",  "data_version",
	    "files_count",  "left_out",		"compact_revision", "total_keys",
	    "hash_kv",	    "consistent_index", "scrubbed"};

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		JsonNode *node = json_object_get_member(whole, keys[i]);

		json_object_set_member(object, keys[i],
				       node != NULL ? json_node_copy(node)
						    : json_node_new(JSON_NODE_NULL));
	}
	gbe_json_set_string(object, "path", path);
	json_object_set_object_member(object, "manifest", whole);
	return object;
}

static void
print_known(const char *label, const char *text)
{
	if (text != NULL)
		gbe_print_field(label, "%s", text);
}

static void
print_number(const char *label, gint64 number)
{
	if (number >= 0)
		gbe_print_field(label, "%" G_GINT64_FORMAT, number);
}

static void
print_text(const GbeListEntry *entry, const GbeManifest *m, const char *path)
{
	g_autofree char *when = gbe_text_time(m->created);
	g_autofree char *size = gbe_size_to_text(m->size);

	print_known("Name", m->name);
	print_known("Description", m->description);
	print_known("Deployment", m->deployment.id);
	print_known("Now", entry->present);
	print_known("Run", m->run);
	gbe_print_field("Made", "%s, number %" G_GUINT64_FORMAT, when, m->sequence);
	print_known("Grade", entry->grade);
	print_known("Because", m->grade_reason);
	print_known("Verdict", entry->verdict);
	print_known("Health", gbe_health_to_string(m->health));
	print_known("Origin", gbe_words_get(&gbe_origin_words, m->origin));
	print_known("Verified", gbe_words_get(&gbe_verified_words, m->verified));
	print_known("Method", gbe_method_to_string(m->method));
	print_known("Data", m->data_dir);
	print_known("etcd", m->etcd_version);
	print_known("Storage", m->storage_version);
	print_known("Version", m->data_version);
	print_known("Cluster id", m->cluster_id);
	print_known("Member id", m->member_id);
	print_number("Revision", m->revision);
	print_number("Rows", m->total_keys);
	print_number("Index", m->consistent_index);
	print_number("HashKV", m->hash_kv);
	gbe_print_field("Size", "%s in %" G_GUINT64_FORMAT " files", size, m->files_count);
	print_known("Marked", m->pinned ? "pinned" : NULL);
	print_known("Marked", m->set_aside ? "set aside" : NULL);
	print_known("Marked", m->consumed ? "consumed" : NULL);
	print_known("Marked", m->live ? "live" : NULL);
	print_known("Path", path);
}

bool
gbe_verb_show(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeListEntry) entry = NULL;
	g_autofree char *path = NULL;
	const GbeManifest *manifest;

	if (!gbe_cli_observe_as_root(cli, false, &observed, error) ||
	    !gbe_cli_find_backup(observed, arguments[0], &manifest, error))
		return false;
	entry = gbe_list_entry(observed, manifest, -1);
	path = g_build_filename(observed->store->path, manifest->name, NULL);
	if (cli->json) {
		g_autoptr(JsonObject) object = to_json(entry, manifest, path);

		gbe_print_object(object);
	} else {
		print_text(entry, manifest, path);
	}
	return true;
}
