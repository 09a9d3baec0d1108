/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells what a file system and a directory are and can do. Only the clone probe writes: it makes and removes a
 * small file in the destination (".gbe-tmp.probe"). */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* Would FICLONE from a file of @src_dir into @dst_dir work? Tries with small files of our own in both (twice in
 * @dst_dir where @src_dir is not writable). Unknown when nothing can be written. */
GbeTri gbe_probe_clone(int src_dir, int dst_dir);
/* Is the directory itself a btrfs subvolume (inode 256 on btrfs)? */
bool gbe_is_subvolume(int dir_fd);
/* statx STATX_ATTR_MOUNT_ROOT, or another st_dev / mount id than the parent's. */
bool gbe_is_mount_point_at(int parent_fd, const char *name, bool *ret_mount_point,
			   GError **error) GBE_CHECKED;
bool gbe_tell_same_filesystem(int fd_a, int fd_b, bool *ret_same, GError **error) GBE_CHECKED;
/* False also if this is unknown: for callers that copy or flush more then. */
bool gbe_same_filesystem(int fd_a, int fd_b);
/* Can rename(2) move something from the one directory to the other? It refuses where they are below two mounts, also
 * when both are of one file system. */
bool gbe_same_mount(int fd_a, int fd_b);
bool gbe_is_btrfs(int fd);
bool gbe_is_xfs(int fd);
/* "<file system>:<handle>" identifies a directory under any name, and never later means another directory. The handle
 * is name_to_handle_at's (type and bytes in hex), else device, inode and birth time. NULL: the kernel gives no such
 * handle. The file system's id is needed because two new btrfs give equal handles. */
char *gbe_tree_identity(int dir_fd);
/* A stable text for the file system that @fd is on: FS_IOC_GETFSUUID / BTRFS_IOC_FS_INFO / XFS geometry / ext4
 * ioctl, else statfs f_fsid. *ret_id: NULL where the file system has none. Errors: those of the calls. */
bool gbe_filesystem_id(int fd, char **ret_id, GError **error) GBE_CHECKED;
/* "xfs", "btrfs"...; "0x<magic>" for a file system without a name here; NULL: unknown. Newly allocated. */
char *gbe_filesystem_type(int fd);
/* Free bytes (for root), total bytes, free inodes. */
bool gbe_filesystem_space(int fd, guint64 *ret_free, guint64 *ret_total, guint64 *ret_free_inodes,
			  GError **error) GBE_CHECKED;
/* Is the mount or the file system read-only? */
bool gbe_filesystem_read_only(int fd);
/* May this process create files in the directory? Not in an immutable one or on a read-only file system. */
bool gbe_is_writable(int dir_fd, GError **error) GBE_CHECKED;
/* The options of the file system that @fd is on, as mountinfo has them; "" where its mount is not listed, NULL where
 * that is unknown. Newly allocated. */
char *gbe_mount_options(int fd);
/* Is the file system itself read-only, and not only the mount, which a unit's sandbox may have made so? */
bool gbe_filesystem_read_only_for_all(int fd);
/* Finds the mount point of @dir_fd's file system, the topmost directory with the same st_dev and mount id;
 * `.greenboot-etcd/` goes there. *ret_path is relative to the fd's own root. Walks up with "..". */
bool gbe_filesystem_top(int dir_fd, int root_fd, int *ret_top_fd, char **ret_path,
			GError **error) GBE_CHECKED;
