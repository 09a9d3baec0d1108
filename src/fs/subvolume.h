/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * btrfs subvolumes, through libbtrfsutil where the program was built with it (HAVE_BTRFSUTIL); without,
 * each of these is GBE_ERROR_UNSUPPORTED and trees are cloned file by file instead.
 *
 * Making a snapshot commits: it is on the disk, with all that was written to the source before. A
 * rename of it, and a deletion, are durable once the parent directory is synced.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Empty, mode 0700. Does not commit. EXDEV and the like as below. */
bool gbe_subvolume_create_at(int dst_parent, const char *dst, GError **error) GBE_CHECKED;
/* @src_fd: the subvolume. EXDEV, EINVAL, EOPNOTSUPP and ENOTTY are GBE_ERROR_UNSUPPORTED. */
bool gbe_subvolume_snapshot_at(int src_fd, int dst_parent, const char *dst, bool read_only,
			       GError **error) GBE_CHECKED;
bool gbe_subvolume_set_read_only(int subvolume_fd, bool read_only, GError **error) GBE_CHECKED;
/* Read-only ones too. A subvolume that holds others is GBE_ERROR_BUSY. */
bool gbe_subvolume_delete_at(int parent_fd, const char *name, GError **error) GBE_CHECKED;
