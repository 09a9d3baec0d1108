/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnosis: the records of this program and its next decisions. */
#include "app/monitor/diagnosis.h"

#include "app/backup/observe.h"
#include "app/report/explain.h"
#include "app/report/status.h"
#include "app/state/ledger.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/redact.h"
#include "etcd/layout.h"
#include "fs/open.h"
#include "fs/tree.h"

#include <fcntl.h>
#include <string.h>

#define FILES_MAX 200

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
	GbeExplainOptions options = {.deliberate = GBE_UNKNOWN,
				     .live = look != NULL ? look->facts : NULL};
	g_autoptr(GbeStatus) status =
	    for_status != NULL ? gbe_status_collect(app, for_status, look) : NULL;
	JsonObject *explained = NULL;

	gbe_diagnosis_add(diagnosis, "status",
			  status != NULL ? of_object(gbe_status_to_json(status)) : NULL,
			  error != NULL ? error->message : NULL);
	g_clear_error(&error);
	for_explain = observe(app, &error);
	if (for_explain != NULL && !gbe_explain(app, for_explain, &options, &explained, &error))
		explained = NULL;
	gbe_diagnosis_add(diagnosis, "explain", explained != NULL ? of_object(explained) : NULL,
			  error != NULL ? error->message : NULL);
}

static char *
counted(guint all, guint max)
{
	return all > max ? g_strdup_printf("the first %u of %u", max, all) : NULL;
}

static JsonArray *
first_of(JsonArray *all, guint max)
{
	JsonArray *some = json_array_new();

	for (guint i = 0; i < MIN(json_array_get_length(all), max); i++)
		json_array_add_element(some, json_array_dup_element(all, i));
	return some;
}

static void
add_backups(GbeDiagnosis *diagnosis, const GbeObserved *observed)
{
	g_autoptr(GPtrArray) all = gbe_list_collect(observed, false);
	g_autoptr(JsonArray) list = gbe_list_to_json(all);
	const GPtrArray *backups = observed->facts->backups;
	JsonArray *manifests = json_array_new();
	JsonArray *damaged = json_array_new();
	g_autofree char *why = counted(backups->len, GBE_DIAGNOSIS_BACKUPS_MAX);

	gbe_diagnosis_add(diagnosis, "list", of_array(first_of(list, GBE_DIAGNOSIS_BACKUPS_MAX)),
			  why);
	for (guint i = 0; i < MIN(backups->len, GBE_DIAGNOSIS_BACKUPS_MAX); i++)
		json_array_add_object_element(manifests,
					      gbe_manifest_to_json(backups->pdata[i], false));
	gbe_diagnosis_add(diagnosis, "manifests", of_array(manifests), why);
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		if (i < GBE_DIAGNOSIS_BACKUPS_MAX)
			json_array_add_string_element(damaged, observed->damaged->pdata[i]);
	gbe_diagnosis_add(diagnosis, "unreadable", of_array(damaged), NULL);
}

/* A description in a person's own words may have anything in it. */
static JsonObject *
without_words(const GbeLedgerRecord *record)
{
	JsonObject *copy = gbe_json_copy_object(record->object);

	if (record->kind == GBE_LEDGER_OPERATION &&
	    g_strcmp0(gbe_json_string(copy, "rule", NULL), "by-hand") == 0)
		json_object_set_string_member(copy, "reason", GBE_REDACTED);
	return copy;
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
		for (guint i = len > GBE_DIAGNOSIS_RECORDS_MAX ? len - GBE_DIAGNOSIS_RECORDS_MAX
							       : 0;
		     i < len; i++) {
			const GbeLedgerRecord *record = ledger->records->pdata[i];

			json_array_add_object_element(records, without_words(record));
		}
		why = ledger->holes ? g_strdup("a record of it cannot be read")
				    : counted(len, GBE_DIAGNOSIS_RECORDS_MAX);
	}
	gbe_diagnosis_add(diagnosis, "ledger", of_array(records),
			  error != NULL ? error->message : why);
}

static void
add_owner(GbeDiagnosis *diagnosis, const GbeFacts *facts)
{
	gbe_diagnosis_add(diagnosis, "owner",
			  facts->owner != NULL ? of_object(gbe_take_over_to_json(facts->owner))
					       : NULL,
			  facts->owner_why);
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

/* Lists the files below member/ by the names that etcd gives. A file of somebody else is listed without its name. */
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
		    gbe_tree_walk(fd, NULL, add_file, &files, &error) && files.left_out > 0)
			why = g_strdup_printf("%u more are left out", files.left_out);
	}
	gbe_diagnosis_add(diagnosis, "files", of_array(files.files),
			  error != NULL	 ? error->message
			  : path == NULL ? "there is no data"
					 : why);
}

void
gbe_diagnosis_collect(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeObserved) observed = NULL;

	/* Without a state, all other parts can still be collected. */
	if (app->state_fd < 0)
		(void)!gbe_app_open_state(app, false, NULL);
	add_next(diagnosis, app, look);
	observed = observe(app, &error);
	if (observed != NULL) {
		add_backups(diagnosis, observed);
		add_owner(diagnosis, observed->facts);
		add_files(diagnosis, observed->data);
	}
	add_ledger(diagnosis, app);
	gbe_diagnosis_collect_system(diagnosis, app, look);
}
