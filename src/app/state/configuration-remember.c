/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembering the configuration, and asking systemd about its schedules, have an object file of their own: a program
 * that only reads the configuration does not link what they need. */
#include "app/state/configuration.h"

#include "app/state/state.h"
#include "core/json/parse.h"
#include "sys/child.h"

#include <fcntl.h>

/* Limit for all files together: a record of the state holds this much after escaping. */
#define REMEMBERED_MAX (256 * 1024)
#define ANALYZE "/usr/bin/systemd-analyze"
#define ANALYZE_USEC (10 * G_USEC_PER_SEC)
#define ANALYZE_POLL_USEC 2000

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

static bool
check_calendar(const GbeApp *app, const char *group, const char *key, const char *schedule,
	       GError **error)
{
	const char *const argv[] = {"systemd-analyze", "calendar", "--", schedule, NULL};
	gint64 deadline = g_get_monotonic_time() + ANALYZE_USEC;
	g_auto(GbeChild) child = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = open(ANALYZE, O_RDONLY | O_CLOEXEC);
	bool running = true;

	if (fd < 0 || !gbe_child_start(fd, argv, app->root_fd, &child, NULL))
		return true;
	while (running && g_get_monotonic_time() < deadline) {
		g_usleep(ANALYZE_POLL_USEC);
		if (!gbe_child_poll(&child, &running, &local))
			return gbe_config_refuse(app->config, group, key, local->message, error);
	}
	return true;
}

bool
gbe_schedule_check(const GbeApp *app, GError **error)
{
	const struct {
		const char *group, *key, *schedule;
	} schedules[] = {{"backup", "schedule", app->config->backup.schedule},
			 {"store", "schedule", app->config->store.schedule},
			 {"store", "prove", app->config->store.prove}};

	for (gsize i = 0; !app->below_root && i < G_N_ELEMENTS(schedules); i++) {
		g_autofree char *origin =
		    g_strconcat(schedules[i].group, ".", schedules[i].key, NULL);

		/* A default is right. */
		if (schedules[i].schedule != NULL &&
		    g_hash_table_contains(app->config->origins, origin) &&
		    !check_calendar(app, schedules[i].group, schedules[i].key,
				    schedules[i].schedule, error))
			return false;
	}
	return true;
}
