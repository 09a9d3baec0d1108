/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands alone: the initramfs links prerun.c, but not the supervisor, which needs libsystemd. */
#include "app/boot/prerun.h"
#include "app/boot/supervise.h"
#include "base/fault.h"

#define IDLE_SECONDS 60

/* @data: the configuration file, or NULL. */
static int
work(GbeApp *app, gpointer data)
{
	g_autoptr(GError) error = NULL;

	g_free(app->config_file);
	app->config_file = g_strdup(data);
	if (GBE_FAULT("prerun-started", &error))
		return 1;
	return gbe_prerun_run(app);
}

int
gbe_prerun_start(const char *root, const char *config_file)
{
	return gbe_supervise_prerun(root, work, (gpointer)config_file, IDLE_SECONDS);
}
