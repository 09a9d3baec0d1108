/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removes a tree relative to an fd, within one file system, never across a mount point or through a symlink. The
 * immutable flag is cleared, and btrfs subvolumes (read-only ones, too) are deleted. A missing name is no error. A
 * removal is not durable by itself: a power cut leaves any part of the tree, so a caller for whom that matters
 * first renames it to ".partial-".
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

bool gbe_remove_tree_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
/* For a tree with a name that is swept and an owner who may have made a million entries. Removes for at most
 * *patience microseconds and subtracts the time used; the rest of the tree stays under the same name. NULL: removes
 * all. */
bool gbe_remove_tree_within_at(int dir_fd, const char *name, gint64 *patience,
			       GError **error) GBE_CHECKED;
