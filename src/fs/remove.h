/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removing a tree: fd-relative, never across a mount point or into a symlink, one file system; the
 * immutable flag is cleared, (read-only) btrfs subvolumes are deleted. A name that is not there is no
 * error. Not durable by itself; after a power cut any part of the tree may be left, so what is
 * removed is renamed to a ".partial-" name first by those for whom that matters.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

bool gbe_remove_tree_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
/* For a tree whose name is swept and whose owner may have made a million entries. Removes for *patience microseconds at
 * most and subtracts the time that it took; the rest of the tree stays, under the same name. NULL: removes all. */
bool gbe_remove_tree_within_at(int dir_fd, const char *name, gint64 *patience,
			       GError **error) GBE_CHECKED;
