/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/decide/decide.h"
#include "core/json/parse.h"

/* The members of the answer in the order of the lines, each with its label. A member without a label is only in the
 * JSON. @more: the manifest has it, but `list` has not. */
static const struct {
	GbeLabel label;
	bool more;
} shown[] = {
    {{"name", "Name", GBE_LABEL_PLAIN}, false},
    {{"description", "Description", GBE_LABEL_PLAIN}, false},
    {{"why", "Why", GBE_LABEL_PLAIN}, false},
    {{"deployment_version", "System", GBE_LABEL_PLAIN}, false},
    {{"deployment", "Deployment", GBE_LABEL_PLAIN}, false},
    {{"present", "Now", GBE_LABEL_PLAIN}, false},
    {{"run", "Run", GBE_LABEL_PLAIN}, false},
    {{"created", "Made", GBE_LABEL_TIME}, false},
    {{"sequence", "Number", GBE_LABEL_PLAIN}, false},
    {{"grade", "Grade", GBE_LABEL_PLAIN}, false},
    {{"grade_reason", "Because", GBE_LABEL_PLAIN}, true},
    {{"verdict", "Verdict", GBE_LABEL_PLAIN}, false},
    {{"health", "Health", GBE_LABEL_PLAIN}, false},
    {{"origin", "Origin", GBE_LABEL_PLAIN}, true},
    {{"verified", "Verified", GBE_LABEL_PLAIN}, true},
    {{"method", "Method", GBE_LABEL_PLAIN}, false},
    {{"live", "Live", GBE_LABEL_PLAIN}, true},
    {{"pinned", "Pinned", GBE_LABEL_PLAIN}, false},
    {{"set_aside", "Set aside", GBE_LABEL_PLAIN}, false},
    {{"consumed", "Used up", GBE_LABEL_PLAIN}, false},
    {{"data_dir", "Data", GBE_LABEL_PLAIN}, true},
    {{"etcd_version", "etcd", GBE_LABEL_PLAIN}, false},
    {{"voters", NULL, GBE_LABEL_PLAIN}, true},
    {{"storage_version", "Storage", GBE_LABEL_PLAIN}, true},
    {{"data_version", "Version", GBE_LABEL_PLAIN}, true},
    {{"cluster_id", "Cluster id", GBE_LABEL_PLAIN}, false},
    {{"member_id", "Member id", GBE_LABEL_PLAIN}, false},
    {{"revision", "Revision", GBE_LABEL_PLAIN}, false},
    {{"compact_revision", "Compacted", GBE_LABEL_PLAIN}, true},
    {{"total_keys", "Rows", GBE_LABEL_PLAIN}, true},
    {{"consistent_index", "Index", GBE_LABEL_PLAIN}, true},
    {{"hash_kv", "HashKV", GBE_LABEL_PLAIN}, true},
    {{"scrubbed", "Scrubbed", GBE_LABEL_TIME}, true},
    {{"size", "Size", GBE_LABEL_SIZE}, false},
    {{"files_count", "Files", GBE_LABEL_PLAIN}, true},
    {{"left_out", NULL, GBE_LABEL_PLAIN}, true},
    {{"path", "Path", GBE_LABEL_PLAIN}, false},
};

/* The members of `list`, the members that only the manifest has, and the manifest as it is on disk. */
static JsonObject *
to_json(const GbeListEntry *entry, const GbeManifest *manifest, const char *path)
{
	JsonObject *object = gbe_list_entry_to_json(entry);
	JsonObject *whole = gbe_manifest_to_json(manifest, true);

	for (guint i = 0; i < G_N_ELEMENTS(shown); i++) {
		const char *key = shown[i].label.key;
		JsonNode *node = json_object_get_member(whole, key);

		if (shown[i].more)
			json_object_set_member(object, key,
					       node != NULL ? json_node_copy(node)
							    : json_node_new(JSON_NODE_NULL));
	}
	if (manifest->grade_reason == NULL && manifest->grade == GBE_GRADE_UNPROVEN)
		gbe_json_set_string(object, "grade_reason", gbe_decide_why_unproven(manifest));
	gbe_json_set_string(object, "path", path);
	json_object_set_object_member(object, "manifest", whole);
	return object;
}

bool
gbe_verb_show(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeListEntry) entry = NULL;
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *path = NULL;
	const GbeManifest *manifest;

	if (!gbe_cli_observe_as_root(cli, false, &observed, error) ||
	    !gbe_cli_find_backup(observed, arguments[0], &manifest, error))
		return false;
	entry = gbe_list_entry(observed, manifest, -1);
	path = g_build_filename(observed->store->path, manifest->name, NULL);
	object = to_json(entry, manifest, path);
	if (cli->json)
		gbe_print_object(object);
	for (guint i = 0; i < G_N_ELEMENTS(shown) && !cli->json; i++)
		gbe_print_label(&shown[i].label, object);
	return true;
}
