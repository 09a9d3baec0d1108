/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens directories of this program in a place of another owner: below the root of the data's file system. If that root
 * is the data directory itself, the unprivileged etcd user owns it. The owner of the place decides on the names in it,
 * so that a directory which is not ours is not used. Implemented in own-dir.c, own-dir-find.c.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Opens @names (NULL-terminated) one below the other, starting in @dir_fd, never through a symlink. With @make, a
 * missing directory is made (0700, durable in its parent); without, it is GBE_ERROR_NOT_FOUND.
 * GBE_ERROR_UNSAFE_SOURCE: one is no directory, is not owned by the effective user, or is writable by others. The
 * caller owns *ret_fd. */
bool gbe_own_dir_open_at(int dir_fd, const char *const *names, bool make, int *ret_fd,
			 GError **error) GBE_CHECKED;

/* Finds the directory with that identity (gbe_tree_identity()). The owner of the place may have renamed our directory
 * inside it, but cannot move it elsewhere. *ret_name: its name in @dir_fd; NULL: it is not there. With @back, the
 * directory gets @name again; something else at @name gets the other name. After a power cut the directory has one of
 * the two names, and the next call finishes. */
bool gbe_own_dir_find_at(int dir_fd, const char *name, const char *identity, bool back,
			 char **ret_name, GError **error) GBE_CHECKED;
/* Is something at @name that is not ours, and holds nothing of ours? A directory of root, or one with backups in it, is
 * not in the way: it may be ours with a changed mode or owner. */
bool gbe_own_dir_in_the_way_at(int dir_fd, const char *name);
/* Makes way for a directory of ours: a directory or a file in the way becomes "NAME.not-ours-1", and an entry of
 * another type is removed. After a power cut @name is free, or as it was. */
bool gbe_own_dir_make_way_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
