/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An app below an empty root of its own, for each test of a case: tcase_add_checked_fixture(tcase, app_setup, app_teardown). */
#pragma once

#include <fcntl.h>

#include "app/device/context.h"
#include "fs/tree.h"
#include "lib/unit.h"
#include "sys/systemd/events.h"

static char *root;
static GbeApp *app;

static inline void
app_setup(void)
{
	root = g_dir_make_tmp("gbe-app-XXXXXX", NULL);
	ck_assert_ptr_nonnull(root);
	gbe_events_init("test", true, true, 0);
	ck_assert(gbe_app_new("test", root, &app, NULL));
}

static inline void
app_teardown(void)
{
	g_autofree char *name = g_path_get_basename(root);
	gbe_autofd int tmp_fd = open(g_get_tmp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	gbe_app_free(app);
	ck_assert(gbe_remove_tree_at(tmp_fd, name, NULL));
	g_free(root);
}
