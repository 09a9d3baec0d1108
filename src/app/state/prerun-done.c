/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/prerun-done.h"

#include "core/json/parse.h"
#include "core/shown.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <string.h>

#define DONE_MAX (64 * 1024)

void
gbe_prerun_done_write(GbeApp *app, bool held, const char *reason)
{
	g_autoptr(JsonObject) done = json_object_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *json = NULL, *text = NULL;
	gbe_autofd int run_fd = -1;

	json_object_set_int_member(done, "ended", g_get_real_time() / G_USEC_PER_SEC);
	json_object_set_int_member(done, "monotonic_usec", g_get_monotonic_time());
	json_object_set_boolean_member(done, "held", held);
	gbe_json_set_string(done, "reason", reason);
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
