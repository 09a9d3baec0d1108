/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening files below a root directory. Every path of the program is absolute as a user writes it and
 * is resolved below a root fd ("/" or --root=DIR) with openat2(RESOLVE_IN_ROOT), so that a symlink in
 * it cannot leave the root. Trees whose owner is not root are walked name by name with O_NOFOLLOW.
 *
 * Nothing here changes the disk, but for gbe_make_dirs().
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/stat.h>
#include <sys/types.h>

/* @dir: "/" or a directory. *ret_fd is owned by the caller, as in all of these. */
bool gbe_open_root(const char *dir, int *ret_fd, GError **error) GBE_CHECKED;
/* @flags as for open(2); O_CLOEXEC and O_NOCTTY are added. ENOENT is GBE_ERROR_NOT_FOUND. */
bool gbe_open_in_root(int root_fd, const char *path, int flags, int *ret_fd,
		      GError **error) GBE_CHECKED;
/* Opens the directory that holds @path's last component (O_RDONLY, so that it can be synced) and
 * gives that component. The parents may be symlinks; the component is not looked at. */
bool gbe_open_parent_in_root(int root_fd, const char *path, int *ret_parent_fd, char **ret_name,
			     GError **error) GBE_CHECKED;
/* Opens a directory by one name, never a symlink: O_DIRECTORY|O_NOFOLLOW. */
bool gbe_open_dir_at(int dir_fd, const char *name, int *ret_fd, GError **error) GBE_CHECKED;
/* Makes @path (@mode exactly) and its missing parents (0755 less the umask), opens it. Each directory
 * made is durable in its parent when this returns. */
bool gbe_make_dirs(int root_fd, const char *path, mode_t mode, int *ret_fd,
		   GError **error) GBE_CHECKED;
/* Reads a regular file of at most @max bytes (never a FIFO or device; both, and a longer file, are
 * GBE_ERROR_CORRUPT). *ret_bytes is NUL-terminated beyond *ret_size. Also reads files of /proc, whose
 * size is 0. By name: O_NOFOLLOW. Below the root: symlinks are followed inside of it. */
bool gbe_read_file_at(int dir_fd, const char *name, gsize max, char **ret_bytes, gsize *ret_size,
		      GError **error) GBE_CHECKED;
bool gbe_read_in_root(int root_fd, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
		      GError **error) GBE_CHECKED;
/* GBE_ERROR_UNSAFE_SOURCE when a directory on the way to @path (not @path itself) can be written by
 * others than root: not owned by root (or by the effective user), or group- or world-writable without
 * the sticky bit. Symlinks on the way are followed inside the root and their owner counts, too. */
bool gbe_check_parents(int root_fd, const char *path, GError **error) GBE_CHECKED;
/* Absolute, no "." or ".." component, no control character; "//" and a trailing '/' are folded.
 * Newly allocated, or GBE_ERROR_USAGE naming @what. */
bool gbe_path_normalize(const char *path, const char *what, char **ret_path,
			GError **error) GBE_CHECKED;
/* "/a//b/" is "b" in "/a//"; without a slash the parent is ".". GBE_ERROR_USAGE where there is no last
 * name ("/", "..", "/a/."). */
bool gbe_path_split(const char *path, char **ret_parent, char **ret_name,
		    GError **error) GBE_CHECKED;
/* Any bytes as one line of UTF-8 for messages and records: control characters and what is not UTF-8 as
 * "\xNN", a backslash doubled, so that different paths stay different. Newly allocated. */
char *gbe_path_to_text(const char *path);
