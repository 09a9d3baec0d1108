/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/data.h"

#include "app/backups/quiet.h"
#include "app/state/ledger.h"
#include "core/decide/past.h"
#include "core/record/manifest.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NONCE_MAX 4096

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

static char *
say_link(const GbeData *data)
{
	g_autofree char *above = g_path_get_dirname(data->path);
	g_autofree char *to = NULL;
	char target[PATH_MAX] = "";
	ssize_t size = readlinkat(data->parent_fd, data->name, target, sizeof target - 1);

	to = size > 0 ? g_canonicalize_filename(target, above) : g_strdup("what it points to");
	return g_strdup_printf("the data directory %s is a symlink; set [etcd] data-dir to %s",
			       data->path, to);
}

static bool
open_directory(GbeData *data, GError **error)
{
	struct stat st;

	if (fstatat(data->parent_fd, data->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return true;
		return gbe_throw_errno(error, errno, "look at %s", data->path);
	}
	if (S_ISLNK(st.st_mode))
		data->unsafe = say_link(data);
	else if (!S_ISDIR(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is no directory", data->path);
	else if (!gbe_open_dir_at(data->parent_fd, data->name, &data->fd, error))
		return gbe_prefix(error, "open the data directory %s", data->path);
	return true;
}

static bool
locate_member(GbeApp *app, GbeData *data, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (data->fd < 0)
		return true;
	if (gbe_member_locate(data->fd, app->config->etcd.member_dir, &data->member_path, &local))
		return true;
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	if (!gbe_pass_unless(error, &local, GBE_ERROR_UNSAFE_SOURCE))
		return gbe_prefix(error, "%s", data->path);
	data->member_path = g_strdup("");
	data->unsafe = g_strdup(local->message);
	return true;
}

/* Compares names only: neither path has to exist yet. */
static bool
is_below(const char *path, const char *directory)
{
	return g_str_has_prefix(path, directory) && path[strlen(directory)] == '/';
}

static bool
wal_dir_is_below(const GbeData *data)
{
	return is_below(data->wal_dir, data->path);
}

/* A WAL inside the data belongs to whoever owns the data. */
static bool
open_wal_dir(GbeApp *app, GbeData *data, GError **error)
{
	g_autoptr(GError) local = NULL;

	data->wal_dir = g_strdup(app->config->etcd.wal_dir);
	if (gbe_open_in_root(app->root_fd, data->wal_dir, O_RDONLY | O_DIRECTORY, &data->wal_fd,
			     &local) ||
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	if (!wal_dir_is_below(data) || gbe_is_in_root(app->root_fd, data->wal_dir) != GBE_YES)
		return gbe_pass(error, &local);
	if (data->unsafe == NULL)
		data->unsafe = g_strdup(local->message);
	return true;
}

bool
gbe_data_open_any(GbeApp *app, GbeData **ret_data, GError **error)
{
	g_autoptr(GbeData) data = g_new0(GbeData, 1);
	g_autoptr(GError) local = NULL;
	bool mount_point = false;

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
	if (!open_directory(data, error))
		return false;
	if (data->fd >= 0 &&
	    !gbe_is_mount_point_at(data->parent_fd, data->name, &mount_point, error))
		return false;
	data->mount_point = mount_point;
	if (!locate_member(app, data, error))
		return false;
	if (app->config->etcd.wal_dir != NULL && *app->config->etcd.wal_dir != '\0' &&
	    !open_wal_dir(app, data, error))
		return false;
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

	if (data->wal_dir != NULL && data->wal_fd < 0 && !wal_dir_is_below(data))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "etcd's WAL ([etcd] wal-dir=%s) is not there; mount it, or "
				 "correct the key",
				 data->wal_dir);
	if (data->wal_fd >= 0 && data->fd < 0)
		inside = wal_dir_is_below(data);
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

/* NO, too, where the configured WAL's directory is gone: what is left in member/wal is old. */
static GbeTri
has_log(const GbeData *data)
{
	bool has = false;

	if (data->wal_dir != NULL && data->wal_fd < 0)
		return GBE_NO;
	return gbe_member_has_log(data->fd, data->member_path, data->wal_fd, &has, NULL)
		   ? gbe_tri(has)
		   : GBE_UNKNOWN;
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
	facts->log = has_log(data);
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

static void
observe_version_file(GbeApp *app, GbeData *data, GbeFacts *facts)
{
	const char *name = app->config->etcd.version_file;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (data->fd < 0 || name == NULL || *name == '\0')
		return;
	if (gbe_read_file_at(data->fd, name, 64 * 1024, &bytes, &size, NULL))
		facts->data_version = gbe_version_from_file(bytes, size);
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
	g_autoptr(GError) error = NULL;

	facts->data_dir = g_strdup(data->path);
	facts->mount_point = gbe_tri(data->mount_point);
	facts->data_open = GBE_NO;
	gbe_data_observe_presence(data, facts);
	if (data->fd < 0)
		return;

	gbe_data_observe_identity(data, facts);
	observe_version_file(app, data, facts);
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
