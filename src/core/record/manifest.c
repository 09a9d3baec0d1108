/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/manifest.h"

#include "core/deployment-name.h"
#include "core/json/parse.h"
#include "core/record/take-over.h"

#include <string.h>

static const char *const origins[] = {
    [GBE_ORIGIN_AUTOMATIC] = "automatic",
    [GBE_ORIGIN_DISPLACED] = "displaced",
    [GBE_ORIGIN_MANUAL] = "manual",
    [GBE_ORIGIN_PERIODIC] = "periodic",
};
static const char *const verifieds[] = {
    [GBE_VERIFIED_NO] = "no",
    [GBE_VERIFIED_COPY] = "copy",
    [GBE_VERIFIED_SANITY] = "sanity",
    [GBE_VERIFIED_FULL] = "full",
};
const GbeWords gbe_origin_words = {origins, G_N_ELEMENTS(origins), GBE_ORIGIN_MANUAL,
				   GBE_ORIGIN_MANUAL};
const GbeWords gbe_verified_words = {verifieds, G_N_ELEMENTS(verifieds), GBE_VERIFIED_NO,
				     GBE_VERIFIED_NO};

static bool
sha256_valid(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static const GbeKind sha256_kind = {sha256_valid, "is not a SHA-256 digest"};

static const GbeField file_fields[] = {
    GBE_FIELD_OF(GbeManifestFile, path, "path", TEXT, NULL, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeManifestFile, size, "size", NUMBER, NULL, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeManifestFile, sha256, "sha256", TEXT, &sha256_kind, 0),
    {0},
};

static void
free_file(gpointer file)
{
	gbe_fields_clear(file_fields, file);
	g_free(file);
}

/* Takes what @file points to. */
static void
add_file(GPtrArray **files, GbeManifestFile file)
{
	if (*files == NULL)
		*files = g_ptr_array_new_with_free_func(free_file);
	g_ptr_array_add(*files, g_memdup2(&file, sizeof(file)));
}

static void
read_file(GbeMembers *m, JsonNode *node, GPtrArray **files)
{
	GbeMembers inner = {NULL, "files[].", NULL};
	g_autofree char *hex = NULL;
	GbeManifestFile file = {0};

	if (!JSON_NODE_HOLDS_OBJECT(node)) {
		gbe_members_fail(m, "files", "is not an array of objects");
		return;
	}
	inner.object = json_node_get_object(node);
	gbe_fields_read(file_fields, &inner, &file);
	hex = gbe_members_string(&inner, "path_hex", NULL);
	if (hex != NULL) {
		g_free(file.path);
		file.path = gbe_hex_to_name(hex);
	}
	if (file.path == NULL || !gbe_path_is_below(file.path)) {
		gbe_members_fail(&inner, "path", "does not lie below data/");
		gbe_fields_clear(file_fields, &file);
	} else {
		add_file(files, file);
	}
	if (m->error == NULL)
		m->error = g_steal_pointer(&inner.error);
	g_clear_error(&inner.error);
}

static void
read_files(GbeMembers *m, const char *key, void *field)
{
	JsonArray *array = gbe_members_array(m, key);
	guint len = array != NULL ? json_array_get_length(array) : 0;

	if (len > GBE_MANIFEST_FILES_MAX)
		return;
	for (guint i = 0; i < len && m->error == NULL; i++)
		read_file(m, json_array_get_element(array, i), field);
}

static void
print_files(JsonObject *object, const char *key, const void *field)
{
	const GPtrArray *files = *(GPtrArray *const *)field;
	JsonArray *array;

	if (files == NULL || files->len > GBE_MANIFEST_FILES_MAX) {
		json_object_set_null_member(object, key);
		return;
	}
	array = json_array_new();
	GBE_EACH(const GbeManifestFile *, file, files) {
		g_autofree char *hex = gbe_name_to_hex(file->path);
		JsonObject *element = json_object_new();

		gbe_json_set_string(element, "path", file->path);
		if (hex != NULL)
			gbe_json_set_string(element, "path_hex", hex);
		json_object_set_int_member(element, "size", (gint64)file->size);
		gbe_json_set_string(element, "sha256", file->sha256);
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, key, array);
}

static void
own_files(void *field)
{
	const GPtrArray *from = *(GPtrArray **)field;

	*(GPtrArray **)field = NULL;
	GBE_EACH(const GbeManifestFile *, file, from)
		add_file(field, (GbeManifestFile){g_strdup(file->path), file->size,
						  g_strdup(file->sha256)});
}

static void
clear_files(void *field)
{
	g_clear_pointer((GPtrArray **)field, g_ptr_array_unref);
}

static const GbeFieldOwn files_own = {NULL, read_files, print_files, own_files, clear_files};

static const GbeField fields[] = {
    GBE_FIELD(GbeManifest, format, "format", COUNT),
    GBE_FIELD(GbeManifest, written_by, "written_by", TEXT),
    GBE_FIELD_OF(GbeManifest, name, "name", TEXT, &gbe_kind_backup, GBE_FIELD_NEEDED),
    GBE_FIELD_BY(GbeManifest, deployment, "deployment", PART, gbe_deployment_fields, 0),
    GBE_FIELD_OF(GbeManifest, run, "run", TEXT, &gbe_kind_run, 0),
    GBE_FIELD(GbeManifest, sequence, "sequence", SEQUENCE),
    GBE_FIELD_BY(GbeManifest, lineage, "line", OWN, &gbe_lineage_own, 0),
    GBE_FIELD_BY(GbeManifest, trial, "trial", PART, gbe_trial_fields, 0),
    GBE_FIELD_OF(GbeManifest, grade, "grade", WORD, &gbe_grade_words, 0),
    GBE_FIELD(GbeManifest, grade_reason, "grade_reason", TEXT),
    GBE_FIELD_OF(GbeManifest, verdict, "verdict", WORD, &gbe_verdict_words, 0),
    GBE_FIELD_OF(GbeManifest, health, "health", WORD, &gbe_health_words, 0),
    GBE_FIELD_OF(GbeManifest, origin, "origin", WORD, &gbe_origin_words, 0),
    GBE_FIELD_OF(GbeManifest, verified, "verified", WORD, &gbe_verified_words, 0),
    GBE_FIELD_OF(GbeManifest, method, "method", WORD, &gbe_method_words, 0),
    GBE_FIELD(GbeManifest, live, "live", FLAG),
    GBE_FIELD(GbeManifest, pinned, "pinned", FLAG),
    GBE_FIELD(GbeManifest, set_aside, "set_aside", FLAG),
    GBE_FIELD(GbeManifest, consumed, "consumed", FLAG),
    GBE_FIELD(GbeManifest, created, "created", TIME),
    GBE_FIELD_OF(GbeManifest, data_dir, "data_dir", TEXT, &gbe_kind_path, 0),
    GBE_FIELD(GbeManifest, description, "description", TEXT),
    GBE_FIELD(GbeManifest, size, "size", NUMBER),
    GBE_FIELD(GbeManifest, files_count, "files_count", NUMBER),
    GBE_FIELD_BY(GbeManifest, files, "files", OWN, &files_own, 0),
    GBE_FIELD(GbeManifest, left_out, "left_out", NAMES),
    GBE_FIELD_BY(GbeManifest, fingerprint, "fingerprint", OWN, &gbe_fingerprint_own, 0),
    GBE_FIELD(GbeManifest, etcd_version, "etcd_version", TEXT),
    GBE_FIELD_OF(GbeManifest, member_id, "member_id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD_OF(GbeManifest, cluster_id, "cluster_id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD(GbeManifest, revision, "revision", KNOWN),
    GBE_FIELD(GbeManifest, voters, "voters", COUNT),
    GBE_FIELD(GbeManifest, data_version, "data_version", TEXT),
    GBE_FIELD_OF(GbeManifest, storage_version, "storage_version", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, consistent_index, "consistent_index", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, compact_revision, "compact_revision", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, total_keys, "total_keys", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, hash_kv, "hash_kv", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, scrubbed, "scrubbed", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, discard, "discard", FLAG, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, outside, "outside", FLAG, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, proved, "proved", FLAG, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, deployment_version, "deployment_version", TEXT, NULL,
		 GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, occasion, "occasion", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, before, "before", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, before_version, "before_version", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeManifest, hmac, "hmac", TEXT, NULL, GBE_FIELD_LATER),
    {0},
};

GbeManifest *
gbe_manifest_new(void)
{
	GbeManifest *manifest = g_new0(GbeManifest, 1);

	gbe_fields_init(fields, manifest);
	manifest->format = GBE_FORMAT;
	return manifest;
}

void
gbe_manifest_free(GbeManifest *manifest)
{
	if (manifest == NULL)
		return;
	gbe_fields_clear(fields, manifest);
	g_clear_pointer(&manifest->unknown, json_object_unref);
	g_free(manifest);
}

GbeManifest *
gbe_manifest_copy(const GbeManifest *manifest)
{
	GbeManifest *copy = g_memdup2(manifest, sizeof(*manifest));

	gbe_fields_own(fields, copy);
	/* This object never changes once read, so it can be shared. */
	if (copy->unknown != NULL)
		json_object_ref(copy->unknown);
	return copy;
}

/* The members and words that this program would not write itself: a newer program's. There are hardly ever any. So a
 * thousand backups are listed without a thousand trees of JSON in memory. */
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

	gbe_fields_read(fields, &m, manifest);
	if (!gbe_members_end(&m, "manifest", error))
		return false;
	manifest->format = MAX(manifest->format, GBE_FORMAT);
	manifest->seal = manifest->hmac != NULL ? GBE_SEAL_WRONG : GBE_SEAL_NONE;
	manifest->unknown = beyond_us(object, manifest);
	*ret_manifest = g_steal_pointer(&manifest);
	return true;
}

static void
print_members(JsonObject *object, const GbeManifest *manifest, bool with_files)
{
	/* Holes make files of any size, and JSON holds numbers exactly up to 2^53. */
	bool listed = manifest->size < G_GUINT64_CONSTANT(1) << 53;

	gbe_fields_print(fields, object, manifest);
	if (!listed) {
		json_object_set_int_member(object, "size", 0);
		json_object_set_int_member(object, "files_count", 0);
	}
	if (!listed || !with_files)
		json_object_set_null_member(object, "files");
}

JsonObject *
gbe_manifest_to_json(const GbeManifest *manifest, bool with_files)
{
	JsonObject *object = json_object_new();
	g_autoptr(JsonObject) merged = NULL;
	g_autoptr(GList) names = NULL;

	print_members(object, manifest, with_files);
	if (manifest->unknown == NULL)
		return object;
	/* This program's members come in their order, then those that only a newer program knows. */
	merged = gbe_json_copy_object(manifest->unknown);
	print_members(merged, manifest, with_files);
	names = json_object_get_members(merged);
	for (GList *item = names; item != NULL; item = item->next)
		json_object_set_member(object, item->data,
				       json_node_copy(json_object_get_member(merged, item->data)));
	return object;
}

const char *
gbe_manifest_needs(const GbeManifest *manifest)
{
	return manifest->storage_version != NULL ? manifest->storage_version
						 : manifest->etcd_version;
}

guint64
gbe_manifest_place(const GbeManifest *manifest)
{
	return manifest->lineage.at != 0 ? manifest->lineage.at : manifest->sequence;
}

gint64
gbe_manifest_db_size(const GbeManifest *manifest)
{
	GBE_EACH(const GbeManifestFile *, file, manifest->files)
		if (g_str_equal(file->path, "member/snap/db") ||
		    g_str_has_suffix(file->path, "/member/snap/db"))
			return (gint64)file->size;
	return -1;
}

GbeBackupRef
gbe_manifest_ref(const GbeManifest *manifest)
{
	return (GbeBackupRef){.name = manifest->name,
			      .sequence = manifest->sequence,
			      .line = manifest->lineage.line,
			      .place = gbe_manifest_place(manifest)};
}

char *
gbe_manifest_why(const GbeManifest *m, const GPtrArray *names)
{
	static const struct {
		const char *occasion, *why;
	} texts[] = {
	    {"update", "before update "}, /* and the name of ->before */
	    {"rollback", "before rollback to "},
	    {"shutdown", "at shutdown"},
	    {"boot", "at boot"},
	    {"hand", "by hand"},
	    {"restore", "before restore, set aside"},
	    {"damage", "damaged, set aside"},
	};
	g_autofree char *before = gbe_deployment_name(names, m->before, m->before_version);

	if (m->outside)
		return g_strdup("imported");
	if (m->origin == GBE_ORIGIN_PERIODIC)
		return g_strdup("by the clock");
	if (m->origin == GBE_ORIGIN_MANUAL)
		return g_strdup_printf("by hand: %s", m->name);
	for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
		if (g_strcmp0(m->occasion, texts[i].occasion) == 0)
			return g_strconcat(texts[i].why, m->before != NULL ? before : "", NULL);
	if (m->set_aside)
		return g_strdup("set aside");
	if (m->deployment.id == NULL)
		return g_strdup("written by another program");
	if (m->origin != GBE_ORIGIN_DISPLACED)
		return NULL;
	return g_strdup(m->grade == GBE_GRADE_BAD && m->trial.on == GBE_YES
			    ? "failed update, set aside"
			    : "set aside");
}

void
gbe_manifest_add_file(GbeManifest *manifest, const char *path, guint64 size, const char *sha256)
{
	add_file(&manifest->files, (GbeManifestFile){g_strdup(path), size, g_strdup(sha256)});
}

bool
gbe_manifest_parse(const char *bytes, gsize size, GbeManifest **ret_manifest, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	return gbe_json_parse_object(bytes, size, "manifest", &object, error) &&
	       gbe_manifest_from_json(object, ret_manifest, error);
}

static bool
is_readable(JsonObject *object)
{
	g_autoptr(GbeManifest) again = NULL;
	g_autofree char *text = gbe_json_print_object(object);

	return gbe_manifest_parse(text, strlen(text), &again, NULL);
}

/* The object to write. Its reader must accept it, so it is parsed back. If that fails, the lists of files and of
 * left-out names go, then the fingerprint: these hold names that any user may choose. The rest cannot be large. */
static JsonObject *
printable(const GbeManifest *manifest)
{
	g_autoptr(JsonObject) object = gbe_manifest_to_json(manifest, true);
	g_autoptr(GbeManifest) bare = NULL;

	if (is_readable(object))
		return g_steal_pointer(&object);
	bare = gbe_manifest_copy(manifest);
	g_clear_pointer(&bare->left_out, g_strfreev);
	json_object_unref(object);
	object = gbe_manifest_to_json(bare, false);
	if (is_readable(object))
		return g_steal_pointer(&object);
	gbe_fingerprint_clear(&bare->fingerprint);
	return gbe_manifest_to_json(bare, false);
}

char *
gbe_manifest_print(const GbeManifest *manifest)
{
	g_autoptr(JsonObject) object = printable(manifest);

	return gbe_json_print_object(object);
}

/* All members but the digest, in an order that does not depend on who wrote them. */
static char *
signed_text(JsonObject *object)
{
	g_autoptr(JsonObject) sorted = json_object_new();
	g_autoptr(GList) names = g_list_sort(json_object_get_members(object), (GCompareFunc)strcmp);

	for (GList *item = names; item != NULL; item = item->next)
		if (!g_str_equal(item->data, "hmac"))
			json_object_set_member(
			    sorted, item->data,
			    json_node_copy(json_object_get_member(object, item->data)));
	return gbe_json_print_object(sorted);
}

char *
gbe_manifest_print_signed(const GbeManifest *manifest, const GbeKeys *keys)
{
	g_autoptr(GbeManifest) copy = gbe_manifest_copy(manifest);
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *text = NULL;

	if (keys == NULL)
		g_clear_pointer(&copy->hmac, g_free);
	if (keys == NULL || (copy->seal != GBE_SEAL_NEW && copy->seal != GBE_SEAL_RIGHT))
		return gbe_manifest_print(copy);
	/* The placeholder is as long as the digest. */
	g_free(copy->hmac);
	copy->hmac = g_strnfill(GBE_KEYED_LENGTH, '0');
	object = printable(copy);
	text = signed_text(object);
	g_free(copy->hmac);
	copy->hmac = gbe_keys_sign(keys, GBE_KEYED_MANIFEST, text);
	gbe_json_set_string(object, "hmac", copy->hmac);
	return gbe_json_print_object(object);
}

void
gbe_manifest_check_seal(GbeManifest *manifest, const GbeKeys *keys)
{
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *text = NULL;

	if (manifest->hmac == NULL)
		return;
	object = printable(manifest);
	text = signed_text(object);
	manifest->seal = gbe_keys_prove(keys, GBE_KEYED_MANIFEST, text, manifest->hmac)
			     ? GBE_SEAL_RIGHT
			     : GBE_SEAL_WRONG;
}

gint
gbe_manifest_newest_first(gconstpointer a, gconstpointer b)
{
	const GbeManifest *x = *(const GbeManifest *const *)a, *y = *(const GbeManifest *const *)b;

	if (x->sequence != y->sequence)
		return x->sequence > y->sequence ? -1 : 1;
	return g_strcmp0(x->name, y->name);
}

GbeVersion
gbe_version_from_file(const char *bytes, gsize size)
{
	GbeVersion unknown = {0};
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *line = NULL;
	const char *end;
	gsize start = 0;

	if (bytes == NULL || size > GBE_JSON_MAX_SIZE || memchr(bytes, '\0', size) != NULL)
		return unknown;
	while (start < size && g_ascii_isspace(bytes[start]))
		start++;
	if (start < size && bytes[start] == '{') {
		if (!gbe_json_parse_object(bytes, size, "version file", &object, NULL))
			return unknown;
		return gbe_version_parse(gbe_json_string(object, "version", NULL));
	}
	end = memchr(bytes + start, '\n', size - start);
	line = g_strndup(bytes + start, end != NULL ? (gsize)(end - bytes) - start : size - start);
	return gbe_version_parse(line);
}
