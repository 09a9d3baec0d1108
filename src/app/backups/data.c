/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/data.h"

#include "app/state/ledger.h"
#include "core/decide/past.h"
#include "core/record/manifest.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/write.h"
#include "sys/process.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NONCE_MAX 4096
#define VERSION_FILE_MAX (64 * 1024)
#define STEP_USEC 100000

/* ext4 puts lost+found at the root of a file system; it is not data. A nonce that was being written when the
 * power went is not data either. */
const char *const gbe_data_exclude[] = {GBE_HIDDEN_DIR, "lost+found", GBE_TMP_PREFIX GBE_NONCE_NAME,
					NULL};
const char *const gbe_data_hidden[] = {GBE_HIDDEN_DIR, NULL};

void
gbe_data_free(GbeData *data)
{
	if (data == NULL)
		return;
	g_free(data->path);
	g_free(data->name);
	g_free(data->member_path);
	g_free(data->unsafe);
	g_free(data->wal_dir);
	gbe_close_fd(&data->parent_fd);
	gbe_close_fd(&data->fd);
	gbe_close_fd(&data->wal_fd);
	g_free(data);
}

/* Compares names only: the paths need not exist yet. */
static bool
is_below(const char *path, const char *directory)
{
	return g_str_has_prefix(path, directory) && path[strlen(directory)] == '/';
}

/* Opens what is at the data directory's place. A missing directory is no error. */
static bool
open_data_directory(GbeData *data, GError **error)
{
	g_autofree char *above = g_path_get_dirname(data->path);
	g_autofree char *to = NULL;
	char target[PATH_MAX] = "";
	bool mount_point = false;
	struct stat st;

	if (fstatat(data->parent_fd, data->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || gbe_throw_errno(error, errno, "look at %s", data->path);
	if (S_ISLNK(st.st_mode)) {
		ssize_t size = readlinkat(data->parent_fd, data->name, target, sizeof target - 1);

		to = size > 0 ? g_canonicalize_filename(target, above)
			      : g_strdup("what it points to");
		data->unsafe =
		    g_strdup_printf("the data directory %s is a symlink; set [etcd] data-dir to %s",
				    data->path, to);
		return true;
	}
	if (!S_ISDIR(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is no directory", data->path);
	if (!gbe_open_dir_at(data->parent_fd, data->name, &data->fd, error))
		return gbe_prefix(error, "open the data directory %s", data->path);
	if (!gbe_is_mount_point_at(data->parent_fd, data->name, &mount_point, error))
		return false;
	data->mount_point = mount_point;
	return true;
}

bool
gbe_data_open_any(GbeApp *app, GbeData **ret_data, GError **error)
{
	const char *wal_dir = app->config->etcd.wal_dir;
	g_autoptr(GbeData) data = g_new0(GbeData, 1);
	g_autoptr(GError) local = NULL;

	data->parent_fd = data->fd = data->wal_fd = -1;
	if (!app->configured)
		return gbe_throw(error, GBE_ERROR_FAILED, "no configuration was chosen yet");
	if (!gbe_path_normalize(app->config->etcd.data_dir, "[etcd] data-dir", &data->path, error))
		return false;
	if (!gbe_check_parents(app->root_fd, data->path, &local) &&
	    !gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
		return false;
	g_clear_error(&local);
	if (!gbe_open_parent_in_root(app->root_fd, data->path, &data->parent_fd, &data->name,
				     &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
		*ret_data = g_steal_pointer(&data);
		return true;
	}
	if (!open_data_directory(data, error))
		return false;
	if (data->fd >= 0 &&
	    !gbe_member_locate(data->fd, app->config->etcd.member_dir, &data->member_path,
			       &local) &&
	    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_UNSAFE_SOURCE))
			return gbe_prefix(error, "%s", data->path);
		data->member_path = g_strdup("");
		data->unsafe = g_strdup(local->message);
	}
	g_clear_error(&local);
	if (wal_dir != NULL && *wal_dir != '\0') {
		data->wal_dir = g_strdup(wal_dir);
		if (!gbe_open_in_root(app->root_fd, wal_dir, O_RDONLY | O_DIRECTORY, &data->wal_fd,
				      &local) &&
		    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			/* A WAL inside the data has the owner of the data. */
			if (!is_below(wal_dir, data->path) ||
			    gbe_is_in_root(app->root_fd, wal_dir) != GBE_YES)
				return gbe_pass(error, &local);
			if (data->unsafe == NULL)
				data->unsafe = g_strdup(local->message);
		}
	}
	*ret_data = g_steal_pointer(&data);
	return true;
}

bool
gbe_data_open(GbeApp *app, GbeData **ret_data, GError **error)
{
	g_autoptr(GbeData) data = NULL;

	if (!gbe_data_open_any(app, &data, error))
		return false;
	if (data->fd < 0 && data->unsafe != NULL)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s", data->unsafe);
	*ret_data = g_steal_pointer(&data);
	return true;
}

const char *
gbe_data_wal_below(const GbeApp *app, const char *data_dir)
{
	const char *wal_dir = app->config->etcd.wal_dir;

	return wal_dir != NULL && data_dir != NULL && is_below(wal_dir, data_dir)
		   ? wal_dir + strlen(data_dir) + 1
		   : NULL;
}

int
gbe_data_open_wal_of_copy(const GbeApp *app, const char *data_dir, int copy_fd)
{
	const char *below = gbe_data_wal_below(app, data_dir);
	g_autoptr(GError) error = NULL;
	int fd = -1;

	if (below == NULL)
		return -1;
	if (!gbe_open_in_root(copy_fd, below, O_RDONLY | O_DIRECTORY, &fd, &error))
		g_debug("%s", error->message);
	return fd;
}

bool
gbe_data_check_whole(const GbeData *data, GError **error)
{
	const char *member_path = data->member_path != NULL ? data->member_path : "";
	g_autoptr(GError) local = NULL;
	bool inside = true;

	if (data->wal_dir != NULL && data->wal_fd < 0 && !is_below(data->wal_dir, data->path))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "etcd's WAL ([etcd] wal-dir=%s) is not there; mount it, or "
				 "correct the key",
				 data->wal_dir);
	if (data->wal_fd >= 0 && data->fd < 0)
		inside = is_below(data->wal_dir, data->path);
	else if (data->fd >= 0 &&
		 !gbe_layout_wal_inside(data->fd, member_path, data->wal_fd, &inside, &local) &&
		 !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		g_propagate_error(error, g_steal_pointer(&local));
		return gbe_prefix(error, "%s", data->path);
	}
	if (!inside)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "etcd's WAL (%s) lies outside of %s and would be no part of the "
				 "backup; set [etcd] data-dir to a directory that holds both",
				 data->wal_dir != NULL ? data->wal_dir : "member/wal", data->path);
	return true;
}

/* Only root's nonce counts: the owner of the directory could write one. */
static void
read_nonce(int dir_fd, GbeNonce *nonce)
{
	gbe_autofd int fd = openat(dir_fd, GBE_NONCE_NAME,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char bytes[NONCE_MAX];
	struct stat st;
	ssize_t size;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return;
	size = read(fd, bytes, sizeof bytes);
	if (size > 0 && (size_t)size < sizeof bytes)
		gbe_nonce_parse(bytes, (gsize)size, nonce);
}

bool
gbe_data_write_nonce_at(GbeApp *app, int dir_fd, const GbeTakeOver *take_over, GError **error)
{
	const GbeLedger *ledger;
	g_autofree char *text = NULL;

	if (!gbe_ledger_load(app, &ledger, error))
		return false;
	text = gbe_nonce_print(ledger->id, take_over);
	return gbe_write_file_at(dir_fd, GBE_NONCE_NAME, text, strlen(text), 0600, GBE_WRITE_LATER,
				 error);
}

bool
gbe_data_remove_nonce(GbeData *data, GError **error)
{
	return data->fd < 0 || gbe_unlink_durable_at(data->fd, GBE_NONCE_NAME, error) ||
	       gbe_prefix(error, "%s", data->path);
}

void
gbe_data_observe_presence(const GbeData *data, GbeFacts *facts)
{
	g_autoptr(GError) error = NULL;
	bool has = false;

	if (data->fd < 0 && data->unsafe != NULL) {
		gbe_facts_set_deformed(facts, data->unsafe);
		facts->linked = true;
		return;
	}
	if (data->fd < 0 || data->member_path == NULL) {
		facts->data = facts->log = GBE_NO;
		return;
	}
	/* Files in member/wal are old if the configured WAL's directory is gone. */
	if (data->wal_dir != NULL && data->wal_fd < 0)
		facts->log = GBE_NO;
	else if (gbe_member_has_log(data->fd, data->member_path, data->wal_fd, &has, NULL))
		facts->log = gbe_tri(has);
	else
		facts->log = GBE_UNKNOWN;
	if (data->unsafe != NULL) {
		gbe_facts_set_deformed(facts, data->unsafe);
	} else if (gbe_member_has_data(data->fd, data->member_path, &has, &error)) {
		facts->data = gbe_tri(has);
	} else if (g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE)) {
		gbe_facts_set_deformed(facts, error->message);
	} else {
		facts->data_why = g_strdup(error->message);
	}
}

void
gbe_data_observe_identity(const GbeData *data, GbeFacts *facts)
{
	if (data->fd < 0)
		return;
	facts->tree = gbe_tree_identity(data->fd);
	read_nonce(data->fd, &facts->nonce);
}

void
gbe_data_observe(GbeApp *app, GbeData *data, GbeFacts *facts, int *ret_lock_fd)
{
	const char *version_file = app->config->etcd.version_file;
	g_autofree char *bytes = NULL;
	g_autoptr(GError) error = NULL;
	gsize size = 0;

	facts->data_dir = g_strdup(data->path);
	facts->mount_point = gbe_tri(data->mount_point);
	facts->data_open = GBE_NO;
	gbe_data_observe_presence(data, facts);
	if (data->fd < 0)
		return;

	gbe_data_observe_identity(data, facts);
	if (version_file != NULL && *version_file != '\0' &&
	    gbe_read_file_at(data->fd, version_file, VERSION_FILE_MAX, &bytes, &size, NULL))
		facts->data_version = gbe_version_from_file(bytes, size);
	if (facts->data != GBE_YES)
		return;

	facts->data_open =
	    gbe_in_use(data->fd, data->member_path, data->wal_fd, ret_lock_fd, &error);
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE))
		gbe_facts_set_deformed(facts, error->message);
	else if (facts->data_open == GBE_UNKNOWN && error != NULL)
		facts->data_open_why = g_strdup(error->message);
	else if (facts->data_open == GBE_YES && ret_lock_fd != NULL)
		facts->data_open_why = gbe_data_holder(data);
	g_clear_error(&error);
	if (!gbe_member_last_write(data->fd, data->member_path, &facts->last_write, NULL))
		facts->last_write = -1;
	/* A data directory that is open changes while it is read. */
	if (facts->data_open == GBE_NO &&
	    !gbe_member_fingerprint(data->fd, data->member_path, data->wal_fd, &facts->fingerprint,
				    &error)) {
		facts->fingerprint.present = false;
		facts->data_open_why = g_strdup(error->message);
	}
}

/* ---- the process that has the data open ---- */

/* etcd may be stopping while this program waits, in a scope of its own, and any process that may read the database may
 * lock it. */
pid_t
gbe_data_holder_pid(const GbeData *data)
{
	g_autofree char *name = NULL;
	gbe_autofd int db_fd = -1;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int fd = -1;
	pid_t pid = 0;

	if (gbe_layout_open_db(data->fd, data->member_path, &db_fd, NULL))
		pid = gbe_process_with_lock(db_fd);
	if (pid != 0 ||
	    !gbe_layout_open_wal(data->fd, data->member_path, data->wal_fd, &dir_fd, NULL) ||
	    !gbe_layout_newest_wal(dir_fd, &name, NULL) || name == NULL)
		return pid;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 ? gbe_process_with_lock(fd) : 0;
}

char *
gbe_data_holder(const GbeData *data)
{
	return gbe_process_describe(gbe_data_holder_pid(data));
}

char *
gbe_data_holder_unit(const GbeData *data)
{
	return gbe_process_unit(gbe_data_holder_pid(data));
}

bool
gbe_data_wait_closed(GbeApp *app, const GbeData *data, guint seconds, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
	g_autofree char *holder = NULL;

	if (data->fd < 0 || data->member_path == NULL)
		return true;
	if (data->unsafe != NULL)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "cannot determine whether %s is open: %s", data->path,
				 data->unsafe);
	for (;;) {
		gbe_autofd int lock_fd = -1;
		/* Asks for an exclusive lock, as every program that works on the data does. */
		GbeTri open =
		    gbe_in_use(data->fd, data->member_path, data->wal_fd, &lock_fd, error);

		if (open == GBE_UNKNOWN)
			return gbe_prefix(error, "cannot determine whether %s is open", data->path);
		if (open == GBE_NO)
			return true;
		if (g_get_monotonic_time() >= deadline)
			break;
		gbe_close_fd(&lock_fd);
		if (holder == NULL) {
			holder = gbe_data_holder(data);
			gbe_complain("%s has %s open: waiting up to %u s", holder, data->path,
				     seconds);
		}
		(void)gbe_app_progress(0, app);
		g_usleep(STEP_USEC);
	}
	g_free(holder);
	holder = gbe_data_holder(data);
	return gbe_throw(error, GBE_ERROR_BUSY, "%s still has %s open after %u s", holder,
			 data->path, seconds);
}
