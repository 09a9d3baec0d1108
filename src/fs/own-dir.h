/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories of this program in a place that belongs to somebody else: below the root of the data's file
 * system, which where that is the data directory itself is the unprivileged etcd user's. Whoever owns the
 * place chooses what the names in it are; what is not ours is not used.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Opens @names (NULL-terminated) one below the other, beginning in @dir_fd, never through a symlink.
 * With @make a missing one is made (0700, durable in its parent); without: GBE_ERROR_NOT_FOUND.
 * GBE_ERROR_UNSAFE_SOURCE: one is a symlink, not the effective user's, or writable by others. *ret_fd is
 * owned by the caller. */
bool gbe_own_dir_open_at(int dir_fd, const char *const *names, bool make, int *ret_fd,
			 GError **error) GBE_CHECKED;
