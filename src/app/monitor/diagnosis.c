/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/monitor/monitor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "app/backup/observe.h"
#include "app/report/status.h"
#include "app/state/ledger.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/redact.h"
#include "core/shown.h"
#include "core/units/member-unit.h"
#include "etcd/layout.h"
#include "fs/copy/archive.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/systemd/journal.h"
#include "sys/systemd/units.h"

/* Limits: bytes of one part, uncompressed; lines of the journal, backups and runs. Parts beyond a limit are
 * left out and counted. */
#define PART_MAX (1024 * 1024)
#define JOURNAL_MAX 1000
#define BACKUPS_MAX 200
#define RECORDS_MAX 100

#define TOP "greenboot-etcd-diagnosis/"
#define STRING_MAX 8192

static JsonNode *
of_object(JsonObject *object)
{
	JsonNode *node = json_node_new(JSON_NODE_OBJECT);

	json_node_take_object(node, object);
	return node;
}

static JsonNode *
of_array(JsonArray *array)
{
	JsonNode *node = json_node_new(JSON_NODE_ARRAY);

	json_node_take_array(node, array);
	return node;
}

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

/* A person's own words and file names stay on the device. */
static char *
clean_member(const char *key, const char *text)
{
	bool own = g_strcmp0(key, "description") != 0;

	/* From a fingerprint: names with blanks between them. etcd gave all of them, or they are not shown. */
	if (g_strcmp0(key, "snaps") == 0) {
		g_auto(GStrv) names = g_strsplit(text, " ", -1);

		for (guint i = 0; own && names[i] != NULL; i++) {
			g_autofree char *path = g_strconcat("snap/", names[i], NULL);

			own = gbe_layout_is_own(path);
		}
	}
	return own ? clean(text) : g_strdup(GBE_REDACTED);
}

void
gbe_diagnosis_add(GbeDiagnosis *diagnosis, const char *name, JsonNode *content, const char *why)
{
	GbeDiagnosisPart *part = g_new0(GbeDiagnosisPart, 1);
	g_autoptr(JsonNode) node =
	    content != NULL ? gbe_shown_node(content, clean_member) : json_node_new(JSON_NODE_NULL);
	g_autofree char *text = json_to_string(node, true);

	if (content != NULL)
		json_node_unref(content);
	part->name = g_strconcat(name, ".json", NULL);
	part->why = why != NULL ? clean(why) : NULL;
	part->text = g_strconcat(text, "\n", NULL);
	part->size = strlen(part->text);
	if (part->size > PART_MAX) {
		g_free(part->why);
		part->why = g_strdup_printf("too large: %" G_GUINT64_FORMAT " bytes", part->size);
		g_free(part->text);
		part->text = g_strdup("null\n");
		part->size = strlen(part->text);
	}
	g_ptr_array_add(diagnosis->parts, part);
}

/* ---- the archive ---- */

bool
gbe_diagnosis_pack(const GbeDiagnosis *diagnosis, GBytes **ret_archive, GError **error)
{
	/* Says what the archive has, and what it leaves out. */
	g_autoptr(GString) contents = g_string_new("greenboot-etcd " GBE_VERSION "\n\n");
	g_autoptr(GArray) members = g_array_new(false, false, sizeof(GbeArchiveMember));
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GbeArchiveMember member = {.name = TOP "CONTENTS"};

	g_array_append_val(members, member);
	for (guint i = 0; i < diagnosis->parts->len; i++) {
		const GbeDiagnosisPart *part = diagnosis->parts->pdata[i];

		g_string_append_printf(contents, "%-18s %8" G_GUINT64_FORMAT "%s%s\n", part->name,
				       part->size, part->why != NULL ? "  " : "",
				       part->why != NULL ? part->why : "");
		g_ptr_array_add(names, g_strconcat(TOP, part->name, NULL));
		member = (GbeArchiveMember){names->pdata[i], part->text, part->size};
		g_array_append_val(members, member);
	}
	g_array_index(members, GbeArchiveMember, 0) =
	    (GbeArchiveMember){TOP "CONTENTS", contents->str, contents->len};
	return gbe_archive_pack((const GbeArchiveMember *)(gpointer)members->data, members->len,
				ret_archive, error);
}

bool
gbe_diagnosis_write(GbeApp *app, GBytes *archive, const char *path, GError **error)
{
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	struct stat st;

	if (!gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error))
		return false;
	/* A mistyped path must not destroy a file. */
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already; give another name, or remove it", path);
	if (errno != ENOENT)
		return gbe_throw_errno(error, errno, "%s", path);
	return (gbe_write_new_at(dir_fd, name, gbe_write_bytes, archive, error) &&
		gbe_sync_dir(dir_fd, name, error)) ||
	       gbe_prefix(error, "%s", path);
}

#define FILES_MAX 200

static GbeObserved *
observe(GbeApp *app, GError **error)
{
	GbeObserveOptions options = {.tolerant = true};
	GbeObserved *observed = NULL;

	return gbe_observe(app, &options, &observed, error) ? observed : NULL;
}

/* status and explain each use up an observation. */
static void
add_next(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeObserved) for_status = observe(app, &error);
	g_autoptr(GbeObserved) for_explain = NULL;
	g_autoptr(GbeStatus) status =
	    for_status != NULL ? gbe_status_collect(app, for_status, look, NULL) : NULL;
	GbeExplainOptions options = {.deliberate = GBE_UNKNOWN,
				     .live = look != NULL ? look->facts : NULL};
	g_autoptr(GbeExplained) explained = NULL;

	gbe_diagnosis_add(diagnosis, "status",
			  status != NULL ? of_object(gbe_fields_answer(gbe_status_fields, status))
					 : NULL,
			  error != NULL ? error->message : NULL);
	g_clear_error(&error);
	for_explain = observe(app, &error);
	if (for_explain != NULL && !gbe_explain(app, for_explain, &options, &explained, &error))
		explained = NULL;
	gbe_diagnosis_add(
	    diagnosis, "explain",
	    explained != NULL ? of_object(gbe_fields_answer(gbe_explain_fields, explained)) : NULL,
	    error != NULL ? error->message : NULL);
}

static char *
counted(guint all, guint max)
{
	return all > max ? g_strdup_printf("the first %u of %u", max, all) : NULL;
}

static void
add_backups(GbeDiagnosis *diagnosis, const GbeObserved *observed)
{
	g_autoptr(GPtrArray) all = gbe_list_collect(observed, false);
	g_autoptr(JsonArray) list = gbe_list_to_json(all);
	const GPtrArray *backups = observed->facts->backups;
	JsonArray *first = json_array_new();
	JsonArray *manifests = json_array_new();
	JsonArray *damaged = json_array_new();
	g_autofree char *why = counted(backups->len, BACKUPS_MAX);

	for (guint i = 0; i < MIN(json_array_get_length(list), BACKUPS_MAX); i++)
		json_array_add_element(first, json_array_dup_element(list, i));
	gbe_diagnosis_add(diagnosis, "list", of_array(first), why);
	for (guint i = 0; i < MIN(backups->len, BACKUPS_MAX); i++)
		json_array_add_object_element(manifests,
					      gbe_manifest_to_json(backups->pdata[i], false));
	gbe_diagnosis_add(diagnosis, "manifests", of_array(manifests), why);
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		if (i < BACKUPS_MAX)
			json_array_add_string_element(damaged, observed->damaged->pdata[i]);
	gbe_diagnosis_add(diagnosis, "unreadable", of_array(damaged), NULL);
}

/* The ledger's newest records, and the facts about the data that follow from all of its records. */
static void
add_ledger(GbeDiagnosis *diagnosis, GbeApp *app)
{
	JsonArray *records = json_array_new();
	const GbeLedger *ledger = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *why = NULL;
	guint len;

	if (gbe_ledger_load(app, &ledger, &error)) {
		len = ledger->records->len;
		for (guint i = len > RECORDS_MAX ? len - RECORDS_MAX : 0; i < len; i++) {
			const GbeLedgerRecord *record = ledger->records->pdata[i];
			JsonObject *copy = gbe_json_copy_object(record->object);

			/* A description in a person's own words may have anything in it. */
			if (record->kind == GBE_LEDGER_OPERATION &&
			    g_strcmp0(gbe_json_string(copy, "rule", NULL), "by-hand") == 0)
				json_object_set_string_member(copy, "reason", GBE_REDACTED);
			json_array_add_object_element(records, copy);
		}
		why = ledger->holes ? g_strdup("a record of it cannot be read")
				    : counted(len, RECORDS_MAX);
	}
	gbe_diagnosis_add(diagnosis, "ledger", of_array(records),
			  error != NULL ? error->message : why);
}

typedef struct {
	JsonArray *files;
	guint left_out;
} Files;

static bool
add_file(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	 GError **error)
{
	Files *files = data;
	g_autofree char *text =
	    gbe_layout_is_own(path) ? gbe_path_to_text(path) : g_strdup(GBE_REDACTED);
	JsonObject *file;

	if (json_array_get_length(files->files) >= FILES_MAX) {
		files->left_out++;
		return true;
	}
	file = json_object_new();
	json_object_set_string_member(file, "path", text);
	json_object_set_int_member(file, "size", st->st_size);
	json_object_set_int_member(file, "allocated", st->st_blocks * 512);
	json_object_set_int_member(file, "modified", st->st_mtime);
	json_array_add_object_element(files->files, file);
	return true;
}

/* Lists the files below member/ by the names that etcd gives. A file of another program is listed without its name. */
static void
add_files(GbeDiagnosis *diagnosis, const GbeData *data)
{
	Files files = {.files = json_array_new()};
	g_autoptr(GError) error = NULL;
	g_autofree char *why = NULL;
	g_autofree char *path = NULL;
	gbe_autofd int fd = -1;

	if (data->fd >= 0 && data->member_path != NULL) {
		path = g_build_filename("/", data->member_path, "member", NULL);
		if (gbe_open_in_root(data->fd, path, O_RDONLY | O_DIRECTORY, &fd, &error) &&
		    gbe_tree_walk(fd, NULL, NULL, add_file, &files, &error) && files.left_out > 0)
			why = g_strdup_printf("%u more are left out", files.left_out);
	}
	gbe_diagnosis_add(diagnosis, "files", of_array(files.files),
			  error != NULL	 ? error->message
			  : path == NULL ? "there is no data"
					 : why);
}

#define OS_RELEASE "/usr/lib/os-release"

static const char *const identifiers[] = {
    "greenboot-etcd",	      "greenboot-etcd-cli",	  "greenboot-etcd-finalize",
    "greenboot-etcd-green",   "greenboot-etcd-generator", "greenboot-etcd-health",
    "greenboot-etcd-monitor", "greenboot-etcd-preflight", "greenboot-etcd-prerun",
    "greenboot-etcd-red",     "greenboot-etcd-scrub",	  "greenboot-etcd-defrag",
    "greenboot-etcd-backup",  "greenboot-etcd-used",	  NULL,
};

static const char *const own_units[] = {
    "greenboot-etcd-prerun.service",
    "greenboot-etcd-finalize.service",
    "greenboot-etcd-green.service",
    "greenboot-etcd-preflight.service",
    "greenboot-etcd-preflight.path",
    "greenboot-etcd-monitor.service",
    "greenboot-etcd-monitor.timer",
    "greenboot-etcd-scrub.service",
    "greenboot-etcd-scrub.timer",
    "greenboot-etcd-start.target",
    "greenboot-etcd-used.service",
    "greenboot-etcd-used.timer",
    "greenboot-etcd-defrag.service",
    "greenboot-etcd-defrag.timer",
    "greenboot-etcd-backup.service",
    "greenboot-etcd-backup.timer",
    "greenboot-etcd-requests.service",
    "greenboot-etcd-requests.path",
    "greenboot-etcd-requests.timer",
    "greenboot-etcd-push.service",
    "greenboot-etcd-push.timer",
    "greenboot-etcd-send.service",
    "greenboot-etcd-send.timer",
    "greenboot-etcd-prove.service",
    "greenboot-etcd-prove.timer",
    "greenboot-etcd-renew.service",
    "greenboot-etcd-renew.timer",
    "greenboot-etcd-rejoin.service",
    "greenboot-etcd-rejoin.timer",
    "greenboot-etcd-lock.service",
    "greenboot-etcd-lock.timer",
    "greenboot-etcd-lock.path",
    GBE_MEMBER_UNIT,
    "greenboot-healthcheck.service",
};

static void
add_units(GbeDiagnosis *diagnosis, const GbeApp *app, const char *const *units)
{
	JsonObject *object = json_object_new();
	g_autoptr(GError) error = NULL;

	for (; *units != NULL && !app->below_root && error == NULL; units++) {
		GbeUnitState state = {NULL};
		JsonObject *unit;

		if (!gbe_unit_query(*units, &state, &error))
			break;
		unit = json_object_new();
		gbe_json_set_string(unit, "load", state.load_state);
		gbe_json_set_string(unit, "active", state.active_state);
		gbe_json_set_string(unit, "sub", state.sub_state);
		gbe_json_set_string(unit, "enabled", state.unit_file_state);
		gbe_json_set_string(unit, "result", state.result);
		gbe_json_set_string(unit, "type", state.type);
		gbe_json_set_string(unit, "restart", state.restart);
		json_object_set_object_member(object, *units, unit);
		gbe_unit_state_clear(&state);
	}
	gbe_diagnosis_add(diagnosis, "units", of_object(object),
			  app->below_root ? "not below --root"
			  : error != NULL ? error->message
					  : NULL);
}

static void
add_filesystem(JsonObject *to, const GbeApp *app, const char *path)
{
	JsonObject *object;
	guint64 free_bytes, total, inodes;
	gbe_autofd int fd = -1;
	g_autoptr(GError) error = NULL;
	g_autofree char *type = NULL;
	g_autofree char *id = NULL;

	if (!gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &fd, &error)) {
		json_object_set_string_member(to, path, error->message);
		return;
	}
	object = json_object_new();
	type = gbe_filesystem_type(fd);
	gbe_json_set_string(object, "type", type);
	if (gbe_filesystem_id(fd, &id, NULL))
		gbe_json_set_string(object, "id", id);
	if (gbe_filesystem_space(fd, &free_bytes, &total, &inodes, NULL)) {
		json_object_set_int_member(object, "free", (gint64)free_bytes);
		json_object_set_int_member(object, "total", (gint64)total);
		json_object_set_int_member(object, "free_inodes", (gint64)inodes);
	}
	json_object_set_boolean_member(object, "read_only", gbe_filesystem_read_only(fd));
	json_object_set_boolean_member(object, "subvolume", gbe_is_subvolume(fd));
	json_object_set_object_member(to, path, object);
}

static void
add_filesystems(GbeDiagnosis *diagnosis, GbeApp *app)
{
	JsonObject *object = json_object_new();
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;

	add_filesystem(object, app, "/var");
	add_filesystem(object, app, "/boot");
	add_filesystem(object, app, GBE_STATE_DIR);
	add_filesystem(object, app, app->config->etcd.data_dir);
	if (gbe_observe(app, &options, &observed, NULL) && observed->store->path != NULL)
		add_filesystem(object, app, observed->store->path);
	gbe_diagnosis_add(diagnosis, "filesystems", of_object(object), NULL);
}

static void
add_versions(GbeDiagnosis *diagnosis, const GbeApp *app, const GbeHealthLook *look)
{
	/* NAME, VERSION and the like, never the whole file: images add their own fields. */
	static const char *const keys[] = {"PRETTY_NAME",   "ID",	"VERSION_ID",
					   "VARIANT_ID",    "IMAGE_ID", "IMAGE_VERSION",
					   "OSTREE_VERSION"};
	JsonObject *versions = json_object_new();
	struct utsname kernel;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	gsize size;

	gbe_json_set_string(versions, "greenboot-etcd", GBE_VERSION);
	gbe_json_set_string(versions, "etcd", look != NULL ? look->facts->version : NULL);
	if (uname(&kernel) == 0) {
		gbe_json_set_string(versions, "kernel", kernel.release);
		gbe_json_set_string(versions, "machine", kernel.machine);
	}
	if (gbe_read_in_root(app->root_fd, OS_RELEASE, 65536, &text, &size, NULL))
		lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
		for (guint k = 0; k < G_N_ELEMENTS(keys); k++) {
			gsize n = strlen(keys[k]);

			if (strncmp(lines[i], keys[k], n) == 0 && lines[i][n] == '=')
				gbe_json_set_string(versions, keys[k], lines[i] + n + 1);
		}
	/* Only these words of the kernel's command line. */
	gbe_json_set_string(versions, "greenboot-etcd.restore", app->cmdline.restore);
	json_object_set_boolean_member(versions, "greenboot-etcd.skip", app->cmdline.skip);
	gbe_diagnosis_add(diagnosis, "versions", of_object(versions), NULL);
}

void
gbe_diagnosis_collect(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeObserved) observed = NULL;
	const char *units[G_N_ELEMENTS(own_units) + 2] = {NULL};
	JsonArray *lines = json_array_new();
	g_autoptr(GError) no_journal = NULL;
	bool journal_read;

	/* The unit of etcd may be missing; then the list ends one place earlier. */
	memcpy(units, own_units, sizeof own_units);
	units[G_N_ELEMENTS(own_units)] = app->config->etcd.service;
	/* Without a state, all other parts can still be collected. */
	if (app->state_fd < 0)
		(void)!gbe_app_open_state(app, false, NULL);
	add_next(diagnosis, app, look);
	observed = observe(app, &error);
	if (observed != NULL) {
		add_backups(diagnosis, observed);
		gbe_diagnosis_add(diagnosis, "owner",
				  observed->facts->owner != NULL
				      ? of_object(gbe_take_over_to_json(observed->facts->owner))
				      : NULL,
				  observed->facts->owner_why);
		add_files(diagnosis, observed->data);
	}
	add_ledger(diagnosis, app);
	add_filesystems(diagnosis, app);
	add_units(diagnosis, app, units);
	journal_read = gbe_journal_read(app->below_root ? app->root_fd : -1, identifiers, units,
					JOURNAL_MAX, lines, &no_journal);
	gbe_diagnosis_add(diagnosis, "journal", of_array(lines),
			  journal_read ? NULL : no_journal->message);
	add_versions(diagnosis, app, look);
}
