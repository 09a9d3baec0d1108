/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/space.h"

#include <string.h>

/* The members that list prints, those that only the manifest has, and the manifest as it is on the disk. */
static bool
describe(const GbeObserved *observed, const GbeManifest *manifest, JsonObject **ret_object,
	 GError **error)
{
	g_autoptr(JsonObject) object = gbe_status_backup(observed, manifest, -1);
	g_autofree char *text = gbe_manifest_print(manifest);
	JsonObject *whole = NULL;
	static const char *const keys[] = {
	    "grade_reason", "origin",		"verified",	    "live",
	    "data_dir",	    "voters",		"storage_version",  "data_version",
	    "files_count",  "left_out",		"compact_revision", "total_keys",
	    "hash_kv",	    "consistent_index", "scrubbed"};

	if (!gbe_json_parse_object(text, strlen(text), manifest->name, &whole, error))
		return false;
	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		JsonNode *node = json_object_get_member(whole, keys[i]);

		json_object_set_member(object, keys[i],
				       node != NULL ? json_node_copy(node)
						    : json_node_new(JSON_NODE_NULL));
	}
	{
		g_autofree char *path =
		    g_build_filename(observed->store->path, manifest->name, NULL);

		gbe_json_set_string(object, "path", path);
	}
	json_object_set_object_member(object, "manifest", whole);
	*ret_object = g_steal_pointer(&object);
	return true;
}

typedef struct {
	const char *key, *label;
} Field;

static void
print_strings(JsonObject *object, const Field *fields)
{
	for (guint i = 0; fields[i].key != NULL; i++) {
		const char *value = gbe_json_string(object, fields[i].key, NULL);

		if (value != NULL)
			gbe_print_field(fields[i].label, "%s", value);
	}
}

static void
print_text(JsonObject *object)
{
	static const Field first[] = {{"name", "Name"},
				      {"description", "Description"},
				      {"deployment", "Deployment"},
				      {"present", "Now"},
				      {"run", "Run"},
				      {NULL, NULL}};
	static const Field then[] = {{"grade_reason", "Because"},
				     {"verdict", "Verdict"},
				     {"health", "Health"},
				     {"origin", "Origin"},
				     {"verified", "Verified"},
				     {"method", "Method"},
				     {"data_dir", "Data"},
				     {"etcd_version", "etcd"},
				     {"storage_version", "Storage"},
				     {"data_version", "Version"},
				     {"cluster_id", "Cluster id"},
				     {"member_id", "Member id"},
				     {NULL, NULL}};
	static const Field numbers[] = {{"revision", "Revision"},
					{"total_keys", "Rows"},
					{"consistent_index", "Index"}};
	static const char *const flags[] = {"pinned", "set_aside", "consumed", "live"};
	g_autofree char *when = gbe_text_time(gbe_json_known(object, "created"));
	g_autofree char *size = gbe_size_to_text((guint64)MAX(gbe_json_known(object, "size"), 0));

	print_strings(object, first);
	gbe_print_field("Made", "%s, number %" G_GINT64_FORMAT, when,
			gbe_json_int(object, "sequence", 0));
	gbe_print_field("Grade", "%s", gbe_json_string(object, "grade", "?"));
	print_strings(object, then);
	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		if (gbe_json_known(object, numbers[i].key) >= 0)
			gbe_print_field(numbers[i].label, "%" G_GINT64_FORMAT,
					gbe_json_known(object, numbers[i].key));
	if (gbe_json_known(object, "hash_kv") >= 0)
		gbe_print_field("HashKV", "%" G_GINT64_FORMAT, gbe_json_known(object, "hash_kv"));
	gbe_print_field("Size", "%s in %" G_GINT64_FORMAT " files", size,
			gbe_json_int(object, "files_count", 0));
	for (guint i = 0; i < G_N_ELEMENTS(flags); i++)
		if (gbe_json_bool(object, flags[i], false))
			gbe_print_field("Marked", "%s", i == 1 ? "set aside" : flags[i]);
	gbe_print_field("Path", "%s", gbe_json_string(object, "path", "?"));
}

bool
gbe_verb_show(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(JsonObject) object = NULL;
	const GbeManifest *manifest;

	if (!gbe_cli_observe_as_root(cli, false, &observed, error) ||
	    !gbe_cli_find_backup(observed, arguments[0], &manifest, error) ||
	    !describe(observed, manifest, &object, error))
		return false;
	if (cli->json)
		gbe_print_object(object);
	else
		print_text(object);
	return true;
}
