/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/maintenance.h"

#include <unistd.h>

#include "fs/open.h"

#define LOCK_WAIT_MS 1000

bool
gbe_maintenance_lock(GbeApp *app, const char *operation, GbeLock **ret_lock, GError **error)
{
	gbe_autofd int run_fd = -1;
	g_autoptr(GError) local = NULL;

	if (gbe_make_dirs(app->root_fd, GBE_RUN_DIR, 0755, &run_fd, &local) &&
	    gbe_lock_acquire_at(run_fd, GBE_MAINTENANCE_LOCK, operation, LOCK_WAIT_MS, ret_lock,
				&local))
		return true;
	if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY) && geteuid() != 0) {
		*ret_lock = NULL;
		return true;
	}
	return gbe_pass(error, &local);
}
