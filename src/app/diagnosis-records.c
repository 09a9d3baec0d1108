/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnosis: what this program knows and would do. */
#include "app/diagnosis.h"

#include "app/explain.h"
#include "app/observe.h"
#include "app/state.h"
#include "app/status.h"
#include "core/record.h"
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
	GbeObserveOptions options = {0};
	GbeObserved *observed = NULL;

	return gbe_observe(app, &options, &observed, error) ? observed : NULL;
}

/* status and explain each use up what was observed. */
static void
add_next(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeObserved) for_status = observe(app, &error);
	g_autoptr(GbeObserved) for_explain = NULL;
	GbeExplainOptions options = {.deliberate = GBE_UNKNOWN};
	JsonObject *explained = NULL;

	gbe_diagnosis_add(diagnosis, "status",
			  for_status != NULL ? of_object(gbe_status_collect(app, for_status, look))
					     : NULL,
			  error != NULL ? error->message : NULL);
	g_clear_error(&error);
	for_explain = observe(app, &error);
	if (for_explain != NULL && !gbe_explain(for_explain, &options, &explained, &error))
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
	g_autoptr(JsonArray) list = gbe_status_list(observed, FALSE);
	const GPtrArray *backups = observed->facts->backups;
	JsonArray *manifests = json_array_new();
	JsonArray *damaged = json_array_new();
	g_autofree char *why = counted(backups->len, GBE_DIAGNOSIS_BACKUPS_MAX);

	gbe_diagnosis_add(diagnosis, "list", of_array(first_of(list, GBE_DIAGNOSIS_BACKUPS_MAX)),
			  why);
	for (guint i = 0; i < MIN(backups->len, GBE_DIAGNOSIS_BACKUPS_MAX); i++)
		json_array_add_object_element(manifests,
					      gbe_manifest_to_json(backups->pdata[i], FALSE));
	gbe_diagnosis_add(diagnosis, "manifests", of_array(manifests), why);
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		if (i < GBE_DIAGNOSIS_BACKUPS_MAX)
			json_array_add_string_element(damaged, observed->damaged->pdata[i]);
	gbe_diagnosis_add(diagnosis, "unreadable", of_array(damaged), NULL);
}

static void
add_runs(GbeDiagnosis *diagnosis, const GPtrArray *all)
{
	JsonArray *runs = json_array_new();
	g_autofree char *why = counted(all->len, GBE_DIAGNOSIS_RUNS_MAX);

	for (guint i = 0; i < MIN(all->len, GBE_DIAGNOSIS_RUNS_MAX); i++)
		json_array_add_object_element(runs, gbe_run_record_to_json(all->pdata[i]));
	gbe_diagnosis_add(diagnosis, "runs", of_array(runs), why);
}

static void
add_stamp(GbeDiagnosis *diagnosis, const GbeFacts *facts)
{
	g_autofree char *text = facts->stamp != NULL ? gbe_stamp_print(facts->stamp) : NULL;
	JsonObject *object = NULL;
	g_autoptr(GError) error = NULL;

	if (text != NULL && !gbe_json_parse_object(text, strlen(text), "stamp", &object, &error))
		object = NULL;
	gbe_diagnosis_add(diagnosis, "stamp", object != NULL ? of_object(object) : NULL,
			  error != NULL ? error->message : facts->stamp_why);
}

/* Which are not there is told by their absence. The record of the last configuration is left out: it is
 * whole files. */
static void
add_records(GbeDiagnosis *diagnosis, GbeApp *app)
{
	static const char *const names[] = {GBE_STATE_COPY, GBE_STATE_INTENT,  GBE_STATE_REQUEST,
					    "attempts",	    "last-operation",  GBE_STATE_FAILURE,
					    "gone",	    GBE_STATE_CMDLINE, NULL};
	JsonObject *records = json_object_new();

	for (guint i = 0; names[i] != NULL; i++) {
		JsonObject *record = NULL;
		g_autoptr(GError) error = NULL;

		if (app->state_fd >= 0 && !gbe_state_peek(app, names[i], &record, &error))
			json_object_set_string_member(records, names[i], error->message);
		else if (record != NULL)
			json_object_set_object_member(records, names[i], record);
	}
	gbe_diagnosis_add(diagnosis, "records", of_object(records),
			  app->state_fd < 0 ? "there is no state" : NULL);
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
	g_autofree char *text = gbe_path_to_text(path);
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

/* Below member/: names that etcd gives. */
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

	/* Without a state all else can be looked at. */
	if (app->state_fd < 0)
		(void)!gbe_app_open_state(app, FALSE, NULL);
	add_next(diagnosis, app, look);
	observed = observe(app, &error);
	if (observed != NULL) {
		add_backups(diagnosis, observed);
		add_runs(diagnosis, observed->facts->runs);
		add_stamp(diagnosis, observed->facts);
		add_files(diagnosis, observed->data);
	}
	add_records(diagnosis, app);
	gbe_diagnosis_collect_system(diagnosis, app, look);
}
