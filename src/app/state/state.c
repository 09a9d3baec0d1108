/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/state.h"

#include <fcntl.h>
#include <string.h>

#include "app/state/configuration.h"
#include "app/state/ledger.h"
#include "core/decide/past.h"
#include "core/json/parse.h"
#include "core/shown.h"
#include "core/units/cluster-env.h"
#include "fs/open.h"
#include "sys/deployment/deployments.h"
#include "sys/systemd/events.h"

/* A disk that did not answer may answer in a moment. */
#define TRIES 3
#define PAUSE_USEC 100000

#define SETTINGS_MAX (1024 * 1024)
/* Limit for all files of a configuration together: a sealed file holds this much after escaping. */
#define REMEMBERED_MAX (256 * 1024)
#define DONE_MAX (64 * 1024)

bool
gbe_state_read(GbeApp *app, const char *name, bool repair, JsonObject **ret_object, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autoptr(GError) why = NULL;
	g_autofree char *kept = NULL;
	g_autofree char *reason = NULL;
	JsonObject *object = NULL;

	if (!gbe_state_peek(app, name, &object, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_CORRUPT))
			return false;
		if (repair) {
			if (gbe_set_broken_aside_at(app->state_fd, name, &kept, &why))
				reason =
				    g_strdup_printf("%s; it is kept as %s", local->message, kept);
			else
				reason = g_strdup_printf("%s; it stays where it is: %s",
							 local->message, why->message);
			gbe_event_state_broken(&(GbeEventFields){.reason = reason});
		}
	}
	*ret_object = object;
	return true;
}

bool
gbe_state_write(GbeApp *app, const char *name, JsonObject *object, GError **error)
{
	g_autofree char *json = gbe_json_print_object(object);
	g_autofree char *sealed = NULL;
	g_autoptr(JsonObject) again = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_json_parse_object(json, strlen(json), "it", &again, &local))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 GBE_STATE_DIR "/%s could not be read again: %s", name,
				 local->message);
	if (!gbe_app_open_state(app, true, error))
		return false;
	sealed = gbe_record_seal(json);
	return gbe_write_file_at(app->state_fd, name, sealed, strlen(sealed), 0600,
				 GBE_WRITE_DURABLE, error) ||
	       gbe_prefix(error, GBE_STATE_DIR);
}

bool
gbe_state_has_locked(GbeApp *app, const char *name, const GbeDeployment *deployment)
{
	g_autoptr(JsonObject) object = NULL;
	GbeDeployment of;

	if (!gbe_state_read(app, name, false, &object, NULL) || object == NULL ||
	    !gbe_json_bool(object, "locked", false))
		return false;
	/* Borrowed. */
	of = (GbeDeployment){.id = (char *)gbe_json_string(object, "deployment", NULL),
			     .handle = (char *)gbe_json_string(object, "handle", NULL)};
	return gbe_deployment_same(&of, deployment);
}

bool
gbe_state_sweep(GbeApp *app, GError **error)
{
	return app->state_fd < 0 || gbe_sweep_writes_at(app->state_fd, GBE_STATE_DIR, error);
}

/* A change of membership that is not complete, the member's settings, and what it has learnt. */
static void
observe_membership(GbeApp *app, GbeFacts *facts)
{
	g_autoptr(JsonObject) intent = NULL;
	g_autoptr(JsonObject) learnt = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) variables = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) unread = NULL;
	gsize size = 0;

	if (!gbe_state_peek(app, GBE_STATE_CLUSTER, &intent, &error))
		gbe_note("%s", error->message);
	facts->log_seen = gbe_state_peek(app, GBE_STATE_MEMBERS, &learnt, NULL) && learnt != NULL &&
			  gbe_json_string(learnt, "log", NULL) != NULL;
	if (intent != NULL && !gbe_json_bool(intent, "voter", false)) {
		if (gbe_json_bool(intent, "empties", false))
			facts->leaving = g_strdup(gbe_json_string(
			    intent, "command", gbe_json_string(intent, "operation", NULL)));
		else
			facts->joining = true;
		return;
	}
	/* Unreadable settings also are those of a member. With [cluster] rejoin=yes they follow the cluster
	 * (greenboot-etcd-cluster). */
	if (!gbe_read_in_root(app->root_fd, GBE_CLUSTER_ENV, SETTINGS_MAX, &text, &size, &unread)) {
		facts->member = !g_error_matches(unread, GBE_ERROR, GBE_ERROR_NOT_FOUND);
		return;
	}
	variables = g_strsplit(text, "\n", -1);
	facts->member = gbe_cluster_env_joins(variables);
	facts->began = !facts->member && !app->config->cluster.rejoin;
}

void
gbe_state_observe_ledger(GbeApp *app, GbeFacts *facts)
{
	g_autoptr(GError) error = NULL;
	const GbeLedger *ledger = NULL;

	for (guint try = 1; !gbe_ledger_load(app, &ledger, &error); try++) {
		if (try < TRIES && g_error_matches(error, GBE_ERROR, GBE_ERROR_UNREADABLE)) {
			g_clear_error(&error);
			g_usleep(PAUSE_USEC);
			continue;
		}
		facts->ledger = GBE_UNKNOWN;
		facts->ledger_why = g_strdup(error->message);
		if (facts->unread == NULL)
			facts->unread = g_strdup(error->message);
		gbe_event_state_broken(&(GbeEventFields){.reason = error->message});
		return;
	}
	gbe_ledger_fold(ledger, facts);
}

void
gbe_state_observe(GbeApp *app, GbeFacts *facts)
{
	observe_membership(app, facts);
	gbe_state_observe_ledger(app, facts);
}

bool
gbe_state_read_intent(GbeApp *app, GbeIntent **ret_intent, GError **error)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const GbeLedger *ledger;

	if (!gbe_ledger_load(app, &ledger, error))
		return false;
	gbe_ledger_fold(ledger, facts);
	if (facts->intent_why != NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "the open operation: %s",
				 facts->intent_why);
	*ret_intent = g_steal_pointer(&facts->intent);
	return true;
}

/* Records. */

static JsonObject *
record_about(guint64 of)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "of", (gint64)of);
	return object;
}

/* NULL is recorded as null. */
static JsonObject *
record_of_texts(const char *key, const char *text, const char *other_key, const char *other_text)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, key, text);
	gbe_json_set_string(object, other_key, other_text);
	return object;
}

static bool
append_durably(GbeApp *app, GbeLedgerKind kind, JsonObject *object, GError **error)
{
	return gbe_ledger_append(app, kind, object, GBE_WRITE_DURABLE, error);
}

static void
append_later(GbeApp *app, GbeLedgerKind kind, JsonObject *object)
{
	g_autoptr(GError) error = NULL;

	if (!gbe_ledger_append(app, kind, object, GBE_WRITE_LATER, &error))
		gbe_note("%s", error->message);
}

bool
gbe_state_take_over(GbeApp *app, const GbeTakeOver *take_over, GbeWrite how, GError **error)
{
	return gbe_ledger_append(app, GBE_LEDGER_TAKE_OVER, gbe_take_over_to_json(take_over), how,
				 error);
}

bool
gbe_state_note_tree(GbeApp *app, const GbeTakeOver *of, GError **error)
{
	JsonObject *object = record_about(of->sequence);

	gbe_json_set_string(object, "tree", of->tree);
	gbe_json_set_string(object, "nonce", of->nonce);
	json_object_set_boolean_member(object, "mount_point", of->mount_point == GBE_YES);
	return append_durably(app, GBE_LEDGER_TREE, object, error);
}

bool
gbe_state_hand_back(GbeApp *app, guint64 of, GError **error)
{
	return append_durably(app, GBE_LEDGER_HANDED_BACK, record_about(of), error);
}

bool
gbe_state_judge_run(GbeApp *app, const GbeRunRecord *before, const GbeRunRecord *after,
		    GError **error)
{
	g_autoptr(JsonObject) old = before != NULL ? gbe_verdict_to_json(before) : NULL;
	JsonObject *new = gbe_verdict_to_json(after);
	g_autofree char *old_text = old != NULL ? gbe_json_print_line(old) : NULL;
	g_autofree char *new_text = gbe_json_print_line(new);

	if (g_strcmp0(old_text, new_text) == 0) {
		json_object_unref(new);
		return true;
	}
	return append_durably(app, GBE_LEDGER_VERDICT, new, error);
}

bool
gbe_state_close(GbeApp *app, guint64 of, const GbeClosing *closing, GError **error)
{
	JsonObject *object = gbe_closing_to_json(closing);

	json_object_set_int_member(object, "of", (gint64)of);
	return append_durably(app, GBE_LEDGER_CLOSING, object, error);
}

bool
gbe_state_open(GbeApp *app, guint64 of, GError **error)
{
	return append_durably(app, GBE_LEDGER_OPENED, record_about(of), error);
}

bool
gbe_state_note_used(GbeApp *app, guint64 of, GError **error)
{
	return append_durably(app, GBE_LEDGER_USED, record_about(of), error);
}

bool
gbe_state_begin_start(GbeApp *app, const char *deployment, GError **error)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "deployment", deployment);
	return append_durably(app, GBE_LEDGER_START, object, error);
}

bool
gbe_state_end_start(GbeApp *app, const char *deployment, guint64 of, bool held, bool fell_back,
		    const char *reason, GError **error)
{
	JsonObject *object = record_about(of);

	gbe_json_set_string(object, "deployment", deployment);
	json_object_set_boolean_member(object, "held", held);
	if (fell_back)
		json_object_set_boolean_member(object, "fell_back", true);
	gbe_json_set_string(object, "reason", reason);
	return append_durably(app, GBE_LEDGER_END, object, error);
}

bool
gbe_state_write_intent(GbeApp *app, const GbeIntent *intent, GbeWrite how, GError **error)
{
	return gbe_ledger_append(app, GBE_LEDGER_INTENT, gbe_intent_to_json(intent), how, error);
}

bool
gbe_state_end_intent(GbeApp *app, guint64 of, const char *result, GError **error)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "staged", (gint64)of);
	gbe_json_set_string(object, "result", result);
	return append_durably(app, GBE_LEDGER_INTENT_ENDED, object, error);
}

bool
gbe_state_write_request(GbeApp *app, const GbeRequest *request, GError **error)
{
	return append_durably(app, GBE_LEDGER_REQUEST, gbe_request_to_json(request), error);
}

bool
gbe_state_end_request(GbeApp *app, const char *result, const char *reason, GError **error)
{
	JsonObject *object = record_of_texts("result", result, "reason", reason);

	return append_durably(app, GBE_LEDGER_REQUEST_ENDED, object, error);
}

bool
gbe_state_note_cmdline(GbeApp *app, const char *restore, const char *rd_restore, GError **error)
{
	JsonObject *object = record_of_texts("restore", restore, "rd_restore", rd_restore);

	return append_durably(app, GBE_LEDGER_CMDLINE, object, error);
}

bool
gbe_state_carry_failure(GbeApp *app, const char *operation, const char *reason, GError **error)
{
	JsonObject *object = record_of_texts("operation", operation, "reason", reason);

	return append_durably(app, GBE_LEDGER_FAILURE, object, error);
}

void
gbe_state_write_last(GbeApp *app, const GbeLastOperation *last)
{
	append_later(app, GBE_LEDGER_OPERATION, gbe_last_operation_to_json(last));
}

void
gbe_state_note_undecided(GbeApp *app, const char *operation, bool held, const char *reason)
{
	GbeLastOperation last = {
	    .operation = g_strdup(operation),
	    .result = g_strdup(held ? "held" : "failed"),
	    .reason = g_strdup(reason),
	    .started = g_get_real_time() / G_USEC_PER_SEC,
	};
	g_autoptr(GError) error = NULL;

	if (!gbe_run_read(app->root_fd, !app->below_root, &last.run, &error))
		gbe_note("%s", error->message);
	gbe_state_write_last(app, &last);
	gbe_last_operation_clear(&last);
}

void
gbe_state_note_entry(GbeApp *app, GbeLedgerKind kind, const GbeManifest *manifest,
		     const char *reason)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "backup", manifest->name);
	json_object_set_int_member(object, "number", (gint64)manifest->sequence);
	gbe_json_set_string(object, "deployment", manifest->deployment.id);
	gbe_json_set_string(object, "grade", gbe_grade_to_string(manifest->grade));
	gbe_json_set_string(object, "reason", reason);
	append_later(app, kind, object);
}

/* Deployments that are gone. ostree reuses their names, and old records must not count for a new deployment of the same
 * name (sequences.md 32: B.0, B.0). */

static bool
note_missing(GbeApp *app, GbeFacts *facts, const GbeDeployment *deployment, guint64 sequence,
	     GError **error)
{
	JsonObject *object;
	GbeGone *gone;

	if (deployment->id == NULL || gbe_facts_listed(facts, deployment->id) != NULL)
		return true;
	for (guint i = 0; i < facts->gone->len; i++) {
		gone = facts->gone->pdata[i];
		if (gone->sequence >= sequence && g_str_equal(gone->id, deployment->id))
			return true;
	}
	gone = g_new0(GbeGone, 1);
	gone->id = g_strdup(deployment->id);
	gone->sequence = facts->next_sequence - 1;
	g_ptr_array_add(facts->gone, gone);
	object = json_object_new();
	gbe_json_set_string(object, "deployment", gone->id);
	json_object_set_int_member(object, "upto", (gint64)gone->sequence);
	return append_durably(app, GBE_LEDGER_GONE, object, error);
}

bool
gbe_state_note_gone(GbeApp *app, GbeFacts *facts, GError **error)
{
	if (!gbe_facts_know_listed(facts))
		return true;
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (!note_missing(app, facts, &run->deployment, run->sequence, error))
			return false;
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (!note_missing(app, facts, &backup->deployment, backup->sequence, error))
			return false;
	}
	return true;
}

/* The end of prerun, on a tmpfs. */

void
gbe_prerun_done_write(GbeApp *app, const GbeHeld *held, const char *reason)
{
	bool is_held = held != NULL && held->kind != GBE_HOLD_NO;
	g_autoptr(JsonObject) done = json_object_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *json = NULL, *text = NULL;
	gbe_autofd int run_fd = -1;

	json_object_set_int_member(done, "ended", g_get_real_time() / G_USEC_PER_SEC);
	json_object_set_int_member(done, "monotonic_usec", g_get_monotonic_time());
	json_object_set_boolean_member(done, "held", is_held);
	gbe_json_set_string(done, "reason", is_held ? held->text : reason);
	if (is_held) {
		JsonArray *steps = json_array_new();

		for (guint i = 0; i < held->steps->len; i++)
			json_array_add_string_element(steps, held->steps->pdata[i]);
		gbe_json_set_string(done, "hold", gbe_hold_words.words[held->kind]);
		gbe_json_set_string(done, "why", held->why);
		json_object_set_array_member(done, "steps", steps);
	}
	json = gbe_json_print_object(done);
	text = gbe_shown_json(json);
	if (!gbe_make_dirs(app->root_fd, GBE_RUN_DIR, 0755, &run_fd, &error) ||
	    !gbe_write_file_at(run_fd, GBE_PRERUN_DONE, text, strlen(text), 0644, GBE_WRITE_LATER,
			       &error))
		gbe_note("%s", error->message);
}

JsonObject *
gbe_prerun_done_read(GbeApp *app)
{
	g_autofree char *bytes = NULL;
	JsonObject *object = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(app->root_fd, GBE_RUN_DIR "/" GBE_PRERUN_DONE, DONE_MAX, &bytes,
			      &size, NULL) ||
	    !gbe_json_parse_object(bytes, size, GBE_PRERUN_DONE, &object, NULL))
		return NULL;
	return object;
}

void
gbe_prerun_done_hold(JsonObject *done, GbeHeld *ret_held)
{
	const char *word = done != NULL ? gbe_json_string(done, "hold", NULL) : NULL;
	JsonArray *array = word != NULL ? gbe_json_array(done, "steps") : NULL;

	if (word == NULL || !gbe_json_bool(done, "held", false))
		return;
	for (guint kind = GBE_HOLD_NO + 1; kind < GBE_N_HOLDS; kind++) {
		GPtrArray *steps;

		if (!g_str_equal(word, gbe_hold_words.words[kind]))
			continue;
		steps = g_ptr_array_new_with_free_func(g_free);
		for (guint i = 0; array != NULL && i < json_array_get_length(array); i++) {
			JsonNode *node = json_array_get_element(array, i);

			if (json_node_get_value_type(node) == G_TYPE_STRING)
				g_ptr_array_add(steps, g_strdup(json_node_get_string(node)));
		}
		gbe_held_set(ret_held, (GbeHold)kind, gbe_json_string(done, "why", NULL), steps);
	}
}

/* The configuration: the one that worked is remembered, and systemd is asked about schedules. */

/* NULL: too much, or not UTF-8. */
static JsonObject *
print_files(GPtrArray *files, const char *deployment)
{
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *array = json_array_new();
	gsize total = 0;

	json_object_set_string_member(object, "deployment", deployment);
	json_object_set_array_member(object, "files", array);
	for (guint i = 0; i < files->len; i++) {
		const GbeConfFile *file = files->pdata[i];
		JsonObject *element;

		total += file->size;
		if (total > REMEMBERED_MAX ||
		    !g_utf8_validate(file->text, (gssize)file->size, NULL))
			return NULL;
		element = json_object_new();
		json_object_set_string_member(element, "path", file->path);
		json_object_set_string_member(element, "text", file->text);
		json_array_add_object_element(array, element);
	}
	return g_steal_pointer(&object);
}

void
gbe_configuration_load_for_boot(GbeApp *app, const char *deployment, char **ret_complaint)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);
	bool locked = app->lock != NULL;
	g_autoptr(JsonObject) before = NULL;
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *text = NULL;
	g_autofree char *old = NULL;

	if (!gbe_configuration_choose_from(app, deployment, files, ret_complaint) ||
	    deployment == NULL || app->config_file != NULL)
		return;
	/* The remembered configuration is only a fallback: a failed write loses nothing today. */
	object = print_files(files, deployment);
	if (object == NULL)
		return;
	text = gbe_json_print_object(object);
	if (gbe_state_read(app, GBE_CONFIGURATION_RECORD, false, &before, NULL) && before != NULL)
		old = gbe_json_print_object(before);
	if (g_strcmp0(old, text) == 0 || !gbe_app_lock(app, app->program, GBE_WAIT_NOT, NULL))
		return;
	(void)!gbe_state_write(app, GBE_CONFIGURATION_RECORD, object, NULL);
	if (!locked)
		gbe_app_unlock(app);
}
