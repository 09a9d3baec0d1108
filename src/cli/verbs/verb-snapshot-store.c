/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* store list, push, pull, prune, requests: snapshots in a directory that other tools read and write, too. */
#include "app/by-hand/by-hand.h"
#include "app/offsite/requests.h"
#include "app/offsite/snapshots.h"
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print-removed.h"
#include "cli/print-snapshot.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "sys/systemd/events.h"

#define TIMEOUT_MOST (30 * 86400)
#define TIMEOUT_SECONDS 600

static char *arg_store, *arg_timeout, *arg_identity;
static gboolean arg_dry_run;

const GOptionEntry gbe_options_store[] = {
    {"store", 0, 0, G_OPTION_ARG_FILENAME, &arg_store,
     "Where the snapshots are; default: [store] directory", "DIR"},
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &arg_timeout, "push: how long etcd may take (10min)",
     "DURATION"},
    {"identity", 0, 0, G_OPTION_ARG_FILENAME, &arg_identity,
     "pull: what decrypts it; default: [store] identity", "FILE"},
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &arg_dry_run,
     "prune, requests delete: change nothing, say what would be done", NULL},
    {NULL},
};

static gint64
created(const GbeStored *stored)
{
	return stored->meta.timestamp > 0 ? stored->meta.timestamp : stored->when.time;
}

static JsonObject *
stored_json(const GbeStored *stored)
{
	JsonObject *object = json_object_new();
	bool complete = stored->state == GBE_STORED_COMPLETE;

	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_string(object, "name", stored->name);
	gbe_json_set_string(object, "state", gbe_stored_state_to_string(stored->state));
	gbe_json_set_string(object, "why", stored->why);
	json_object_set_boolean_member(object, "encrypted", stored->encrypted);
	gbe_json_set_string(object, "etcd_version", stored->meta.etcd_version);
	gbe_json_set_known(object, "created", complete ? created(stored) : -1);
	gbe_json_set_known(object, "members",
			   complete && stored->meta.members > 0 ? stored->meta.members : -1);
	gbe_json_set_known(object, "size", complete ? (gint64)stored->size : -1);
	return object;
}

static void
print_table(const GbeSnapshotStore *store)
{
	static const char *const titles[] = {"NAME", "STATE", "WHEN", "ETCD", "SIZE", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	for (guint i = store->stored->len; i > 0; i--) {
		const GbeStored *stored = store->stored->pdata[i - 1];
		bool complete = stored->state == GBE_STORED_COMPLETE;
		g_autofree char *time = gbe_text_time(complete ? created(stored) : 0);
		g_autofree char *size = complete ? gbe_size_to_text(stored->size) : NULL;
		const char *cells[] = {stored->name, gbe_stored_state_to_string(stored->state),
				       time, stored->meta.etcd_version,
				       size != NULL ? size : stored->why};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
}

static bool
list(GbeCli *cli, GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) local = NULL;
	g_autofree char *known = NULL;
	const char *missing;
	JsonArray *array;

	if (!gbe_snapshot_store_open(cli->app, arg_store, &store, error))
		return false;
	if (!gbe_snapshot_store_known(store, &known, &local))
		gbe_note("%s", local->message);
	missing = gbe_snapshot_store_is_behind(store, known) ? known : NULL;
	if (!cli->json) {
		print_table(store);
		if (missing != NULL)
			gbe_complain("this device has pushed or pulled %s, and none as new is "
				     "here: somebody has removed it, or this is another store",
				     missing);
		return true;
	}
	object = json_object_new();
	array = json_array_new();
	for (guint i = store->stored->len; i > 0; i--)
		json_array_add_object_element(array, stored_json(store->stored->pdata[i - 1]));
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_string(object, "store", store->path);
	json_object_set_array_member(object, "snapshots", array);
	gbe_json_set_string(object, "missing", missing);
	gbe_print_object(object);
	return true;
}

/* Prints the same as snapshot status, and where the snapshot lies. */
static void
print_moved(const GbeCli *cli, const char *name, const GbeVerification *verification)
{
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_snapshot_json(verification);

		gbe_json_set_string(object, "name", name);
		gbe_print_object(object);
		return;
	}
	if (!cli->quiet)
		gbe_print("%s\n", name);
	gbe_print_snapshot(cli, verification);
}

static bool
push(GbeCli *cli, char **source, GError **error)
{
	g_auto(GbeStorePushed) pushed = {0};
	GbeStorePush options = {.store = arg_store,
				.timeout = TIMEOUT_SECONDS,
				.progress = gbe_progress_step};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error) ||
	    !gbe_cli_resolve_names(cli, source, error))
		return false;
	options.source = source[0];
	gbe_progress_begin(cli, "pushed");
	ok = gbe_store_push(cli->app, &options, &pushed, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok);
	if (ok)
		print_moved(cli, pushed.name, pushed.verification);
	return ok;
}

static bool
pull(GbeCli *cli, const char *name, const char *path, GError **error)
{
	g_autoptr(GbeVerification) verification = NULL;
	g_autofree char *pulled = NULL, *absolute = NULL;
	GbeStorePull options = {.store = arg_store,
				.name = name,
				.path = path,
				.progress = gbe_progress_step};
	bool ok;

	if (arg_identity != NULL)
		options.identity = absolute = cli->app->below_root
						  ? g_strdup(arg_identity)
						  : g_canonicalize_filename(arg_identity, NULL);
	gbe_progress_begin(cli, "pulled");
	ok = gbe_store_pull(cli->app, &options, &pulled, &verification, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok);
	if (ok)
		print_moved(cli, pulled, verification);
	return ok;
}

static bool
prune(GbeCli *cli, GError **error)
{
	g_autoptr(GPtrArray) removed = NULL;

	if (!gbe_store_prune(cli->app, arg_store, arg_dry_run, &removed, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	gbe_print_removed(cli, removed, arg_dry_run);
	return true;
}

static void
print_requests(const GbeCli *cli, const GPtrArray *requests)
{
	static const char *const titles[] = {"NAME", "STATE", "SNAPSHOT", "RESULT", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *array = json_array_new();

	for (guint i = 0; i < requests->len; i++) {
		const GbeStoredRequest *request = requests->pdata[i];
		const char *state = gbe_store_request_state_to_string(request->state);
		const char *cells[] = {request->name, state, request->request.snapshot,
				       request->why != NULL ? request->why : request->result};
		JsonObject *element = json_object_new();

		gbe_json_set_string(element, "name", request->name);
		gbe_json_set_string(element, "state", state);
		gbe_json_set_string(element, "snapshot", request->request.snapshot);
		gbe_json_set_string(element, "result", request->result);
		gbe_json_set_string(element, "why", request->why);
		json_array_add_object_element(array, element);
		gbe_table_add(table, cells);
	}
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	json_object_set_array_member(object, "requests", array);
	if (cli->json)
		gbe_print_object(object);
	else if (!cli->quiet)
		gbe_table_print(table);
}

static bool
run_requests(GbeCli *cli, GError **error)
{
	g_autoptr(GPtrArray) requests = NULL;

	if (!gbe_store_requests_run(cli->app, arg_store, &requests, error))
		return false;
	gbe_cli_changed(cli, false);
	/* A timer also starts this verb, and mostly there are no requests: then it prints nothing. */
	if (requests->len > 0 || cli->json)
		print_requests(cli, requests);
	for (guint i = 0; i < requests->len; i++)
		if (((GbeStoredRequest *)requests->pdata[i])->state != GBE_STORE_REQUEST_DONE)
			cli->status = GBE_EXIT_FAILED;
	return true;
}

static bool
delete_request(GbeCli *cli, const char *name, GError **error)
{
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *array = json_array_new();

	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	json_object_set_array_member(object, "deleted", array);
	json_object_set_boolean_member(object, "dry_run", arg_dry_run);
	json_array_add_string_element(array, name);
	if (!gbe_store_requests_delete(cli->app, arg_store, name, arg_dry_run, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json)
		gbe_print_object(object);
	else if (!cli->quiet)
		gbe_print("%sdeleted %s\n", arg_dry_run ? "would be " : "", name);
	return true;
}

static bool
requests(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) all = NULL;
	guint count = g_strv_length(arguments);

	if (count == 1 && g_str_equal(arguments[0], "run"))
		return run_requests(cli, error);
	if (count == 2 && g_str_equal(arguments[0], "delete"))
		return delete_request(cli, arguments[1], error);
	if (count != 1 || !g_str_equal(arguments[0], "list"))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "store requests is list, run or delete NAME");
	if (!gbe_store_requests_list(cli->app, arg_store, &all, error))
		return false;
	print_requests(cli, all);
	return true;
}

bool
gbe_verb_store(GbeCli *cli, char **arguments, GError **error)
{
	const char *verb = arguments[0];
	guint count = g_strv_length(arguments) - 1;

	if ((arg_dry_run && !g_str_equal(verb, "prune") &&
	     !(g_str_equal(verb, "requests") && count == 2)) ||
	    (arg_timeout != NULL && !g_str_equal(verb, "push")) ||
	    (arg_identity != NULL && !g_str_equal(verb, "pull")))
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "--dry-run goes with store prune and store requests delete, --timeout "
		    "with store push, --identity with store pull");
	if (g_str_equal(verb, "list") && count == 0)
		return list(cli, error);
	if (g_str_equal(verb, "push") && count <= 1)
		return push(cli, arguments + 1, error);
	if (g_str_equal(verb, "pull") && count == 2)
		return pull(cli, arguments[1], arguments[2], error);
	if (g_str_equal(verb, "prune") && count == 0)
		return prune(cli, error);
	if (g_str_equal(verb, "requests"))
		return requests(cli, arguments + 1, error);
	return gbe_throw(error, GBE_ERROR_USAGE,
			 "store %s: too many or too few arguments for list, push [NAME|PATH], pull "
			 "NAME FILE, prune",
			 verb);
}
