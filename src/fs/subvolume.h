/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * btrfs subvolumes, through libbtrfsutil where the program was built with it (HAVE_BTRFSUTIL). Without it, each
 * function is GBE_ERROR_UNSUPPORTED and trees are cloned file by file. Making a snapshot commits: the snapshot is
 * on the disk, with all that was written to the source before. A rename and a deletion are durable once the parent
 * directory is synced.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Makes an empty subvolume of mode 0700. Does not commit. EXDEV and others become GBE_ERROR_UNSUPPORTED as below. */
bool gbe_subvolume_create_at(int dst_parent, const char *dst, GError **error) GBE_CHECKED;
/* @src_fd: the subvolume. EXDEV, EINVAL, EOPNOTSUPP and ENOTTY become GBE_ERROR_UNSUPPORTED. */
bool gbe_subvolume_snapshot_at(int src_fd, int dst_parent, const char *dst, bool read_only,
			       GError **error) GBE_CHECKED;
bool gbe_subvolume_set_read_only(int subvolume_fd, bool read_only, GError **error) GBE_CHECKED;
/* Deletes a read-only subvolume, too. One that holds other subvolumes is GBE_ERROR_BUSY. */
bool gbe_subvolume_delete_at(int parent_fd, const char *name, GError **error) GBE_CHECKED;
