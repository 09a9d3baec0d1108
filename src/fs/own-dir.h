/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens directories of this program in a place that belongs to somebody else: below the root of the data's file
 * system. Where that root is the data directory itself, the unprivileged etcd user owns it. The owner of the place
 * decides what the names in it are, so that a directory which is not ours is not used.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Opens @names (NULL-terminated) one below the other, starting in @dir_fd, never through a symlink. With @make, a
 * missing directory is made (0700, durable in its parent); without, it is GBE_ERROR_NOT_FOUND.
 * GBE_ERROR_UNSAFE_SOURCE: one is a symlink, is not owned by the effective user, or is writable by others. The
 * caller owns *ret_fd. */
bool gbe_own_dir_open_at(int dir_fd, const char *const *names, bool make, int *ret_fd,
			 GError **error) GBE_CHECKED;
