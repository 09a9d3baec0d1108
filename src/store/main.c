/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot-etcd-store: store list, push, pull, verify, send, prune, requests. The snapshots lie in a directory or a
 * bucket that other tools also read and write. */
#include "app/by-hand/by-hand.h"
#include "app/state/history.h"
#include "base/sha256.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "store/prove.h"
#include "store/queue.h"
#include "store/requests.h"
#include "store/snapshots.h"
#include "sys/systemd/events.h"

#define TIMEOUT_MOST (30 * 86400)
#define TIMEOUT_SECONDS 600
/* Links of 3 KiB/s send 250 MiB a day. */
#define TRANSFER_SECONDS 86400

static char *arg_store, *arg_timeout, *arg_identity, *arg_device;
static gboolean arg_dry_run, arg_queue, arg_wait;
static guint64 arg_seconds; /* of --timeout, or its default */

static const GbeOption options[] = {
    {"store", 0, &arg_store, "Use this store; default: directory= or url= of [store]", "DIR",
     GBE_A_DIRECTORY, "list, push, pull, verify, prune, requests"},
    {"timeout", 0, &arg_timeout, "Limit the time for a bucket (list 10min, else 1d), or for etcd",
     "DURATION"},
    {"identity", 0, &arg_identity, "Decrypt with FILE; default: identity= of [store]", "FILE",
     GBE_A_FILE, "pull, verify"},
    {"device", 0, &arg_device, "Also accept a signed snapshot of this device; or unknown", "ID",
     NULL, "pull, verify", G_OPTION_ARG_STRING},
    {"queue", 0, &arg_queue, "Only queue a snapshot, and only if etcd has new data",
     .words = "push"},
    {"wait", 0, &arg_wait, "Retry until all is sent, with growing pauses", .words = "send"},
    {GBE_DRY_RUN(arg_dry_run), .words = "prune, requests delete"},
    {NULL},
};

typedef struct {
	guint schema;		       /* each element says it */
	GbeStored of;		       /* borrowed */
	gint64 created, members, size; /* -1: not known */
} Row;

typedef struct {
	const char *store, *missing;
	GArray *rows; /* of Row */
	guint foreign_more;
} ListAnswer;

static const GbeField row_fields[] = {
    GBE_FIELD(Row, schema, "schema", COUNT),
    GBE_FIELD_SET(Row, of.name, "name", TEXT),
    GBE_FIELD_OF(Row, of.state, "state", SAID, gbe_stored_state_to_string, 0),
    GBE_FIELD(Row, of.why, "why", TEXT),
    GBE_FIELD(Row, of.encrypted, "encrypted", FLAG),
    GBE_FIELD(Row, of.meta.etcd_version, "etcd_version", TEXT),
    GBE_FIELD(Row, created, "created", KNOWN),
    GBE_FIELD(Row, members, "members", KNOWN),
    GBE_FIELD(Row, size, "size", KNOWN),
    {0},
};
static const GbeFieldItems row_items = {row_fields, sizeof(Row)};

const GbeField gbe_store_list_fields[] = {
    GBE_FIELD_OF(ListAnswer, rows, "snapshots", ARRAY, &row_items, 0),
    GBE_FIELD_SET(ListAnswer, store, "store", TEXT),
    GBE_FIELD(ListAnswer, missing, "missing", TEXT),
    GBE_FIELD(ListAnswer, foreign_more, "foreign_more", COUNT),
    {0},
};

static void
add_row(GArray *rows, const GbeStored *stored)
{
	Row row = {GBE_SCHEMA, *stored, -1, -1, -1};

	if (stored->state == GBE_STORED_COMPLETE) {
		row.created =
		    stored->meta.timestamp > 0 ? stored->meta.timestamp : stored->when.time;
		row.members = stored->meta.members > 0 ? stored->meta.members : -1;
		row.size = (gint64)stored->size;
	}
	g_array_append_val(rows, row);
}

static void
print_list(const ListAnswer *answer)
{
	static const char *const titles[] = {"NAME", "STATE", "WHEN", "ETCD", "SIZE", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	for (guint i = 0; i < answer->rows->len; i++) {
		const Row *row = &g_array_index(answer->rows, Row, i);
		g_autofree char *time = gbe_text_time(row->created);
		g_autofree char *size =
		    row->of.state == GBE_STORED_COMPLETE ? gbe_size_to_text(row->of.size) : NULL;
		const char *cells[] = {row->of.name, gbe_stored_state_to_string(row->of.state),
				       time, row->of.meta.etcd_version,
				       size != NULL ? size : row->of.why};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
	if (answer->missing != NULL)
		gbe_complain("the store lacks %s, which this device has pushed or pulled: the "
			     "snapshot was removed, or this is another store",
			     answer->missing);
	if (answer->foreign_more > 0)
		gbe_print("... and %u more names of other files\n", answer->foreign_more);
}

static bool
list_snapshots(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GArray) rows = g_array_new(false, false, sizeof(Row));
	g_autoptr(GPtrArray) waiting = NULL;
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_autoptr(GError) local = NULL;
	g_autofree char *known = NULL;
	const GbeStored *newest = NULL;
	ListAnswer answer = {.rows = rows};

	if (!gbe_snapshot_store_open(cli->app, arg_store, &store, error) ||
	    !gbe_snapshot_store_look(store, error) ||
	    !gbe_snapshot_store_newest(store, &newest, error))
		return false;
	if (!gbe_snapshot_store_known(store, &known, &local))
		gbe_note("%s", local->message);
	if (gbe_history_is_newer(known, newest != NULL ? newest->name : NULL))
		answer.missing = known;
	answer.store = store->depot->shown;
	answer.foreign_more = store->foreign_more;
	/* Queued snapshots come first: they are newer than anything in the store. */
	if (arg_store == NULL)
		waiting = gbe_history_waiting(cli->app);
	for (guint i = waiting != NULL ? waiting->len : 0; i > 0; i--) {
		const GbeWaiting *one = waiting->pdata[i - 1];

		add_row(rows, &(const GbeStored){.name = one->name,
						 .state = GBE_STORED_WAITING,
						 .why = one->failed});
	}
	for (guint i = store->stored->len; i > 0; i--)
		add_row(rows, store->stored->pdata[i - 1]);
	if (cli->json)
		gbe_print_answer(gbe_store_list_fields, &answer);
	else
		print_list(&answer);
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

static void
print_unchanged(const GbeCli *cli)
{
	g_autoptr(JsonObject) object = gbe_json_answer();

	gbe_json_set_string(object, "result", "unchanged");
	if (cli->json)
		gbe_print_object(object);
	else if (!cli->quiet)
		gbe_print("nothing has changed since the last push\n");
}

static bool
push_snapshot(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeStorePushed) pushed = {0};
	GbeStorePush order = {.store = arg_store,
			      .source = arguments[0],
			      .timeout = TIMEOUT_SECONDS,
			      .queue = arg_queue,
			      .progress = gbe_progress_step};
	bool ok;

	if (arg_queue && (arg_store != NULL || arguments[0] != NULL))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--queue cannot be combined with --store, NAME or PATH");
	if (arg_timeout != NULL)
		order.timeout = arg_seconds;
	gbe_progress_begin(cli, "pushed");
	ok = gbe_store_push(cli->app, &order, &pushed, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok || pushed.name == NULL);
	if (ok && pushed.name != NULL)
		print_moved(cli, pushed.name, pushed.verification);
	else if (ok)
		print_unchanged(cli);
	return ok;
}

/* NULL: none was given. */
static char *
identity_path(const GbeCli *cli)
{
	return arg_identity == NULL || cli->app->below_root
		   ? g_strdup(arg_identity)
		   : g_canonicalize_filename(arg_identity, NULL);
}

static bool
pull_snapshot(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeVerification) verification = NULL;
	g_autofree char *pulled = NULL, *absolute = NULL;
	GbeStorePull order = {.store = arg_store,
			      .name = arguments[0],
			      .path = arguments[1],
			      .device = arg_device,
			      .progress = gbe_progress_step};
	bool ok;

	order.identity = absolute = identity_path(cli);
	gbe_progress_begin(cli, "pulled");
	ok = gbe_store_pull(cli->app, &order, &pulled, &verification, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok);
	if (ok)
		print_moved(cli, pulled, verification);
	return ok;
}

static void
print_proved(const GbeCli *cli, const GbeStoreProved *proved)
{
	const char *how = !proved->read	     ? "the bytes match the push"
			  : proved->compared ? "sound, matches the push"
					     : "sound";

	if (cli->json) {
		g_autoptr(JsonObject) object = proved->verification != NULL
						   ? gbe_snapshot_json(proved->verification)
						   : gbe_json_answer();

		gbe_json_set_string(object, "name", proved->name);
		gbe_json_set_string(object, "result", "sound");
		json_object_set_boolean_member(object, "read", proved->read);
		json_object_set_boolean_member(object, "compared", proved->compared);
		gbe_print_object(object);
	} else if (!cli->quiet) {
		gbe_print("%s: %s\n", proved->name, how);
	}
}

static bool
verify_snapshot(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeStoreProved) proved = {0};
	g_autofree char *identity = identity_path(cli);
	const GbeStorePull order = {.store = arg_store,
				    .name =
					arguments[0] != NULL ? arguments[0] : GBE_SNAPSHOT_LATEST,
				    .identity = identity,
				    .device = arg_device,
				    .progress = gbe_progress_step};
	bool ok;

	gbe_progress_begin(cli, "read");
	ok = gbe_store_prove(cli->app, &order, &proved, error);
	gbe_progress_end();
	gbe_cli_changed(cli, false);
	if (ok)
		print_proved(cli, &proved);
	return ok;
}

static bool
report_sent(gsize size, gpointer data)
{
	guint64 *done = data;

	*done += size;
	return gbe_progress_step(*done, 0, NULL);
}

static void
note_sent(const char *name, gpointer data)
{
	json_array_add_string_element(data, name);
}

static bool
send_queue(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *sent = json_array_new();
	g_autoptr(GbeDepot) depot = NULL;
	guint64 done = 0;
	bool ok;

	json_object_set_array_member(object, "sent", sent);
	if (arg_wait)
		return gbe_queue_drain(cli->app, arg_seconds, error);
	gbe_progress_begin(cli, "sent");
	ok = gbe_depot_open(cli->app, NULL, &depot, error);
	if (ok) {
		depot->progress = report_sent;
		depot->progress_data = &done;
		ok = gbe_queue_send_all(cli->app, depot, note_sent, sent, error);
	}
	gbe_progress_end();
	gbe_cli_changed(cli, json_array_get_length(sent) == 0);
	if (cli->json && ok)
		gbe_print_object(object);
	for (guint i = 0; !cli->json && !cli->quiet && i < json_array_get_length(sent); i++)
		gbe_print("%s\n", json_array_get_string_element(sent, i));
	return ok;
}

static bool
prune_snapshots(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) removed = NULL;

	if (!gbe_store_prune(cli->app, arg_store, arg_dry_run, &removed, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	gbe_print_removed(cli, removed, arg_dry_run);
	return true;
}

typedef struct {
	const GPtrArray *requests; /* of GbeStoredRequest */
} RequestsAnswer;

static const GbeField request_fields[] = {
    GBE_FIELD_SET(GbeStoredRequest, name, "name", TEXT),
    GBE_FIELD_OF(GbeStoredRequest, state, "state", SAID, gbe_store_request_state_to_string, 0),
    GBE_FIELD(GbeStoredRequest, request.snapshot, "snapshot", TEXT),
    GBE_FIELD(GbeStoredRequest, result, "result", TEXT),
    GBE_FIELD(GbeStoredRequest, why, "why", TEXT),
    {0},
};
static const GbeFieldItems request_items = {request_fields, sizeof(GbeStoredRequest)};

const GbeField gbe_store_requests_fields[] = {
    GBE_FIELD_OF(RequestsAnswer, requests, "requests", LIST, &request_items, 0),
    {0},
};

static void
print_requests(const GbeCli *cli, const GPtrArray *requests)
{
	static const char *const titles[] = {"NAME", "STATE", "SNAPSHOT", "RESULT", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	if (cli->json)
		gbe_print_answer(gbe_store_requests_fields, &(const RequestsAnswer){requests});
	if (cli->json || cli->quiet)
		return;
	for (guint i = 0; i < requests->len; i++) {
		const GbeStoredRequest *request = requests->pdata[i];
		const char *cells[] = {request->name,
				       gbe_store_request_state_to_string(request->state),
				       request->request.snapshot,
				       request->why != NULL ? request->why : request->result};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
}

static bool
run_requests(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) requests = NULL;

	if (!gbe_store_requests_run(cli->app, arg_store, &requests, error))
		return false;
	gbe_cli_changed(cli, false);
	/* A timer also starts this verb, mostly without any request to do: then print nothing. */
	if (requests->len > 0 || cli->json)
		print_requests(cli, requests);
	for (guint i = 0; i < requests->len; i++)
		if (((GbeStoredRequest *)requests->pdata[i])->state != GBE_STORE_REQUEST_DONE)
			cli->status = GBE_EXIT_FAILED;
	return true;
}

static bool
delete_request(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *array = json_array_new();
	const char *name = arguments[0];

	json_object_set_array_member(object, "deleted", array);
	json_object_set_boolean_member(object, "dry_run", arg_dry_run);
	json_array_add_string_element(array, name);
	if (!gbe_store_requests_delete(cli->app, arg_store, name, arg_dry_run, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json)
		gbe_print_object(object);
	else if (!cli->quiet)
		gbe_print("deleted %s\n", name);
	return true;
}

static bool
list_requests(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) all = NULL;

	if (!gbe_store_requests_list(cli->app, arg_store, &all, error))
		return false;
	print_requests(cli, all);
	return true;
}

static const GbeVerb request_words[] = {
    {"list", "List the requests in the store", "store requests list", list_requests, .looks = true},
    {"run", "Do the waiting requests", "store requests run", run_requests},
    {"delete", "Remove a request", "store requests delete backup-1", delete_request, NULL,
     GBE_TAKES({"NAME"})},
    {NULL},
};

static const GbeVerb words[] = {
    {"list", "List the snapshots, newest first", "store list", list_snapshots, .looks = true},
    {"push", "Write a snapshot of etcd, of a backup or of a snapshot file", "store push",
     push_snapshot, NULL, GBE_TAKES({"[NAME|PATH]", GBE_A_BACKUP "," GBE_A_FILE})},
    {"pull", "Make a snapshot file of a snapshot, or of the latest",
     "store pull latest /var/tmp/etcd.db", pull_snapshot, NULL,
     GBE_TAKES({"NAME|" GBE_SNAPSHOT_LATEST, GBE_SNAPSHOT_LATEST}, {"FILE", GBE_A_FILE})},
    {"verify", "Read a snapshot, or the latest, back in full", "store verify", verify_snapshot,
     NULL, GBE_TAKES({"[NAME]", GBE_SNAPSHOT_LATEST})},
    {"send", "Send the queue, the newest first", "store send --wait", send_queue},
    {"prune", "Remove the snapshots that hourly= and daily= do not keep", "store prune -n",
     prune_snapshots},
    {"requests", "List, run or delete the requests in the store", "store requests list",
     .words = request_words},
    {NULL},
};

/* Runs before each of the words. */
static bool
set_deadline(GbeCli *cli, char **arguments, GError **error)
{
	arg_seconds = g_str_equal(cli->words, "list") ? TIMEOUT_SECONDS : TRANSFER_SECONDS;
	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &arg_seconds, error))
		return false;
	cli->app->store_deadline = g_get_monotonic_time() + (gint64)arg_seconds * G_USEC_PER_SEC;
	return true;
}

static const GbeVerb verbs[] = {
    {"store", "Keep snapshots off the device, in a directory or a bucket",
     "store pull latest /var/tmp/etcd.db", set_deadline, options, .words = words,
     .group = "Copies off the device", .page = "greenboot-etcd-store(8)"},
    {NULL},
};

int
main(int argc, char **argv)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_cli_main(verbs, NULL, argc, argv);
}
