/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree may be as deep and as wide as its owner could make it. Only a few directories are open at a time. Deeper
 * directories are first moved up to the top and emptied there. So stack, descriptors and memory do not grow with the
 * tree, and each name is read once.
 */
#include "fs/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alive.h"
#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/probe.h"

/* How often new entries may appear in an emptied directory before the removal fails. */
#define MAX_AGAIN 16
/* Directories open at a time; at least three. */
#define MAX_LEVELS 32
/* A directory that was moved up gets this name with a number. */
#define MOVED ".gbe-removed-"

/* A directory that is being emptied. */
typedef struct {
	DIR *dir;
	char *name; /* in the level above */
	dev_t dev;
	guint64 moved;	    /* numbers given to directories that were moved up into it */
	guint64 moved_gone; /* how many of those were removed again */
	char moved_name[sizeof(MOVED) + 20];
} Level;

typedef struct {
	gint64 deadline; /* on g_get_monotonic_time(); 0: none */
	int top_fd;	 /* the directory that holds the tree */
	Level levels[MAX_LEVELS];
	guint depth; /* levels in use */
	guint again;
} Removal;

static void
leave_level(Removal *removal)
{
	Level *level = &removal->levels[--removal->depth];

	(void)closedir(level->dir);
	g_free(level->name);
}

static void
removal_clear(Removal *removal)
{
	while (removal->depth > 0)
		leave_level(removal);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Removal, removal_clear)

/* The directory that holds level @i. */
static int
directory_above(const Removal *removal, guint i)
{
	return i == 0 ? removal->top_fd : dirfd(removal->levels[i - 1].dir);
}

static bool
throw_remove(GError **error, int errsv, const char *name)
{
	g_autofree char *text = gbe_path_to_text(name);

	return gbe_throw_errno(error, errsv, "cannot remove %s", text);
}

/* Returns 0 or an errno. A missing name counts as removed. */
static int
unlink_name(int dir_fd, const char *name, int flags)
{
	if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
		return 0;
	if (errno == EPERM) {
		bool dir_was = gbe_unprotect(dir_fd);
		bool name_was = gbe_unprotect_at(dir_fd, name);

		if (!dir_was && !name_was)
			return EPERM;
		if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
			return 0;
	}
	return errno;
}

/* *ret_done: @name, a directory that is not empty, is a subvolume and was deleted at once. Otherwise @fd is
 * writable and has to be emptied. */
static bool
delete_subvolume(int dir_fd, const char *name, int fd, bool *ret_done, GError **error)
{
	g_autoptr(GError) local_error = NULL;

	if (gbe_subvolume_delete_at(dir_fd, name, &local_error)) {
		*ret_done = true;
		return !GBE_FAULT("remove-subvolume-deleted", error);
	}
	if (!g_error_matches(local_error, GBE_ERROR, GBE_ERROR_BUSY) &&
	    !gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED))
		return false;
	/* It holds other subvolumes, or has to be emptied first. If it stays read-only, the first unlink says so. */
	(void)!gbe_subvolume_set_read_only(fd, false, NULL);
	*ret_done = false;
	return true;
}

/* Makes room for a level: the innermost directory moves up as far as possible and is emptied there later. A
 * subvolume can move anywhere, a directory only within its subvolume. */
static bool
move_up(Removal *removal, GError **error)
{
	Level *levels = removal->levels;
	guint from = removal->depth - 1;
	guint to = 0;
	int from_fd, to_fd, errsv;

	if (levels[from].dev == levels[from - 1].dev)
		while (levels[to].dev != levels[from].dev)
			to++;
	/* No place is higher: then the directory above is a subvolume, and moves instead. */
	if (to == from - 1) {
		from--;
		to = 0;
	}
	from_fd = directory_above(removal, from);
	to_fd = dirfd(levels[to].dir);
	do {
		(void)g_snprintf(levels[to].moved_name, sizeof(levels[to].moved_name),
				 MOVED "%" G_GUINT64_FORMAT, levels[to].moved++);
		errsv = gbe_rename_unprotected(from_fd, levels[from].name, to_fd,
					       levels[to].moved_name, 0);
		if (errsv == EPERM) {
			(void)gbe_unprotect(from_fd);
			(void)gbe_unprotect_at(from_fd, levels[from].name);
			(void)gbe_unprotect(to_fd);
			errsv =
			    renameat(from_fd, levels[from].name, to_fd, levels[to].moved_name) == 0
				? 0
				: errno;
		}
	} while (errsv == EEXIST || errsv == ENOTEMPTY || errsv == ENOTDIR);
	if (errsv != 0 && errsv != ENOENT)
		return throw_remove(error, errsv, levels[from].name);
	while (removal->depth > from)
		leave_level(removal);
	return !GBE_FAULT("remove-moved-up", error);
}

/* Goes into the directory @name below @dir_fd, or removes it as a subvolume. */
static bool
enter_directory(Removal *removal, int dir_fd, const char *name, GError **error)
{
	gbe_autofd int fd = -1;
	struct stat above_st, st;
	bool mount_point = false;
	bool done = false;
	DIR *dir;

	if (removal->depth == MAX_LEVELS)
		return move_up(removal, error);
	if (!gbe_is_mount_point_at(dir_fd, name, &mount_point, error))
		return false;
	if (!mount_point && !gbe_open_dir_at(dir_fd, name, &fd, error))
		return false;
	if (!mount_point && (fstat(dir_fd, &above_st) < 0 || fstat(fd, &st) < 0))
		return throw_remove(error, errno, name);
	if (mount_point || (st.st_dev != above_st.st_dev && !gbe_is_subvolume(fd))) {
		g_autofree char *text = gbe_path_to_text(name);

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "cannot remove %s: something is mounted there; unmount it", text);
	}
	if (st.st_dev != above_st.st_dev && !delete_subvolume(dir_fd, name, fd, &done, error))
		return false;
	if (done)
		return true;
	dir = fdopendir(fd);
	if (dir == NULL)
		return throw_remove(error, errno, name);
	fd = -1;
	removal->levels[removal->depth++] =
	    (Level){.dir = dir, .name = g_strdup(name), .dev = st.st_dev};
	return true;
}

/* The next name, or NULL: first the names that the directory lists, then those that were moved up into it. */
static bool
next_name(Level *level, const char **ret_name, bool *ret_directory, GError **error)
{
	struct dirent *entry;
	struct stat st;

	do {
		errno = 0;
		entry = readdir(level->dir);
	} while (entry != NULL &&
		 (g_str_equal(entry->d_name, ".") || g_str_equal(entry->d_name, "..")));
	if (entry == NULL && errno != 0)
		return gbe_throw_errno(error, errno, "cannot read the directory %s", level->name);
	*ret_name = NULL;
	*ret_directory = true;
	if (entry != NULL) {
		*ret_name = entry->d_name;
		*ret_directory = entry->d_type == DT_DIR;
		if (entry->d_type == DT_UNKNOWN)
			*ret_directory = fstatat(dirfd(level->dir), entry->d_name, &st,
						 AT_SYMLINK_NOFOLLOW) == 0 &&
					 S_ISDIR(st.st_mode);
	} else if (level->moved_gone < level->moved) {
		(void)g_snprintf(level->moved_name, sizeof(level->moved_name),
				 MOVED "%" G_GUINT64_FORMAT, level->moved_gone++);
		*ret_name = level->moved_name;
	}
	return true;
}

static bool
in_time(const Removal *removal)
{
	return removal->deadline == 0 || g_get_monotonic_time() < removal->deadline;
}

/* Removes entries until the first directory that must be emptied first, and enters that; or until the time is up. An
 * emptied directory is removed, or read again if an entry was put into it meanwhile. */
static bool
remove_entries(Removal *removal, GError **error)
{
	Level *level = &removal->levels[removal->depth - 1];
	int dir_fd = dirfd(level->dir);

	while (in_time(removal)) {
		const char *name = NULL;
		bool directory = false;
		int errsv;

		if (!next_name(level, &name, &directory, error))
			return false;
		if (name == NULL) {
			errsv = unlink_name(directory_above(removal, removal->depth - 1),
					    level->name, AT_REMOVEDIR);
			if (errsv == ENOTEMPTY && removal->again++ < MAX_AGAIN) {
				rewinddir(level->dir);
				return true;
			}
			if (errsv != 0)
				return throw_remove(error, errsv, level->name);
			leave_level(removal);
			return !GBE_FAULT("remove-directory-removed", error);
		}
		errsv = unlink_name(dir_fd, name, directory ? AT_REMOVEDIR : 0);
		gbe_alive(1);
		if (errsv == EBUSY || (directory && errsv == ENOTEMPTY))
			return enter_directory(removal, dir_fd, name, error);
		/* This file has the name of a moved directory; the directory lists the file itself. */
		if (errsv == ENOTDIR && name == level->moved_name)
			continue;
		if (errsv != 0)
			return throw_remove(error, errsv, name);
		if (GBE_FAULT("remove-entry-removed", error))
			return false;
	}
	return true;
}

static bool
remove_tree(int dir_fd, const char *name, gint64 deadline, GError **error)
{
	g_auto(Removal) removal = {.top_fd = dir_fd, .deadline = deadline};
	struct stat st;
	int errsv;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || throw_remove(error, errno, name);
	errsv = unlink_name(dir_fd, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	if (errsv == 0)
		return !GBE_FAULT("remove-entry-removed", error);
	if (!S_ISDIR(st.st_mode) || (errsv != ENOTEMPTY && errsv != EBUSY))
		return throw_remove(error, errsv, name);
	if (!enter_directory(&removal, dir_fd, name, error))
		return false;
	while (removal.depth > 0 && in_time(&removal))
		if (!remove_entries(&removal, error))
			return gbe_prefix(error, "removing %s", name);
	return true;
}

bool
gbe_remove_tree_at(int dir_fd, const char *name, GError **error)
{
	return remove_tree(dir_fd, name, 0, error);
}

bool
gbe_remove_tree_within_at(int dir_fd, const char *name, gint64 *patience, GError **error)
{
	gint64 begin = g_get_monotonic_time();
	bool ok;

	if (patience != NULL && *patience <= 0)
		return true;
	ok = remove_tree(dir_fd, name, patience != NULL ? begin + *patience : 0, error);
	if (patience != NULL)
		*patience -= g_get_monotonic_time() - begin;
	return ok;
}
