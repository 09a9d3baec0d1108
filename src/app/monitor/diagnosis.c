/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/monitor/diagnosis.h"

#include "core/redact.h"
#include "core/shown.h"
#include "etcd/layout.h"
#include "fs/copy/archive.h"
#include "fs/open.h"
#include "fs/sync.h"
#include "fs/write.h"

#include <fcntl.h>
#include <string.h>

#define TOP "greenboot-etcd-diagnosis/"
#define STRING_MAX 8192

static void
free_part(gpointer data)
{
	GbeDiagnosisPart *part = data;

	g_free(part->name);
	g_free(part->text);
	g_free(part->why);
	g_free(part);
}

GbeDiagnosis *
gbe_diagnosis_new(void)
{
	GbeDiagnosis *diagnosis = g_new0(GbeDiagnosis, 1);

	diagnosis->parts = g_ptr_array_new_with_free_func(free_part);
	return diagnosis;
}

void
gbe_diagnosis_free(GbeDiagnosis *diagnosis)
{
	if (diagnosis == NULL)
		return;
	g_ptr_array_unref(diagnosis->parts);
	g_free(diagnosis);
}

/* ---- nothing that could be a secret ---- */

static char *
clean(const char *text)
{
	g_autofree char *shown = gbe_shown_text(text);
	g_autofree char *redacted = gbe_redact(shown);

	if (strlen(redacted) <= STRING_MAX)
		return g_steal_pointer(&redacted);
	*g_utf8_find_prev_char(redacted, redacted + STRING_MAX) = '\0';
	return g_strconcat(redacted, "...", NULL);
}

/* @snaps, from a fingerprint: names with blanks between them. True: etcd gave all of them. */
static bool
is_of_etcd(const char *snaps)
{
	g_auto(GStrv) names = g_strsplit(snaps, " ", -1);
	bool own = true;

	for (guint i = 0; own && names[i] != NULL; i++) {
		g_autofree char *path = g_strconcat("snap/", names[i], NULL);

		own = gbe_layout_is_own(path);
	}
	return own;
}

/* A person's own words and file names stay on the device. */
static char *
clean_member(const char *key, const char *text)
{
	if (g_strcmp0(key, "description") == 0 ||
	    (g_strcmp0(key, "snaps") == 0 && !is_of_etcd(text)))
		return g_strdup(GBE_REDACTED);
	return clean(text);
}

static char *
to_text(JsonNode *node, gsize *ret_size)
{
	g_autoptr(JsonGenerator) generator = json_generator_new();
	g_autofree char *text = NULL;
	gsize size = 0;

	json_generator_set_pretty(generator, true);
	json_generator_set_root(generator, node);
	text = json_generator_to_data(generator, &size);
	*ret_size = size + 1;
	return g_strconcat(text, "\n", NULL);
}

void
gbe_diagnosis_add(GbeDiagnosis *diagnosis, const char *name, JsonNode *content, const char *why)
{
	GbeDiagnosisPart *part = g_new0(GbeDiagnosisPart, 1);
	g_autoptr(JsonNode) node =
	    content != NULL ? gbe_shown_node(content, clean_member) : json_node_new(JSON_NODE_NULL);

	if (content != NULL)
		json_node_unref(content);
	part->name = g_strconcat(name, ".json", NULL);
	part->why = why != NULL ? clean(why) : NULL;
	part->text = to_text(node, &part->size);
	if (part->size > GBE_DIAGNOSIS_PART_MAX) {
		g_free(part->why);
		part->why = g_strdup_printf("too large: %" G_GSIZE_FORMAT " bytes", part->size);
		g_free(part->text);
		part->text = g_strdup("null\n");
		part->size = strlen(part->text);
	}
	g_ptr_array_add(diagnosis->parts, part);
}

/* ---- the archive ---- */

/* The text that says what the archive has, and what it leaves out. */
static char *
contents(const GbeDiagnosis *diagnosis)
{
	GString *text = g_string_new("greenboot-etcd " GBE_VERSION "\n\n");

	for (guint i = 0; i < diagnosis->parts->len; i++) {
		const GbeDiagnosisPart *part = diagnosis->parts->pdata[i];

		g_string_append_printf(text, "%-18s %8" G_GSIZE_FORMAT "%s%s\n", part->name,
				       part->size, part->why != NULL ? "  " : "",
				       part->why != NULL ? part->why : "");
	}
	return g_string_free(text, false);
}

bool
gbe_diagnosis_pack(const GbeDiagnosis *diagnosis, GBytes **ret_archive, GError **error)
{
	g_autofree char *list = contents(diagnosis);
	g_autoptr(GArray) members = g_array_new(false, false, sizeof(GbeArchiveMember));
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GbeArchiveMember member = {TOP "CONTENTS", list, strlen(list)};

	g_array_append_val(members, member);
	for (guint i = 0; i < diagnosis->parts->len; i++) {
		const GbeDiagnosisPart *part = diagnosis->parts->pdata[i];

		g_ptr_array_add(names, g_strconcat(TOP, part->name, NULL));
		member = (GbeArchiveMember){names->pdata[i], part->text, part->size};
		g_array_append_val(members, member);
	}
	return gbe_archive_pack((const GbeArchiveMember *)(gpointer)members->data, members->len,
				ret_archive, error);
}

/* A mistyped path must not destroy a file. */
static bool
is_free(int dir_fd, const char *name, const char *path, GError **error)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already; give another name, or remove it", path);
	return errno == ENOENT || gbe_throw_errno(error, errno, "%s", path);
}

bool
gbe_diagnosis_write(GbeApp *app, GBytes *archive, const char *path, GError **error)
{
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;

	if (!gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error) ||
	    !is_free(dir_fd, name, path, error))
		return false;
	return (gbe_write_new_at(dir_fd, name, gbe_write_bytes, archive, error) &&
		gbe_sync_dir(dir_fd, name, error)) ||
	       gbe_prefix(error, "%s", path);
}
