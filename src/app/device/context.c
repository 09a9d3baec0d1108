/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/context.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/lists.h"
#include "core/record/keyed.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/reserve.h"
#include "sys/deployment/booted.h"

bool
gbe_app_new(const char *program, const char *root, GbeApp **ret_app, GError **error)
{
	g_autoptr(GbeApp) app = g_new0(GbeApp, 1);
	g_autoptr(GError) local = NULL;

	app->root_fd = -1;
	app->state_fd = -1;
	app->program = g_strdup(program);
	app->root_path = g_strdup(root != NULL ? root : "/");
	app->below_root = !g_str_equal(app->root_path, "/");
	/* app->config is never NULL: the defaults are a configuration. */
	app->config = gbe_config_new();
	if (!gbe_open_root(app->root_path, &app->root_fd, error)) {
		(void)gbe_prefix(error, "--root");
		return gbe_rethrow(error, GBE_ERROR_USAGE);
	}
	/* Refuses a --root that another user could exchange, itself or a directory above it: the program would then
	 * work elsewhere. */
	if (app->below_root) {
		g_autofree char *absolute = g_canonicalize_filename(app->root_path, NULL);
		g_autofree char *below = g_build_filename(absolute, "etc", NULL);
		gbe_autofd int fd = -1;

		if (!gbe_open_root("/", &fd, error) || !gbe_check_parents(fd, below, error))
			return gbe_prefix(error, "--root");
	}
	/* An image below --root was never booted and has no command line; that is no error. */
	if (!gbe_cmdline_read(app->root_fd, &app->cmdline, &local) &&
	    !(app->below_root && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)))
		return gbe_pass(error, &local);
	*ret_app = g_steal_pointer(&app);
	return true;
}

static void
forget_ledger(GbeApp *app)
{
	if (app->ledger != NULL)
		app->ledger_free(g_steal_pointer(&app->ledger));
}

void
gbe_app_free(GbeApp *app)
{
	if (app == NULL)
		return;
	gbe_app_unlock(app);
	forget_ledger(app);
	gbe_close_fd(&app->state_fd);
	gbe_close_fd(&app->root_fd);
	gbe_cmdline_clear(&app->cmdline);
	gbe_config_free(app->config);
	gbe_keys_free(app->keys);
	g_free(app->config_file);
	g_free(app->root_path);
	g_free(app->program);
	g_free(app);
}

bool
gbe_app_open_state(GbeApp *app, bool make, GError **error)
{
	bool ok;

	if (app->state_fd >= 0)
		return true;
	if (make)
		ok = gbe_make_dirs(app->root_fd, GBE_STATE_DIR, 0700, &app->state_fd, error);
	else
		ok = gbe_open_in_root(app->root_fd, GBE_STATE_DIR, O_RDONLY | O_DIRECTORY,
				      &app->state_fd, error);
	return ok || gbe_prefix(error, "the state directory");
}

bool
gbe_app_open_pki(GbeApp *app, bool make, int *ret_fd, GError **error)
{
	static const char *const names[] = {"greenboot-etcd-pki", NULL};
	gbe_autofd int parent_fd = -1;
	int fd;

	if (!(make ? gbe_make_dirs(app->root_fd, "/var/lib", 0755, &parent_fd, error)
		   : gbe_open_in_root(app->root_fd, "/var/lib", O_RDONLY | O_DIRECTORY, &parent_fd,
				      error)) ||
	    !gbe_own_dir_open_at(parent_fd, names, make, &fd, error))
		return false;
	/* The certificates are for everybody to read; the keys have modes of their own. */
	if (make && fchmod(fd, 0755) < 0) {
		(void)gbe_throw_errno(error, errno, "set the mode of " GBE_PKI_DIR);
		gbe_close_fd(&fd);
		return false;
	}
	*ret_fd = fd;
	return true;
}

bool
gbe_app_lock(GbeApp *app, const char *operation, GbeLockWait wait, GError **error)
{
	if (app->lock != NULL)
		return true;
	if (!gbe_app_open_state(app, true, error))
		return false;
	if (!gbe_lock_acquire_at(app->state_fd, GBE_LOCK_NAME, operation, wait, &app->lock, error))
		return false;
	forget_ledger(app);
	gbe_reserve_release_at(app->state_fd, GBE_RESERVE_NAME);
	return true;
}

void
gbe_app_unlock(GbeApp *app)
{
	if (app->lock != NULL)
		gbe_reserve_keep_at(app->state_fd, GBE_RESERVE_NAME);
	/* From here on other processes may append. */
	forget_ledger(app);
	gbe_lock_release(g_steal_pointer(&app->lock));
}

bool
gbe_maintenance_lock(GbeApp *app, const char *operation, GbeLock **ret_lock, GError **error)
{
	gbe_autofd int run_fd = -1;
	g_autoptr(GError) local = NULL;

	if (gbe_make_dirs(app->root_fd, GBE_RUN_DIR, 0755, &run_fd, &local) &&
	    gbe_lock_acquire_at(run_fd, GBE_MAINTENANCE_LOCK, operation, GBE_WAIT_MAINTENANCE,
				ret_lock, &local))
		return true;
	if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY) && geteuid() != 0) {
		*ret_lock = NULL;
		return true;
	}
	return gbe_pass(error, &local);
}

bool
gbe_app_progress(guint64 bytes, gpointer data)
{
	GbeApp *app = data;

	if (app->progress != NULL)
		app->progress(bytes, app->progress_data);
	return true;
}

bool
gbe_booted_from_cmdline(GbeApp *app, GbeDeployment *ret_booted, GError **error)
{
	const char *sysroot =
	    gbe_is_in_root(app->root_fd, "/sysroot/ostree") == GBE_YES ? "/sysroot" : "/";
	g_auto(GbeDeployDir) dir = {NULL};
	g_autofree char *path = NULL;
	gbe_autofd int sysroot_fd = -1;
	gbe_autofd int deployment_fd = -1;

	if (app->cmdline.ostree == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "there is no ostree= on the kernel command line");
	if (!gbe_open_in_root(app->root_fd, sysroot, O_RDONLY | O_DIRECTORY, &sysroot_fd, error) ||
	    !gbe_booted_resolve(sysroot_fd, app->cmdline.ostree, &dir, error))
		return false;
	path = gbe_deploy_dir_path(&dir);
	if (!gbe_open_in_root(sysroot_fd, path, O_RDONLY | O_DIRECTORY, &deployment_fd, error))
		return false;
	ret_booted->id = gbe_deployment_id_format(dir.stateroot, dir.checksum, dir.serial);
	ret_booted->handle = gbe_tree_identity(deployment_fd);
	return true;
}
