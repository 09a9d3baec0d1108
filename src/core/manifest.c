/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/manifest.h"

#include "core/record.h"

#include <string.h>

static void
file_free(gpointer data)
{
	GbeManifestFile *file = data;

	g_free(file->path);
	g_free(file->sha256);
	g_free(file);
}

GbeManifest *
gbe_manifest_new(void)
{
	GbeManifest *manifest = g_new0(GbeManifest, 1);

	manifest->format = GBE_FORMAT;
	manifest->trial.used = -1;
	manifest->scrubbed = -1;
	manifest->revision = -1;
	manifest->consistent_index = -1;
	manifest->compact_revision = -1;
	manifest->total_keys = -1;
	manifest->hash_kv = -1;
	return manifest;
}

void
gbe_manifest_free(GbeManifest *manifest)
{
	if (manifest == NULL)
		return;
	g_free(manifest->written_by);
	g_free(manifest->name);
	gbe_deployment_clear(&manifest->deployment);
	g_free(manifest->run);
	gbe_lineage_clear(&manifest->lineage);
	g_free(manifest->grade_reason);
	g_free(manifest->data_dir);
	g_free(manifest->description);
	g_clear_pointer(&manifest->files, g_ptr_array_unref);
	g_strfreev(manifest->left_out);
	gbe_fingerprint_clear(&manifest->fingerprint);
	g_free(manifest->etcd_version);
	g_free(manifest->storage_version);
	g_free(manifest->member_id);
	g_free(manifest->cluster_id);
	g_free(manifest->hmac);
	g_free(manifest->data_version);
	g_clear_pointer(&manifest->unknown, json_object_unref);
	g_free(manifest);
}

static GPtrArray *
files_copy(GPtrArray *files)
{
	GPtrArray *copy;

	if (files == NULL)
		return NULL;
	copy = g_ptr_array_new_full(files->len, file_free);
	for (guint i = 0; i < files->len; i++) {
		const GbeManifestFile *from = files->pdata[i];
		GbeManifestFile *file = g_memdup2(from, sizeof(*from));

		file->path = g_strdup(from->path);
		file->sha256 = g_strdup(from->sha256);
		g_ptr_array_add(copy, file);
	}
	return copy;
}

GbeManifest *
gbe_manifest_copy(const GbeManifest *manifest)
{
	GbeManifest *copy = g_memdup2(manifest, sizeof(*manifest));
	GbeDeployment no_deployment = {0};
	GbeLineage no_lineage = {0};
	GbeFingerprint no_fingerprint = {0};

	copy->written_by = g_strdup(manifest->written_by);
	copy->name = g_strdup(manifest->name);
	copy->deployment = no_deployment;
	gbe_deployment_copy(&copy->deployment, &manifest->deployment);
	copy->run = g_strdup(manifest->run);
	copy->lineage = no_lineage;
	gbe_lineage_copy(&copy->lineage, &manifest->lineage);
	copy->grade_reason = g_strdup(manifest->grade_reason);
	copy->data_dir = g_strdup(manifest->data_dir);
	copy->description = g_strdup(manifest->description);
	copy->files = files_copy(manifest->files);
	copy->left_out = g_strdupv(manifest->left_out);
	copy->fingerprint = no_fingerprint;
	gbe_fingerprint_copy(&copy->fingerprint, &manifest->fingerprint);
	copy->etcd_version = g_strdup(manifest->etcd_version);
	copy->storage_version = g_strdup(manifest->storage_version);
	copy->member_id = g_strdup(manifest->member_id);
	copy->cluster_id = g_strdup(manifest->cluster_id);
	copy->hmac = g_strdup(manifest->hmac);
	copy->data_version = g_strdup(manifest->data_version);
	/* Never changed once read, so that it can be shared. */
	copy->unknown = manifest->unknown != NULL ? json_object_ref(manifest->unknown) : NULL;
	return copy;
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

GbeBackupRef
gbe_manifest_ref(const GbeManifest *manifest)
{
	return (GbeBackupRef){.name = manifest->name,
			      .sequence = manifest->sequence,
			      .line = manifest->lineage.line,
			      .place = gbe_manifest_place(manifest)};
}

void
gbe_manifest_add_file(GbeManifest *manifest, const char *path, guint64 size, const char *sha256)
{
	GbeManifestFile *file = g_new0(GbeManifestFile, 1);

	if (manifest->files == NULL)
		manifest->files = g_ptr_array_new_with_free_func(file_free);
	file->path = g_strdup(path);
	file->size = size;
	file->sha256 = g_strdup(sha256);
	g_ptr_array_add(manifest->files, file);
}

bool
gbe_manifest_parse(const char *bytes, gsize size, GbeManifest **ret_manifest, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	return gbe_json_parse_object(bytes, size, "manifest", &object, error) &&
	       gbe_manifest_from_json(object, ret_manifest, error);
}

static gboolean
is_readable(JsonObject *object)
{
	g_autoptr(GbeManifest) again = NULL;
	g_autofree char *text = gbe_json_print_object(object);

	return gbe_manifest_parse(text, strlen(text), &again, NULL);
}

/* The object to write. Its reader must accept it, so it is parsed back. Where that fails, the lists of files and of names
 * that were left out go, then the fingerprint: they hold names that anybody may choose, and nothing else can be large. */
static JsonObject *
printable(const GbeManifest *manifest)
{
	g_autoptr(JsonObject) object = gbe_manifest_to_json(manifest, TRUE);
	g_autoptr(GbeManifest) bare = NULL;

	if (is_readable(object))
		return g_steal_pointer(&object);
	bare = gbe_manifest_copy(manifest);
	g_clear_pointer(&bare->left_out, g_strfreev);
	json_object_unref(object);
	object = gbe_manifest_to_json(bare, FALSE);
	if (is_readable(object))
		return g_steal_pointer(&object);
	gbe_fingerprint_clear(&bare->fingerprint);
	return gbe_manifest_to_json(bare, FALSE);
}

char *
gbe_manifest_print(const GbeManifest *manifest)
{
	g_autoptr(JsonObject) object = printable(manifest);

	return gbe_json_print_object(object);
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

/* All members but the digest, in an order that does not depend on who wrote them. */
static char *
signed_text(JsonObject *object)
{
	g_autoptr(JsonObject) sorted = json_object_new();
	g_autoptr(GList) names = g_list_sort(json_object_get_members(object), by_name);

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
	/* What stands in its place is as long as it. */
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
