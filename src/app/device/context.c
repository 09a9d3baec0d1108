/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/context.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/lists.h"
#include "core/json/parse.h"
#include "core/record/keyed.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/reserve.h"

/* The seal adds this to the largest JSON that is read. */
#define SEAL_ROOM 128

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
gbe_state_peek(GbeApp *app, const char *name, JsonObject **ret_object, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *bytes = NULL;
	JsonObject *object = NULL;
	gsize size;

	if (gbe_app_open_state(app, false, &local) &&
	    gbe_read_file_at(app->state_fd, name, GBE_JSON_MAX_SIZE + SEAL_ROOM, &bytes, &size,
			     &local))
		(void)!gbe_record_open(bytes, size, name, &object, &local);
	if (local != NULL && !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		bool corrupt = g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT);

		g_propagate_error(error, g_steal_pointer(&local));
		return corrupt ? false : gbe_prefix(error, GBE_STATE_DIR);
	}
	*ret_object = object;
	return true;
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
gbe_key_file_open(const GbeApp *app, const char *path, bool secret, int *ret_fd, GError **error)
{
	/* The mode bits that give users other than root access. */
	mode_t others = secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_check_parents(app->root_fd, path, error) ||
	    !gbe_open_in_root(app->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at it");
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "it is not a regular file");
	if (st.st_uid != geteuid() || (st.st_mode & others) != 0)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "it is not root's alone (owner %u, mode %04o): chown it to root, "
				 "chmod %04o",
				 (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777),
				 0644 & ~(unsigned)others);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_key_file_read(const GbeApp *app, const char *path, const char *credential,
		  char bytes[GBE_KEY_FILE_MAX], gsize *ret_size, GError **error)
{
	const char *credentials = g_getenv("CREDENTIALS_DIRECTORY");
	gbe_autofd int fd = -1;
	ssize_t size;

	if (path != NULL) {
		if (!gbe_key_file_open(app, path, true, &fd, error))
			return false;
	} else if (credentials != NULL) {
		g_autofree char *name = g_build_filename(credentials, credential, NULL);

		fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no systemd credential %s",
				 credential);
	/* The secret is in this process's memory, and in no core that it leaves. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	size = pread(fd, bytes, GBE_KEY_FILE_MAX, 0);
	if (size < 0)
		return gbe_throw_errno(error, errno, "cannot read it");
	if (size == GBE_KEY_FILE_MAX) {
		explicit_bzero(bytes, GBE_KEY_FILE_MAX);
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is too long");
	}
	*ret_size = (gsize)size;
	return true;
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

GbeUnitFile
gbe_prerun_unit(const GbeApp *app)
{
	const GPtrArray *masked = app->cmdline.masked;

	/* systemd makes the links for the command line's words while the generators run. */
	for (guint i = 0; masked != NULL && i < masked->len; i++)
		if (g_str_equal(masked->pdata[i], GBE_PRERUN_UNIT) ||
		    g_str_equal(masked->pdata[i], "greenboot-etcd-prerun"))
			return GBE_UNIT_MASKED;
	return gbe_unit_file(app->root_fd, GBE_PRERUN_UNIT);
}
