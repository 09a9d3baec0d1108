/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/sync.h"
#include "fs/tree.h"

#define BROKEN_MAX 9

bool
gbe_write_all(int fd, const void *bytes, gsize size, const char *what, GError **error)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t wrote = write(fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot write %s", what);
		at += wrote;
		size -= (gsize)wrote;
	}
	return true;
}

/* Removes what a new file inherited from its directory (setgid, a default ACL). Without CAP_CHOWN a unit keeps the
 * directory's group, which gets no more rights than others. */
static bool
set_owner_and_mode(int fd, const char *name, mode_t mode, GError **error)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
				   fchown(fd, geteuid(), getegid()) < 0 && errno != EPERM))
		return gbe_throw_errno(error, errno, "cannot set the owner of %s", name);
	if (fremovexattr(fd, "system.posix_acl_access") < 0 && errno != ENODATA &&
	    errno != EOPNOTSUPP)
		return gbe_throw_errno(error, errno, "cannot remove the ACL of %s", name);
	if (fchmod(fd, mode) < 0)
		return gbe_throw_errno(error, errno, "cannot set the mode of %s", name);
	return true;
}

static int
create_tmp(int dir_fd, const char *tmp, GError **error)
{
	int fd;

	if (unlinkat(dir_fd, tmp, 0) < 0 && errno != ENOENT) {
		/* The owner of the place made a directory of that name. */
		if (!gbe_remove_tree_at(dir_fd, tmp, error))
			return -1;
	}
	fd = openat(dir_fd, tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
		    0600);
	if (fd < 0)
		gbe_throw_errno(error, errno, "cannot create %s", tmp);
	return fd;
}

static bool
write_tmp(int dir_fd, const char *tmp, const char *name, const void *bytes, gsize size, mode_t mode,
	  GbeWrite how, GError **error)
{
	gbe_autofd int fd = create_tmp(dir_fd, tmp, error);

	if (fd < 0 || GBE_FAULT("write-created", error))
		return false;
	if (!set_owner_and_mode(fd, name, mode, error) ||
	    !gbe_write_all(fd, bytes, size, name, error) || GBE_FAULT("write-written", error))
		return false;
	if (how == GBE_WRITE_LATER ? !gbe_sync_settle(fd, dir_fd, name, error)
				   : !gbe_sync_file(fd, name, error))
		return false;
	return !GBE_FAULT("write-file-synced", error);
}

/* A directory of that name is not ours: the nonce lies where an unprivileged user can make anything, and that must
 * not block the nonce. The file gets its name before that directory is emptied. */
static bool
put_in_place(int dir_fd, const char *tmp, const char *name, GError **error)
{
	if (renameat(dir_fd, tmp, dir_fd, name) == 0)
		return true;
	if (errno != EISDIR)
		return gbe_throw_errno(error, errno, "cannot move %s into place", name);
	if (!gbe_exchange_at(dir_fd, tmp, dir_fd, name, error) ||
	    !gbe_remove_tree_at(dir_fd, tmp, error))
		return gbe_prefix(error, "cannot move %s into place", name);
	return true;
}

bool
gbe_write_file_at(int dir_fd, const char *name, const void *bytes, gsize size, mode_t mode,
		  GbeWrite how, GError **error)
{
	g_autofree char *tmp = g_strconcat(GBE_TMP_PREFIX, name, NULL);

	if (!write_tmp(dir_fd, tmp, name, bytes, size, mode, how, error) ||
	    !put_in_place(dir_fd, tmp, name, error)) {
		(void)unlinkat(dir_fd, tmp, 0);
		return false;
	}
	if (GBE_FAULT("write-renamed", error))
		return false;
	if (how == GBE_WRITE_DURABLE && !gbe_sync_dir(dir_fd, name, error))
		return false;
	return !GBE_FAULT("write-dir-synced", error);
}

bool
gbe_write_bytes(int fd, gpointer data, GError **error)
{
	gsize size = 0;
	const void *bytes = g_bytes_get_data(data, &size);

	return gbe_write_all(fd, bytes, size, "the file", error);
}

/* Fills the new file and gives it its name. @tmp: its temporary name; NULL: it has none. */
static bool
fill_new(int dir_fd, int fd, const char *tmp, const char *name, GbeWriteFill fill, gpointer data,
	 GError **error)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);

	if (GBE_FAULT("write-created", error) || !set_owner_and_mode(fd, name, 0600, error))
		return false;
	if (!fill(fd, data, error) || GBE_FAULT("write-written", error))
		return false;
	if (!gbe_sync_file(fd, name, error))
		return false;
	if (tmp != NULL)
		return gbe_rename_new_at(dir_fd, tmp, dir_fd, name, error);
	return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) == 0 ||
	       gbe_throw_errno(error, errno, "cannot give %s its name", name);
}

bool
gbe_write_new_at(int dir_fd, const char *name, GbeWriteFill fill, gpointer data, GError **error)
{
	gbe_autofd int fd = openat(dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	g_autofree char *tmp = NULL;

	if (fd < 0) {
		tmp = g_strconcat(GBE_TMP_PREFIX, name, NULL);
		fd = create_tmp(dir_fd, tmp, error);
	}
	if (fd >= 0 && fill_new(dir_fd, fd, tmp, name, fill, data, error))
		return !GBE_FAULT("write-named", error);
	if (tmp != NULL)
		(void)unlinkat(dir_fd, tmp, 0);
	return false;
}

bool
gbe_sweep_writes_at(int dir_fd, const char *what, GError **error)
{
	g_auto(GbeList) list = gbe_list_open_at(dir_fd, what);
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL)
		if (g_str_has_prefix(name, GBE_TMP_PREFIX) &&
		    !gbe_remove_tree_at(dir_fd, name, error))
			return false;
	return gbe_list_end(&list, error);
}

bool
gbe_unlink_durable_at(int dir_fd, const char *name, GError **error)
{
	if (unlinkat(dir_fd, name, 0) < 0) {
		if (errno == ENOENT)
			return true;
		return gbe_throw_errno(error, errno, "cannot remove %s", name);
	}
	if (GBE_FAULT("write-unlinked", error))
		return false;
	return gbe_sync_dir(dir_fd, name, error);
}

bool
gbe_set_broken_aside_at(int dir_fd, const char *name, char **ret_kept, GError **error)
{
	g_autofree char *kept = NULL;
	struct stat st;

	/* The first free name. When all are taken, the newest is replaced, because the oldest tell most about where
	 * the damage came from. */
	for (guint n = 1; n <= BROKEN_MAX; n++) {
		g_free(kept);
		kept = g_strdup_printf("%s.broken-%u", name, n);
		if (fstatat(dir_fd, kept, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
			break;
	}
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot set %s aside", name);
	if (!gbe_remove_tree_at(dir_fd, kept, error))
		return false;
	if (!gbe_rename_new_at(dir_fd, name, dir_fd, kept, error))
		return gbe_prefix(error, "cannot set %s aside", name);
	if (GBE_FAULT("write-set-aside", error) || !gbe_sync_dir(dir_fd, kept, error))
		return false;
	if (ret_kept != NULL)
		*ret_kept = g_steal_pointer(&kept);
	return true;
}
