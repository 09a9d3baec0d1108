/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tree may be as deep as its owner could make it, so that neither the stack nor a descriptor per
 * level is spent on it: one directory is open at a time, and the way up is "..", believed only where
 * it leads to the very directory that we came from.
 */
#include "fs/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/subvolume.h"

/* How often a directory that we emptied may have new entries before we give up. */
#define MAX_AGAIN 16

typedef struct {
	char *name; /* in the directory above */
	dev_t dev;  /* of the directory above */
	ino_t ino;
} Level;

typedef struct {
	int fd;		/* the directory that is being emptied */
	GArray *levels; /* of Level, from the top down to fd */
	guint again;
} Removal;

static void
removal_clear(Removal *removal)
{
	gbe_close_fd(&removal->fd);
	for (guint i = 0; i < removal->levels->len; i++)
		g_free(g_array_index(removal->levels, Level, i).name);
	g_array_unref(removal->levels);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Removal, removal_clear)

static bool
throw_remove(GError **error, int errsv, const char *name)
{
	g_autofree char *text = gbe_path_to_text(name);

	return gbe_throw_errno(error, errsv, "cannot remove %s", text);
}

/* Takes the flags away that forbid unlinking; true when there were some. */
static bool
unprotect(int fd)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ||
	    (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) == 0)
		return false;
	flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

static bool
unprotect_at(int dir_fd, const char *name)
{
	gbe_autofd int fd = -1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return false;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 && unprotect(fd);
}

/* 0 or an errno; a name that is gone is removed. */
static int
unlink_name(int dir_fd, const char *name, int flags)
{
	if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
		return 0;
	if (errno == EPERM) {
		bool dir_was = unprotect(dir_fd);
		bool name_was = unprotect_at(dir_fd, name);

		if (!dir_was && !name_was)
			return EPERM;
		if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
			return 0;
	}
	return errno;
}

/* Sets *ret_done when @name, a directory that is not empty, is a subvolume and could be deleted at
 * once; else @fd is writable and has to be emptied. */
static bool
delete_subvolume(int dir_fd, const char *name, int fd, bool *ret_done, GError **error)
{
	g_autoptr(GError) local_error = NULL;
	g_autoptr(GError) ignored = NULL;

	if (gbe_subvolume_delete_at(dir_fd, name, &local_error)) {
		*ret_done = true;
		return !GBE_FAULT("remove-subvolume-deleted", error);
	}
	if (!g_error_matches(local_error, GBE_ERROR, GBE_ERROR_BUSY) &&
	    !g_error_matches(local_error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
		g_propagate_error(error, g_steal_pointer(&local_error));
		return false;
	}
	/* Others are in it. Should it stay read-only, the first unlink says so. */
	if (!gbe_subvolume_set_read_only(fd, false, &ignored))
		g_clear_error(&ignored);
	*ret_done = false;
	return true;
}

/* Goes into the directory @name, or removes it as a subvolume (then fd stays as it is). */
static bool
enter(Removal *removal, int dir_fd, const char *name, GError **error)
{
	gbe_autofd int fd = -1;
	struct stat above, st;
	bool mount_point = false;
	bool done = false;
	Level level;

	if (!gbe_is_mount_point_at(dir_fd, name, &mount_point, error))
		return false;
	if (!gbe_open_dir_at(dir_fd, name, &fd, error))
		return false;
	if (fstat(dir_fd, &above) < 0 || fstat(fd, &st) < 0)
		return throw_remove(error, errno, name);
	if (mount_point || (st.st_dev != above.st_dev && !gbe_is_subvolume(fd))) {
		g_autofree char *text = gbe_path_to_text(name);

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "cannot remove %s: something is mounted there; unmount it", text);
	}
	if (st.st_dev != above.st_dev && !delete_subvolume(dir_fd, name, fd, &done, error))
		return false;
	if (done)
		return true;
	level = (Level){.name = g_strdup(name), .dev = above.st_dev, .ino = above.st_ino};
	g_array_append_val(removal->levels, level);
	gbe_close_fd(&removal->fd);
	removal->fd = gbe_steal_fd(&fd);
	return true;
}

/* Goes up and removes what was emptied; back into it where somebody put something there meanwhile. */
static bool
leave(Removal *removal, int top_fd, GError **error)
{
	Level *level = &g_array_index(removal->levels, Level, removal->levels->len - 1);
	g_autofree char *name = NULL;
	gbe_autofd int up = -1;
	struct stat st;
	int errsv;

	up = removal->levels->len == 1
		 ? fcntl(top_fd, F_DUPFD_CLOEXEC, 0)
		 : openat(removal->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up < 0 || fstat(up, &st) < 0)
		return throw_remove(error, errno, level->name);
	if (st.st_dev != level->dev || st.st_ino != level->ino)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "cannot remove %s: it was moved elsewhere meanwhile", level->name);
	name = g_steal_pointer(&level->name);
	g_array_set_size(removal->levels, removal->levels->len - 1);
	gbe_close_fd(&removal->fd);
	removal->fd = gbe_steal_fd(&up);

	errsv = unlink_name(removal->fd, name, AT_REMOVEDIR);
	if (errsv == ENOTEMPTY && removal->again++ < MAX_AGAIN)
		return enter(removal, removal->fd, name, error);
	if (errsv != 0)
		return throw_remove(error, errsv, name);
	return !GBE_FAULT("remove-directory-removed", error);
}

static bool
is_directory(int dir_fd, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Removes what can be at once; *ret_child is the first directory that has to be emptied before. */
static bool
remove_entries(int dir_fd, DIR *dir, char **ret_child, GError **error)
{
	for (;;) {
		struct dirent *entry;
		bool directory;
		int errsv;

		errno = 0;
		entry = readdir(dir);
		if (entry == NULL && errno != 0)
			return gbe_throw_errno(error, errno, "cannot read a directory");
		if (entry == NULL)
			return true;
		if (g_str_equal(entry->d_name, ".") || g_str_equal(entry->d_name, ".."))
			continue;
		directory = is_directory(dir_fd, entry);
		errsv = unlink_name(dir_fd, entry->d_name, directory ? AT_REMOVEDIR : 0);
		if (directory && (errsv == ENOTEMPTY || errsv == EBUSY)) {
			*ret_child = g_strdup(entry->d_name);
			return true;
		}
		if (errsv != 0)
			return throw_remove(error, errsv, entry->d_name);
		if (GBE_FAULT("remove-entry-removed", error))
			return false;
	}
}

static bool
remove_level(Removal *removal, int top_fd, GError **error)
{
	g_autofree char *child = NULL;
	int fd = openat(removal->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool ok;

	if (dir == NULL) {
		gbe_throw_errno(error, errno, "cannot read a directory");
		gbe_close_fd(&fd);
		return false;
	}
	ok = remove_entries(removal->fd, dir, &child, error);
	(void)closedir(dir);
	if (!ok)
		return false;
	if (child != NULL)
		return enter(removal, removal->fd, child, error);
	return leave(removal, top_fd, error);
}

bool
gbe_remove_tree_at(int dir_fd, const char *name, GError **error)
{
	g_auto(Removal) removal = {
	    .fd = -1,
	    .levels = g_array_new(FALSE, FALSE, sizeof(Level)),
	};
	struct stat st;
	int errsv;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || throw_remove(error, errno, name);
	errsv = unlink_name(dir_fd, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	if (errsv == 0)
		return !GBE_FAULT("remove-entry-removed", error);
	if (!S_ISDIR(st.st_mode) || (errsv != ENOTEMPTY && errsv != EBUSY))
		return throw_remove(error, errsv, name);
	if (!enter(&removal, dir_fd, name, error))
		return false;
	while (removal.levels->len > 0)
		if (!remove_level(&removal, dir_fd, error))
			return gbe_prefix(error, "removing %s", name);
	return true;
}
