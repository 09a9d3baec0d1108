/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/schedule.h"

#include <fcntl.h>

#include "sys/child.h"

#define PROGRAM "/usr/bin/systemd-analyze"
#define PATIENCE_USEC (10 * G_USEC_PER_SEC)
#define POLL_USEC 2000

bool
gbe_schedule_check(const GbeApp *app, GError **error)
{
	const char *schedule = app->config->backup.schedule;
	const char *const argv[] = {"systemd-analyze", "calendar", "--", schedule, NULL};
	gint64 deadline = g_get_monotonic_time() + PATIENCE_USEC;
	g_auto(GbeChild) child = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;
	bool running = true;

	if (schedule == NULL || app->below_root)
		return true;
	fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !gbe_child_start(fd, argv, app->root_fd, &child, NULL))
		return true;
	while (running && g_get_monotonic_time() < deadline) {
		g_usleep(POLL_USEC);
		if (!gbe_child_poll(&child, &running, &local))
			return gbe_config_refuse(app->config, "backup", "schedule", local->message,
						 error);
	}
	return true;
}
