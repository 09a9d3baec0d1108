/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a file system and a directory are and can. Reads only, but for the clone probe, which makes and
 * removes a small file in the destination (".gbe-tmp.probe"). */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* Would FICLONE from a file of @src_dir work into @dst_dir? Tried with small files of our own in both
 * (in @dst_dir twice where @src_dir cannot be written). Unknown when nothing can be written. */
GbeTri gbe_probe_clone(int src_dir, int dst_dir);
/* Is the directory itself a btrfs subvolume (inode 256 on btrfs)? */
bool gbe_is_subvolume(int dir_fd);
/* statx STATX_ATTR_MOUNT_ROOT, or another st_dev / mount id than the parent's. */
bool gbe_is_mount_point_at(int parent_fd, const char *name, bool *ret_mount_point,
			   GError **error) GBE_CHECKED;
bool gbe_same_filesystem(int fd_a, int fd_b);
bool gbe_is_btrfs(int fd);
bool gbe_is_xfs(int fd);
/* "<file system>:<handle>": which directory it is, whatever it is called, and never another one's later. The
 * handle is name_to_handle_at's (type and bytes in hex), else device, inode and birth time; NULL where
 * the kernel gives neither. Two new btrfs give equal handles, hence the file system's id. */
char *gbe_tree_identity(int dir_fd);
/* A stable text for the file system an fd is on: FS_IOC_GETFSUUID / BTRFS_IOC_FS_INFO / XFS geometry /
 * ext4 ioctl, else statfs f_fsid; NULL when nothing is known. */
char *gbe_filesystem_id(int fd);
/* "xfs", "btrfs"...; "0x<magic>" for what has no name here; NULL unknown. Newly allocated. */
char *gbe_filesystem_type(int fd);
/* Bytes free (for root), total, free inodes. */
bool gbe_filesystem_space(int fd, guint64 *ret_free, guint64 *ret_total, guint64 *ret_free_inodes,
			  GError **error) GBE_CHECKED;
/* The mount or the file system is read-only. */
bool gbe_filesystem_read_only(int fd);
/* May this process make something in the directory? Not where it is immutable, or on a read-only file system. */
bool gbe_is_writable(int dir_fd, GError **error) GBE_CHECKED;
/* The file system itself is read-only, and not only the mount, which a unit's sandbox may have made so. */
bool gbe_filesystem_read_only_for_all(int fd);
/* The mount point that @dir_fd's file system is mounted at, as a path below the fd's own root (the
 * topmost directory with the same st_dev and mount id): where `.greenboot-etcd/` goes. Walks "..". */
bool gbe_filesystem_top(int dir_fd, int root_fd, int *ret_top_fd, char **ret_path,
			GError **error) GBE_CHECKED;
