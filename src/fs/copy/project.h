/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Projects, by which XFS and ext4 count and limit the space of trees (xfs_quota(8)). A project belongs to a place: a
 * backup is not charged to it, and the tree that a restore puts there is.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Gives the tree in @tree_fd, its directories and regular files, to the project of the directory @like_fd; directories
 * hand it down to new files as that one does. Does nothing if both have the same one, or if a file system knows no
 * projects. Gives up at the limits of gbe_tree_look_limits(). Not durable: the caller syncs. On failure a part of the
 * tree has the project. */
bool gbe_project_give(int tree_fd, int like_fd, GError **error) GBE_CHECKED;
