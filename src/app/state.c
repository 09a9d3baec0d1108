/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state.h"

#include <string.h>

#include "core/record.h"
#include "fs/open.h"
#include "fs/sync.h"
#include "sys/events.h"

#define RECORD_MODE 0600

#define OWNER "owner"
#define INTENT "intent"
#define REQUEST "request"
#define ATTEMPTS "attempts"
#define LAST_OPERATION "last-operation"
#define GONE "gone"
#define STARTS "starts"

void
gbe_state_set_aside(int dir_fd, const char *name, const GError *why)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *kept = NULL;
	g_autofree char *reason = NULL;
	GbeEventFields fields = {0};

	if (gbe_set_broken_aside_at(dir_fd, name, &kept, &error))
		reason = g_strdup_printf("%s; it is kept as %s", why->message, kept);
	else
		reason =
		    g_strdup_printf("%s; it stays where it is: %s", why->message, error->message);
	fields.reason = reason;
	gbe_event_state_broken(&fields);
}

bool
gbe_state_read(GbeApp *app, const char *name, gboolean repair, JsonObject **ret_object,
	       GError **error)
{
	g_autoptr(GError) local = NULL;
	JsonObject *object = NULL;

	if (!gbe_state_peek(app, name, &object, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
		if (repair)
			gbe_state_set_aside(app->state_fd, name, local);
	}
	*ret_object = object;
	return true;
}

/* The record as it is written, in a state directory that is there. */
static char *
seal(GbeApp *app, const char *name, const char *json, GError **error)
{
	/* What could not be read again must not be written. */
	if (strlen(json) > GBE_JSON_MAX_SIZE) {
		gbe_throw(error, GBE_ERROR_FAILED,
			  GBE_STATE_DIR "/%s would be larger than the %d bytes that are read", name,
			  GBE_JSON_MAX_SIZE);
		return NULL;
	}
	if (!gbe_app_open_state(app, TRUE, error))
		return NULL;
	return gbe_record_seal(json);
}

static bool
write_text(GbeApp *app, const char *name, const char *json, GbeWrite how, GError **error)
{
	g_autofree char *sealed = seal(app, name, json, error);

	if (sealed == NULL)
		return false;
	if (!gbe_write_file_at(app->state_fd, name, sealed, strlen(sealed), RECORD_MODE, how,
			       error))
		return gbe_prefix(error, GBE_STATE_DIR);
	return true;
}

bool
gbe_state_write(GbeApp *app, const char *name, JsonObject *object, GbeWrite how, GError **error)
{
	g_autofree char *json = gbe_json_print_object(object);

	return write_text(app, name, json, how, error);
}

bool
gbe_state_remove(GbeApp *app, const char *name, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (!gbe_app_open_state(app, FALSE, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return true;
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
	}
	return gbe_unlink_durable_at(app->state_fd, name, error) ||
	       gbe_prefix(error, GBE_STATE_DIR);
}

bool
gbe_state_sync(GbeApp *app, GError **error)
{
	if (!gbe_app_open_state(app, TRUE, error))
		return false;
	return gbe_sync_fs(app->state_fd, GBE_STATE_DIR, error);
}

/* For observing: what cannot be read counts as absent, whatever the reason, and is said. Nothing of the store is
 * removed while it may be read the next time. */
static JsonObject *
look_at(GbeApp *app, const char *name, gboolean repair, GbeFacts *facts)
{
	g_autoptr(GError) error = NULL;
	JsonObject *object = NULL;
	GbeEventFields fields = {0};

	if (gbe_state_read(app, name, repair, &object, &error))
		return object;
	(void)gbe_facts_note_unread(facts, error);
	fields.reason = error->message;
	gbe_event_state_broken(&fields);
	return NULL;
}

static void
observe_copy(GbeApp *app, gboolean repair, GbeFacts *facts)
{
	g_autoptr(JsonObject) object = look_at(app, OWNER, repair, facts);
	g_autoptr(GError) error = NULL;
	g_autofree char *json = NULL;
	GbeStamp *copy = NULL;

	if (object == NULL)
		return;
	json = gbe_json_print_object(object);
	if (gbe_stamp_parse(json, strlen(json), &copy, &error)) {
		gbe_stamp_free(facts->copy);
		facts->copy = copy;
	} else if (repair) {
		(void)gbe_prefix(&error, OWNER);
		gbe_state_set_aside(app->state_fd, OWNER, error);
	}
}

static void
observe_request(GbeApp *app, gboolean repair, GbeFacts *facts)
{
	g_autoptr(JsonObject) object = look_at(app, REQUEST, repair, facts);
	g_autoptr(GError) error = NULL;

	if (object != NULL && !gbe_request_from_json(object, &facts->request, &error) && repair)
		gbe_state_set_aside(app->state_fd, REQUEST, error);
}

bool
gbe_state_observe(GbeApp *app, gboolean repair, GbeFacts *facts, GError **error)
{
	g_autoptr(JsonObject) gone = NULL;
	g_autoptr(JsonObject) attempts = NULL;
	g_autoptr(JsonObject) last = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_app_open_state(app, FALSE, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return true;
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
	}
	if (!gbe_state_observe_runs(app, repair, facts, error))
		return false;
	observe_copy(app, repair, facts);
	observe_request(app, repair, facts);
	gone = look_at(app, GONE, repair, facts);
	if (gone != NULL) {
		g_ptr_array_unref(facts->gone);
		facts->gone = gbe_gone_from_json(gone);
	}
	attempts = look_at(app, ATTEMPTS, repair, facts);
	if (attempts != NULL) {
		g_ptr_array_unref(facts->attempts);
		facts->attempts = gbe_attempts_from_json(attempts);
	}
	last = look_at(app, LAST_OPERATION, repair, facts);
	if (last != NULL) {
		g_free(facts->undo);
		facts->undo = g_strdup(gbe_json_string(last, "undo", NULL));
	}
	return true;
}

bool
gbe_state_write_copy(GbeApp *app, const GbeStamp *stamp, GbeWrite how, GError **error)
{
	g_autofree char *json = gbe_stamp_print(stamp);

	return write_text(app, OWNER, json, how, error);
}

bool
gbe_state_prepare_copy(GbeApp *app, const GbeStamp *stamp, GError **error)
{
	g_autofree char *json = gbe_stamp_print(stamp);
	g_autofree char *sealed = seal(app, OWNER, json, error);

	return sealed != NULL && gbe_write_prepare_at(app->state_fd, OWNER, sealed, strlen(sealed),
						      RECORD_MODE, error);
}

bool
gbe_state_publish_copy(GbeApp *app, GError **error)
{
	return gbe_write_publish_at(app->state_fd, OWNER, error);
}

bool
gbe_state_read_intent(GbeApp *app, gboolean repair, GbeIntent **ret_intent, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) local = NULL;
	GbeIntent *intent = NULL;

	if (!gbe_state_read(app, INTENT, repair, &object, error))
		return false;
	if (object != NULL && !gbe_intent_from_json(object, &intent, &local) && repair)
		gbe_state_set_aside(app->state_fd, INTENT, local);
	*ret_intent = intent;
	return true;
}

bool
gbe_state_write_intent(GbeApp *app, const GbeIntent *intent, GbeWrite how, GError **error)
{
	g_autoptr(JsonObject) object = gbe_intent_to_json(intent);

	return gbe_state_write(app, INTENT, object, how, error);
}

static bool
read_attempts(GbeApp *app, GPtrArray **ret_attempts, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	if (!gbe_state_read(app, ATTEMPTS, TRUE, &object, error))
		return false;
	if (object == NULL)
		object = json_object_new();
	*ret_attempts = gbe_attempts_from_json(object);
	return true;
}

static bool
write_attempts(GbeApp *app, GPtrArray *attempts, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	if (attempts->len == 0)
		return gbe_state_remove(app, ATTEMPTS, error);
	object = gbe_attempts_to_json(attempts);
	return gbe_state_write(app, ATTEMPTS, object, GBE_WRITE_DURABLE, error);
}

bool
gbe_state_count_attempt(GbeApp *app, const char *backup, const char *deployment, GError **error)
{
	g_autoptr(GPtrArray) attempts = NULL;
	GbeAttempt *found = NULL;

	if (!read_attempts(app, &attempts, error))
		return false;
	for (guint i = 0; i < attempts->len; i++) {
		GbeAttempt *attempt = attempts->pdata[i];

		if (g_str_equal(attempt->backup, backup) &&
		    g_str_equal(attempt->deployment, deployment))
			found = attempt;
	}
	if (found == NULL) {
		found = g_new0(GbeAttempt, 1);
		found->backup = g_strdup(backup);
		found->deployment = g_strdup(deployment);
		g_ptr_array_add(attempts, found);
	}
	if (found->count < G_MAXINT)
		found->count++;
	return write_attempts(app, attempts, error);
}

bool
gbe_state_clear_attempts(GbeApp *app, const char *deployment, GError **error)
{
	g_autoptr(GPtrArray) attempts = NULL;
	guint before;

	if (!read_attempts(app, &attempts, error))
		return false;
	before = attempts->len;
	for (guint i = before; i > 0; i--) {
		const GbeAttempt *attempt = attempts->pdata[i - 1];

		if (g_str_equal(attempt->deployment, deployment))
			g_ptr_array_remove_index(attempts, i - 1);
	}
	return attempts->len == before || write_attempts(app, attempts, error);
}

bool
gbe_state_write_request(GbeApp *app, const GbeRequest *request, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	if (request->kind == GBE_REQUEST_NONE)
		return gbe_state_remove(app, REQUEST, error);
	object = gbe_request_to_json(request);
	return gbe_state_write(app, REQUEST, object, GBE_WRITE_DURABLE, error);
}

bool
gbe_state_read_last(GbeApp *app, GbeLastOperation *ret_last, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	if (!gbe_state_read(app, LAST_OPERATION, FALSE, &object, error))
		return false;
	if (object == NULL)
		object = json_object_new();
	gbe_last_operation_from_json(object, ret_last);
	return true;
}

bool
gbe_state_write_last(GbeApp *app, const GbeLastOperation *last, GbeWrite how, GError **error)
{
	g_autoptr(JsonObject) object = gbe_last_operation_to_json(last);

	return gbe_state_write(app, LAST_OPERATION, object, how, error);
}

const char *
gbe_state_cmdline(const GbeApp *app, const char **ret_record)
{
	const GbeCmdline *cmdline = &app->cmdline;
	gboolean rd = app->initramfs || cmdline->restore == NULL;

	*ret_record = rd ? GBE_STATE_RD_CMDLINE : GBE_STATE_CMDLINE;
	if (rd && cmdline->rd_skip)
		return NULL;
	return rd ? cmdline->rd_restore : cmdline->restore;
}

/* PLACE OF THE LEDGER: here the record "used beyond trial-limit" is appended, unless it is there already. */
bool
gbe_state_note_used(GbeApp *app, guint64 sequence, GError **error)
{
	return true;
}

guint
gbe_state_begin_start(GbeApp *app)
{
	g_autoptr(JsonObject) object = NULL;
	gint64 unfinished = 0;

	/* Not set aside when broken: it is written again right now. */
	if (gbe_state_read(app, STARTS, FALSE, &object, NULL) && object != NULL)
		unfinished = CLAMP(gbe_json_int(object, "unfinished", 0), 0, G_MAXINT - 1);
	g_clear_pointer(&object, json_object_unref);
	object = json_object_new();
	json_object_set_int_member(object, "unfinished", unfinished + 1);
	(void)!gbe_state_write(app, STARTS, object, GBE_WRITE_DURABLE, NULL);
	return (guint)unfinished;
}

void
gbe_state_end_start(GbeApp *app)
{
	(void)!gbe_state_remove(app, STARTS, NULL);
}
