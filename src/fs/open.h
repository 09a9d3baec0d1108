/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens files below a root fd ("/" or --root=DIR). A path is absolute, as a user writes it, and is resolved with
 * openat2(RESOLVE_IN_ROOT), so that no symlink leaves the root. Trees whose owner is not root are walked name by
 * name with O_NOFOLLOW. Only gbe_make_dirs() changes the disk.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

#include <sys/stat.h>
#include <sys/types.h>

/* @dir: "/" or a directory. The caller owns *ret_fd, here and in all functions below. */
bool gbe_open_root(const char *dir, int *ret_fd, GError **error) GBE_CHECKED;
/* @flags as for open(2); O_CLOEXEC and O_NOCTTY are added. ENOENT is GBE_ERROR_NOT_FOUND. */
bool gbe_open_in_root(int root_fd, const char *path, int flags, int *ret_fd,
		      GError **error) GBE_CHECKED;
GbeTri gbe_is_in_root(int root_fd, const char *path);
/* Opens the directory that holds @path's last component (O_RDONLY, so that it can be synced) and returns that
 * component. The parents may be symlinks. The component need not exist. */
bool gbe_open_parent_in_root(int root_fd, const char *path, int *ret_parent_fd, char **ret_name,
			     GError **error) GBE_CHECKED;
/* Is there a @name, of any type? False without a directory (-1). A failure to look is an error, and no "no". */
bool gbe_is_there_at(int dir_fd, const char *name, bool *ret_there, GError **error) GBE_CHECKED;
/* Opens a directory by one name, never a symlink: O_DIRECTORY|O_NOFOLLOW. */
bool gbe_open_dir_at(int dir_fd, const char *name, int *ret_fd, GError **error) GBE_CHECKED;
/* Makes @path (with exactly @mode) and its missing parents (0755 less the umask), and opens it. Each new directory
 * is durable in its parent when this returns. */
bool gbe_make_dirs(int root_fd, const char *path, mode_t mode, int *ret_fd,
		   GError **error) GBE_CHECKED;
/* The path that @path (normalized) names once the symlinks on its way are followed, inside the root. Names that
 * do not exist stay: their file system may not be mounted yet. Newly allocated. */
char *gbe_path_resolve(int root_fd, const char *path);
/* Reads a regular file of at most @max bytes. A FIFO, a device or a longer file is GBE_ERROR_CORRUPT. A NUL follows the
 * *ret_size bytes in *ret_bytes. Files of /proc, whose size is 0, are also read. By name: O_NOFOLLOW. Below the root:
 * symlinks are followed inside the root. */
bool gbe_read_file_at(int dir_fd, const char *name, gsize max, char **ret_bytes, gsize *ret_size,
		      GError **error) GBE_CHECKED;
bool gbe_read_in_root(int root_fd, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
		      GError **error) GBE_CHECKED;
/* Fills @buffer, except at the end of the file: *ret_got says how far. @what: the file in a message. */
bool gbe_read_at(int fd, void *buffer, gsize size, guint64 offset, gsize *ret_got, const char *what,
		 GError **error) GBE_CHECKED;
/* Does @name in @dir_fd mean the file that @fd has open? */
bool gbe_is_named_at(int fd, int dir_fd, const char *name);
/* GBE_ERROR_UNSAFE_SOURCE: a user other than root can write to a directory on the way to @path (not @path itself). Such
 * a directory belongs to a user other than root (or the effective user), or is group- or world-writable without the
 * sticky bit. Symlinks on the way are followed inside the root, and their owner also counts. */
bool gbe_check_parents(int root_fd, const char *path, GError **error) GBE_CHECKED;
/* The path must be absolute, without a "." or ".." component or a control character; "//" and a trailing '/' are
 * folded. The result is newly allocated. GBE_ERROR_USAGE names @what. */
bool gbe_path_normalize(const char *path, const char *what, char **ret_path,
			GError **error) GBE_CHECKED;
/* Turns any bytes into one line of UTF-8 for messages and records. Control characters and bytes that are not UTF-8
 * become "\xNN" and a backslash is doubled, so that different paths stay different. Newly allocated. */
char *gbe_path_to_text(const char *path);
/* The same for @name in an open directory: its whole path, as the kernel knows it; @name where it does not. */
char *gbe_path_at_to_text(int dir_fd, const char *name);
