/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/schedule.h"

#include <fcntl.h>

#include "sys/child.h"

#define PROGRAM "/usr/bin/systemd-analyze"
#define PATIENCE_USEC (10 * G_USEC_PER_SEC)
#define POLL_USEC 2000

static bool
check(const GbeApp *app, const char *group, const char *key, const char *schedule, GError **error)
{
	const char *const argv[] = {"systemd-analyze", "calendar", "--", schedule, NULL};
	gint64 deadline = g_get_monotonic_time() + PATIENCE_USEC;
	g_auto(GbeChild) child = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	bool running = true;

	if (fd < 0 || !gbe_child_start(fd, argv, app->root_fd, &child, NULL))
		return true;
	while (running && g_get_monotonic_time() < deadline) {
		g_usleep(POLL_USEC);
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
		    !check(app, schedules[i].group, schedules[i].key, schedules[i].schedule, error))
			return false;
	}
	return true;
}
