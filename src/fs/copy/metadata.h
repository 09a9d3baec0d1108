/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies and compares the attributes of an inode: owner, mode, times, and xattrs, which include POSIX ACLs, security
 * labels and capabilities. On btrfs the NOCOW flag belongs to them, and on XFS the hints about the size of extents. An
 * attribute that cannot be read or written is an error. Other inode flags (immutable, append-only, compression) are not
 * copied: etcd does not set them, and a backup with them could not be removed.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/stat.h>

/* An inode whose xattrs are meant: by descriptor, or by directory and name, since a symlink cannot be opened. */
typedef struct {
	int fd;
	const char *name; /* NULL: fd itself. A name is never followed */
} GbeInodeRef;

/* For a file or a directory; @st is the source's. Call it after every other change to the inode. */
bool gbe_metadata_copy(int src_fd, int dst_fd, const struct stat *st, const char *what,
		       GError **error) GBE_CHECKED;
/* Both symlinks must exist. */
bool gbe_metadata_copy_link_at(int src_dir, const char *src, int dst_dir, const char *dst,
			       const struct stat *st, const char *what, GError **error) GBE_CHECKED;
/* Gives a file to @uid and @gid. No other process writes the tree. Of its mode the file keeps only the bits rwx: it
 * loses the bits 07000, security.* attributes (capabilities among them) and ACLs. SELinux's label stays where the
 * kernel demands one. A symlink is not followed. */
bool gbe_metadata_hand_over_at(int dir_fd, const char *name, const struct stat *st, uid_t uid,
			       gid_t gid, const char *what, GError **error) GBE_CHECKED;
/* Removes the ACLs that a new directory inherited: its children would inherit them in turn. */
bool gbe_metadata_drop_acls(int fd, const char *what, GError **error) GBE_CHECKED;
/* Gives an empty file or a directory the attributes that must come before its content. With @btrfs (both are there)
 * this is the NOCOW flag, else the hints about extents. A hint that the file system does not take is left out. */
bool gbe_metadata_prepare(int src_fd, int dst_fd, bool btrfs, const char *what,
			  GError **error) GBE_CHECKED;
/* GBE_ERROR_VERIFY_FAILED names @what and the first xattr that differs. */
bool gbe_metadata_compare_xattrs(GbeInodeRef src, GbeInodeRef dst, const char *what,
				 GError **error) GBE_CHECKED;

/*
 * Projects, by which XFS and ext4 count and limit the space of trees (xfs_quota(8)). A project belongs to a place: a
 * backup is not charged to it, and the tree that a restore puts there is.
 */
/* Gives the tree in @tree_fd, its directories and regular files, to the project of the directory @like_fd. Directories
 * pass the project to new files if that one does. Does nothing if both have the same one, or if a file system knows no
 * projects. Gives up at the limits of gbe_tree_look_limits(). Not durable: the caller syncs. On failure a part of the
 * tree has the project. */
bool gbe_project_give(int tree_fd, int like_fd, GError **error) GBE_CHECKED;
