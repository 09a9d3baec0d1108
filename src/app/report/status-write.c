/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes status.json and the MOTD. */
#include "app/report/status.h"
#include "app/state/state.h"
#include "base/format.h"
#include "core/json/parse.h"
#include "core/shown.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void add_line(GString *motd, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
add_line(GString *motd, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);
	g_autofree char *line = gbe_shown_line(text);

	g_string_append_printf(motd, "greenboot-etcd: %s\n", line);
}

static void
motd_last_operation(GString *text, const GbeFacts *facts, const GbeLastOperation *last)
{
	const char *reason = last->reason != NULL ? last->reason : "no reason recorded";
	bool by_rule = last->rule != NULL && g_ascii_isdigit(last->rule[0]);

	if (last->operation == NULL)
		return;
	if (last->result != NULL && !g_str_equal(last->result, "done") &&
	    !g_str_equal(last->result, "held")) {
		add_line(text, "%s of %s %s: %s", last->operation,
			 last->backup != NULL ? last->backup : "the data", last->result, reason);
	} else if (by_rule && gbe_facts_is_this_run(facts, last->run)) {
		/* Done, but a person may want something else. */
		if (g_str_equal(last->operation, "restore"))
			add_line(text,
				 "etcd's data was replaced by backup %s at this boot "
				 "(%s)%s",
				 last->backup != NULL ? last->backup : "?", reason,
				 facts->undo.name != NULL
				     ? "; `greenboot-etcd undo --stop` puts back what was there"
				     : "");
		else if (g_str_equal(last->operation, "fresh"))
			add_line(text, "there was no etcd data at this boot; "
				       "`greenboot-etcd list` shows what can be restored");
	}
}

/* The result of prerun's last start; if prerun has not reported one yet, the recorded result. */
static void
motd_held(GString *text, GbeApp *app, const GbeFacts *facts, const GbeLastOperation *last)
{
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	const char *reason = last->reason;
	bool held = g_strcmp0(last->result, "held") == 0 && gbe_facts_is_this_run(facts, last->run);

	if (done != NULL) {
		held = gbe_json_bool(done, "held", false);
		reason = gbe_json_string(done, "reason", reason);
	}
	if (held)
		add_line(text, "etcd is held back: %s",
			 reason != NULL ? reason : "no reason recorded");
}

/* From a look just now, or from this run's own check. */
static void
motd_health(GString *text, const GbeFacts *facts, const GbeHealthLook *look)
{
	const GbeRunRecord *run = gbe_facts_this_run(facts);
	GbeHealth health = GBE_HEALTH_NOT_ASKED;
	const char *reason = NULL;

	if (look != NULL) {
		health = look->report->health;
		reason = look->report->reason;
	} else if (run != NULL) {
		health = run->health;
		reason = run->reason;
	}
	if (health == GBE_HEALTH_UNHEALTHY || health == GBE_HEALTH_CANNOT_TELL)
		add_line(text, "%s: %s",
			 health == GBE_HEALTH_UNHEALTHY ? "etcd is not healthy"
							: "etcd's health cannot be told",
			 reason != NULL ? reason : "no reason recorded");
	for (guint i = 0; look != NULL && i < GBE_N_CHECKS; i++) {
		const GbeCheck *check = &look->report->steps[i];

		if (check->result == GBE_CHECK_WARNING)
			add_line(text, "%s: %s", gbe_check_to_string((GbeCheckKind)i),
				 check->detail);
	}
}

static void
motd_preflight(GString *text, GbeApp *app)
{
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *bytes = NULL;
	JsonArray *problems;
	gsize size = 0;

	if (!gbe_read_in_root(app->root_fd, GBE_PREFLIGHT_FILE, GBE_JSON_MAX_SIZE, &bytes, &size,
			      NULL) ||
	    !gbe_json_parse_object(bytes, size, GBE_PREFLIGHT_FILE, &object, NULL))
		return;
	problems = gbe_json_array(object, "problems");
	for (guint i = 0; problems != NULL && i < json_array_get_length(problems); i++) {
		JsonNode *node = json_array_get_element(problems, i);

		if (json_node_get_value_type(node) == G_TYPE_STRING)
			add_line(text, "next update: %s", json_node_get_string(node));
	}
}

static void
motd_rehearsal(GString *text, GbeApp *app, const GbeObserved *observed)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};
	g_autofree char *trouble = NULL;

	if (!gbe_rehearsal_load(app, observed->deployments, &rehearsal))
		return;
	trouble = gbe_rehearsal_trouble(&rehearsal);
	if (trouble != NULL)
		add_line(text, "%s", trouble);
}

/* The MOTD's text ("" for none); newly allocated. */
static char *
motd_text(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look)
{
	const GbeFacts *facts = observed->facts;
	g_autofree char *periodic = gbe_periodic_trouble(app, look);
	g_autofree char *offsite = gbe_offsite_trouble(app);
	GString *text = g_string_new(NULL);

	motd_held(text, app, facts, &facts->last);
	motd_health(text, facts, look);
	motd_last_operation(text, facts, &facts->last);
	if (facts->store == GBE_NO)
		add_line(text, "the store of backups %s is not there: mount it",
			 facts->store_path != NULL ? facts->store_path : "");
	if (periodic != NULL)
		add_line(text, "%s", periodic);
	if (offsite != NULL)
		add_line(text, "%s", offsite);
	motd_preflight(text, app);
	motd_rehearsal(text, app, observed);
	return g_string_free(text, false);
}

static bool
write_in_root(GbeApp *app, const char *path, const char *text, GError **error)
{
	g_autofree char *dir = g_path_get_dirname(path);
	g_autofree char *name = g_path_get_basename(path);
	gbe_autofd int dir_fd = -1;

	if (!gbe_open_in_root(app->root_fd, dir, O_RDONLY | O_DIRECTORY, &dir_fd, NULL) &&
	    !gbe_make_dirs(app->root_fd, dir, 0755, &dir_fd, error))
		return false;
	if (*text != '\0')
		return gbe_write_file_at(dir_fd, name, text, strlen(text), 0644, GBE_WRITE_LATER,
					 error);
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return gbe_throw_errno(error, errno, "remove %s", path);
	return true;
}

static char *
shown_member(const char *key, const char *text)
{
	return gbe_shown_text(text);
}

/* Users other than root read status.json; no key in it is a secret. */
static bool
write_json(GbeApp *app, JsonObject *whole, GError **error)
{
	g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), whole);
	g_autoptr(JsonNode) shown = gbe_shown_node(node, shown_member);
	g_autofree char *text = gbe_json_print_object(json_node_get_object(shown));

	return write_in_root(app, GBE_STATUS_FILE, text, error);
}

void
gbe_status_write(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look)
{
	g_autoptr(JsonObject) whole = gbe_json_answer();
	g_autoptr(GbeStatus) status = NULL;
	g_autoptr(GPtrArray) list = NULL;
	GbeObserveOptions options = {.tolerant = true};
	g_autofree char *motd = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_observe_again(app, &options, observed, &error)) {
		g_debug("status.json: %s", error->message);
		return;
	}
	motd = motd_text(app, observed, look);
	if (!write_in_root(app, GBE_MOTD_FILE, motd, &error)) {
		g_debug("MOTD: %s", error->message);
		g_clear_error(&error);
	}
	list = gbe_list_collect(observed, false);
	json_object_set_array_member(whole, "list", gbe_list_to_json(list));
	status = gbe_status_collect(app, observed, look);
	json_object_set_object_member(whole, "status", gbe_status_to_json(status));
	if (!write_json(app, whole, &error))
		g_debug("status.json: %s", error->message);
}

void
gbe_status_refresh(GbeApp *app, GbeObserved *observed, const char *operation)
{
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(app, operation, GBE_WAIT_RESULT, &error)) {
		gbe_note("%s", error->message);
		return;
	}
	gbe_status_write(app, observed, NULL);
	gbe_app_unlock(app);
}
