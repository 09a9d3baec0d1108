/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manifest's members, read and written. */
#include "core/manifest.h"
#include "core/members.h"
#include "core/parts.h"
#include "core/record.h"

#include <string.h>

static const char *const origin_words[] = {
    [GBE_ORIGIN_AUTOMATIC] = "automatic",
    [GBE_ORIGIN_DISPLACED] = "displaced",
    [GBE_ORIGIN_MANUAL] = "manual",
    [GBE_ORIGIN_PERIODIC] = "periodic",
};
static const char *const verified_words[] = {
    [GBE_VERIFIED_NO] = "no",
    [GBE_VERIFIED_COPY] = "copy",
    [GBE_VERIFIED_SANITY] = "sanity",
    [GBE_VERIFIED_FULL] = "full",
};

const char *
gbe_origin_to_string(GbeOrigin origin)
{
	g_return_val_if_fail((guint)origin < G_N_ELEMENTS(origin_words), "manual");
	return origin_words[origin];
}

GbeOrigin
gbe_origin_from_string(const char *text)
{
	for (guint i = 0; i < G_N_ELEMENTS(origin_words); i++)
		if (g_strcmp0(text, origin_words[i]) == 0)
			return (GbeOrigin)i;
	return GBE_ORIGIN_MANUAL;
}

const char *
gbe_verified_to_string(GbeVerified verified)
{
	g_return_val_if_fail((guint)verified < G_N_ELEMENTS(verified_words), "no");
	return verified_words[verified];
}

GbeVerified
gbe_verified_from_string(const char *text)
{
	for (guint i = 0; i < G_N_ELEMENTS(verified_words); i++)
		if (g_strcmp0(text, verified_words[i]) == 0)
			return (GbeVerified)i;
	return GBE_VERIFIED_NO;
}

/* Below data/, and nowhere else. */
static bool
path_valid(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);

	for (guint i = 0; parts[i] != NULL; i++)
		if (parts[i][0] == '\0' || g_str_equal(parts[i], ".") ||
		    g_str_equal(parts[i], ".."))
			return false;
	return parts[0] != NULL;
}

static bool
sha256_valid(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static void
read_file(GbeMembers *m, JsonNode *node, GbeManifest *manifest)
{
	static const GbeKind sha256_kind = {sha256_valid, "is not a SHA-256 digest"};
	GbeMembers inner = {NULL, "files[].", NULL};
	g_autofree char *path = NULL, *hex = NULL, *sha256 = NULL;
	guint64 size;

	if (!JSON_NODE_HOLDS_OBJECT(node)) {
		gbe_members_fail(m, "files", "is not an array of objects");
		return;
	}
	inner.object = json_node_get_object(node);
	gbe_members_need(&inner, "path");
	gbe_members_need(&inner, "size");
	path = gbe_members_string(&inner, "path", NULL);
	hex = gbe_members_string(&inner, "path_hex", NULL);
	size = gbe_members_u64(&inner, "size", 0);
	sha256 = gbe_members_string(&inner, "sha256", &sha256_kind);
	if (hex != NULL) {
		g_free(path);
		path = gbe_hex_to_name(hex);
	}
	if (path == NULL || !path_valid(path))
		gbe_members_fail(&inner, "path", "does not lie below data/");
	else
		gbe_manifest_add_file(manifest, path, size, sha256);
	if (m->error == NULL)
		m->error = g_steal_pointer(&inner.error);
	g_clear_error(&inner.error);
}

static void
read_files(GbeMembers *m, GbeManifest *manifest)
{
	JsonArray *array = gbe_members_array(m, "files");
	guint len = array != NULL ? json_array_get_length(array) : 0;

	manifest->files_count = gbe_members_u64(m, "files_count", 0);
	if (len > GBE_MANIFEST_FILES_MAX)
		return;
	for (guint i = 0; i < len && m->error == NULL; i++)
		read_file(m, json_array_get_element(array, i), manifest);
	manifest->left_out = gbe_members_strv(m, "left_out");
}

static void
read_owner(GbeMembers *m, GbeManifest *manifest)
{
	manifest->format = gbe_members_uint(m, "format", GBE_FORMAT);
	manifest->written_by = gbe_members_string(m, "written_by", NULL);
	gbe_members_need(m, "name");
	manifest->name = gbe_members_string(m, "name", &gbe_kind_backup);
	gbe_parts_read_deployment(m, &manifest->deployment, false);
	manifest->run = gbe_members_string(m, "run", &gbe_kind_run);
	manifest->sequence = gbe_members_sequence(m, "sequence");
	gbe_parts_read_lineage(m, &manifest->lineage);
	gbe_parts_read_trial(m, &manifest->trial);
}

static void
read_judgement(GbeMembers *m, GbeManifest *manifest)
{
	manifest->grade = gbe_grade_from_string(gbe_members_word(m, "grade"));
	manifest->grade_reason = gbe_members_string(m, "grade_reason", NULL);
	manifest->verdict = gbe_verdict_from_string(gbe_members_word(m, "verdict"));
	manifest->health = gbe_health_from_string(gbe_members_word(m, "health"));
	manifest->origin = gbe_origin_from_string(gbe_members_word(m, "origin"));
	manifest->verified = gbe_verified_from_string(gbe_members_word(m, "verified"));
	manifest->method = gbe_method_from_string(gbe_members_word(m, "method"));
	manifest->live = gbe_members_bool(m, "live");
	manifest->pinned = gbe_members_bool(m, "pinned");
	manifest->set_aside = gbe_members_bool(m, "set_aside");
	manifest->discard = gbe_members_bool(m, "discard");
	manifest->consumed = gbe_members_bool(m, "consumed");
}

static void
read_content(GbeMembers *m, GbeManifest *manifest)
{
	manifest->created = gbe_members_i64(m, "created", 0);
	manifest->scrubbed = gbe_members_i64(m, "scrubbed", -1);
	manifest->data_dir = gbe_members_string(m, "data_dir", &gbe_kind_path);
	manifest->description = gbe_members_string(m, "description", NULL);
	manifest->size = gbe_members_u64(m, "size", 0);
	read_files(m, manifest);
	gbe_parts_read_fingerprint(m, "fingerprint", &manifest->fingerprint);
	manifest->etcd_version = gbe_members_string(m, "etcd_version", NULL);
	manifest->member_id = gbe_members_string(m, "member_id", &gbe_kind_hex64);
	manifest->cluster_id = gbe_members_string(m, "cluster_id", &gbe_kind_hex64);
	manifest->revision = gbe_members_i64(m, "revision", -1);
	manifest->voters = gbe_members_uint(m, "voters", 0);
	manifest->storage_version = gbe_members_string(m, "storage_version", NULL);
	manifest->consistent_index = gbe_members_i64(m, "consistent_index", -1);
	manifest->compact_revision = gbe_members_i64(m, "compact_revision", -1);
	manifest->total_keys = gbe_members_i64(m, "total_keys", -1);
	manifest->hash_kv = gbe_members_i64(m, "hash_kv", -1);
	manifest->data_version = gbe_members_string(m, "data_version", NULL);
	manifest->outside = gbe_members_bool(m, "outside");
	manifest->proved = gbe_members_bool(m, "proved");
	manifest->hmac = gbe_members_string(m, "hmac", NULL);
	manifest->seal = manifest->hmac != NULL ? GBE_SEAL_WRONG : GBE_SEAL_NONE;
}

/* What this program would not write itself: a newer one's members and words. Hardly ever any. A thousand
 * backups are listed without a thousand trees of JSON in memory. */
static JsonObject *
beyond_us(JsonObject *object, const GbeManifest *manifest)
{
	g_autoptr(JsonObject) ours = gbe_manifest_to_json(manifest, true);
	g_autoptr(GList) names = json_object_get_members(object);
	JsonObject *rest = NULL;

	for (GList *item = names; item != NULL; item = item->next) {
		JsonNode *theirs = json_object_get_member(object, item->data);
		JsonNode *node = json_object_get_member(ours, item->data);

		if (node != NULL && json_node_equal(node, theirs))
			continue;
		if (rest == NULL)
			rest = json_object_new();
		json_object_set_member(rest, item->data, json_node_copy(theirs));
	}
	return rest;
}

bool
gbe_manifest_from_json(JsonObject *object, GbeManifest **ret_manifest, GError **error)
{
	g_autoptr(GbeManifest) manifest = gbe_manifest_new();
	GbeMembers m = {object, "", NULL};

	read_owner(&m, manifest);
	read_judgement(&m, manifest);
	read_content(&m, manifest);
	if (!gbe_members_end(&m, "manifest", error))
		return false;
	manifest->unknown = beyond_us(object, manifest);
	*ret_manifest = g_steal_pointer(&manifest);
	return true;
}

static void
print_files(JsonObject *object, GPtrArray *files)
{
	JsonArray *array;

	if (files == NULL || files->len > GBE_MANIFEST_FILES_MAX) {
		json_object_set_null_member(object, "files");
		return;
	}
	array = json_array_new();
	for (guint i = 0; i < files->len; i++) {
		const GbeManifestFile *file = files->pdata[i];
		g_autofree char *hex = gbe_name_to_hex(file->path);
		JsonObject *element = json_object_new();

		gbe_json_set_string(element, "path", file->path);
		if (hex != NULL)
			gbe_json_set_string(element, "path_hex", hex);
		json_object_set_int_member(element, "size", (gint64)file->size);
		gbe_json_set_string(element, "sha256", file->sha256);
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, "files", array);
}

static void
print_owner(JsonObject *object, const GbeManifest *manifest)
{
	gbe_json_set_format(object, manifest->format, manifest->written_by);
	gbe_json_set_string(object, "name", manifest->name);
	gbe_parts_print_deployment(object, &manifest->deployment);
	gbe_json_set_string(object, "run", manifest->run);
	json_object_set_int_member(object, "sequence", (gint64)manifest->sequence);
	gbe_parts_print_lineage(object, &manifest->lineage);
	gbe_parts_print_trial(object, &manifest->trial);
}

/* Keeps a newer program's word where it reads as the value that is to be written anyway. */
#define PRINT_WORD(object, type, key, value)                                                       \
	gbe_json_set_word((object), (key), gbe_##type##_to_string(value),                          \
			  gbe_##type##_from_string(gbe_json_string((object), (key), NULL)) ==      \
			      (value))

static void
print_judgement(JsonObject *object, const GbeManifest *manifest)
{
	PRINT_WORD(object, grade, "grade", manifest->grade);
	gbe_json_set_string(object, "grade_reason", manifest->grade_reason);
	PRINT_WORD(object, verdict, "verdict", manifest->verdict);
	PRINT_WORD(object, health, "health", manifest->health);
	PRINT_WORD(object, origin, "origin", manifest->origin);
	PRINT_WORD(object, verified, "verified", manifest->verified);
	PRINT_WORD(object, method, "method", manifest->method);
	json_object_set_boolean_member(object, "live", manifest->live);
	json_object_set_boolean_member(object, "pinned", manifest->pinned);
	json_object_set_boolean_member(object, "set_aside", manifest->set_aside);
	json_object_set_boolean_member(object, "consumed", manifest->consumed);
}

/* The same of what is true or not there. */
static void
print_mark(JsonObject *object, const char *key, gboolean mark)
{
	if (mark)
		json_object_set_boolean_member(object, key, TRUE);
	else if (json_object_has_member(object, key))
		json_object_remove_member(object, key);
}

/* Later than format 1: not there where it is not known, and no longer there where it no longer is. */
static void
print_later(JsonObject *object, const char *key, gint64 number)
{
	if (number >= 0)
		json_object_set_int_member(object, key, number);
	else if (json_object_has_member(object, key))
		json_object_remove_member(object, key);
}

static void
print_inside(JsonObject *object, const GbeManifest *manifest)
{
	gbe_json_set_string(object, "etcd_version", manifest->etcd_version);
	gbe_json_set_string(object, "member_id", manifest->member_id);
	gbe_json_set_string(object, "cluster_id", manifest->cluster_id);
	gbe_json_set_known(object, "revision", manifest->revision);
	json_object_set_int_member(object, "voters", manifest->voters);
	gbe_json_set_string(object, "data_version", manifest->data_version);
	if (manifest->storage_version != NULL)
		gbe_json_set_string(object, "storage_version", manifest->storage_version);
	print_later(object, "consistent_index", manifest->consistent_index);
	print_later(object, "compact_revision", manifest->compact_revision);
	print_later(object, "total_keys", manifest->total_keys);
	print_later(object, "hash_kv", manifest->hash_kv);
	print_later(object, "scrubbed", manifest->scrubbed);
	print_mark(object, "discard", manifest->discard);
	print_mark(object, "outside", manifest->outside);
	print_mark(object, "proved", manifest->proved);
	if (manifest->hmac != NULL)
		gbe_json_set_string(object, "hmac", manifest->hmac);
}

static void
print_all(JsonObject *object, const GbeManifest *manifest, gboolean with_files)
{
	/* Holes make files of any size; JSON holds numbers exactly up to 2^53. */
	gboolean listed = manifest->size < G_GUINT64_CONSTANT(1) << 53;

	print_owner(object, manifest);
	print_judgement(object, manifest);
	json_object_set_int_member(object, "created", manifest->created);
	gbe_json_set_string(object, "data_dir", manifest->data_dir);
	gbe_json_set_string(object, "description", manifest->description);
	json_object_set_int_member(object, "size", listed ? (gint64)manifest->size : 0);
	json_object_set_int_member(object, "files_count",
				   listed ? (gint64)manifest->files_count : 0);
	print_files(object, with_files && listed ? manifest->files : NULL);
	gbe_json_set_strv(object, "left_out", manifest->left_out);
	gbe_parts_print_fingerprint(object, "fingerprint", &manifest->fingerprint);
	print_inside(object, manifest);
}

/* Ours in their order, whatever a newer program knew of them, then what only that one knows. */
static void
print_with_unknown(JsonObject *object, const GbeManifest *manifest, gboolean with_files)
{
	g_autoptr(JsonObject) merged = gbe_json_copy_object(manifest->unknown);
	g_autoptr(GList) names = NULL;

	print_all(merged, manifest, with_files);
	names = json_object_get_members(merged);
	for (GList *item = names; item != NULL; item = item->next)
		json_object_set_member(object, item->data,
				       json_node_copy(json_object_get_member(merged, item->data)));
}

JsonObject *
gbe_manifest_to_json(const GbeManifest *manifest, gboolean with_files)
{
	JsonObject *object = json_object_new();

	print_all(object, manifest, with_files);
	if (manifest->unknown != NULL)
		print_with_unknown(object, manifest, with_files);
	return object;
}
