/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes status.json and the MOTD. */
#include "app/report/status.h"
#include "app/state/state.h"
#include "core/json/parse.h"
#include "core/shown.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How long gbe_status_refresh() waits for the lock. */
#define REFRESH_WAIT_MS 30000

static void
add_line(GString *motd, const char *before, const char *text)
{
	g_autofree char *line = gbe_shown_line(text);

	g_string_append_printf(motd, "greenboot-etcd: %s%s\n", before, line);
}

/* The problems that the last preflight stored. */
static void
add_preflight(GString *motd, const GbeApp *app)
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
			add_line(motd, "next update: ", json_node_get_string(node));
	}
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
	g_autoptr(GString) motd = g_string_new(NULL);
	g_autoptr(GPtrArray) lines = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_observe_again(app, &options, observed, &error)) {
		g_debug("status.json: %s", error->message);
		return;
	}
	list = gbe_list_collect(observed, false);
	json_object_set_array_member(whole, "list", gbe_list_to_json(list));
	status = gbe_status_collect(app, observed, look, &lines);
	json_object_set_object_member(whole, "status", gbe_status_to_json(status));
	g_ptr_array_set_free_func(lines, g_free);
	for (guint i = 0; i < lines->len; i++)
		add_line(motd, "", lines->pdata[i]);
	add_preflight(motd, app);
	if (!write_in_root(app, GBE_MOTD_FILE, motd->str, &error)) {
		g_debug("MOTD: %s", error->message);
		g_clear_error(&error);
	}
	if (!write_json(app, whole, &error))
		g_debug("status.json: %s", error->message);
}

void
gbe_status_refresh(GbeApp *app, GbeObserved *observed, const char *operation)
{
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(app, operation, REFRESH_WAIT_MS, &error)) {
		gbe_note("%s", error->message);
		return;
	}
	gbe_status_write(app, observed, NULL);
	gbe_app_unlock(app);
}
