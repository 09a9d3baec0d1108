/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an inode has beside its content: owner, mode, xattrs (POSIX ACLs, security labels and
 * capabilities among them), times, and on btrfs the NOCOW flag. What cannot be read or written is an
 * error, never left out. Not copied: the other inode flags (immutable, append-only, compression), which
 * etcd does not set and which would make a backup unremovable.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/stat.h>

/* An inode whose xattrs are meant: by a descriptor, or (symlinks have none) by directory and name. */
typedef struct {
	int fd;
	const char *name; /* NULL: fd itself; else never followed */
} GbeInodeRef;

/* A file or directory; @st of the source. Last of all that is done to an inode. */
bool gbe_metadata_copy(int src_fd, int dst_fd, const struct stat *st, const char *what,
		       GError **error) GBE_CHECKED;
/* The symlinks must be there. */
bool gbe_metadata_copy_link_at(int src_dir, const char *src, int dst_dir, const char *dst,
			       const struct stat *st, const char *what, GError **error) GBE_CHECKED;
/* Gives a file of a tree that nobody else writes to @uid and @gid, with what the bits rwx of its mode say and no more:
 * no bit of 07000, no security.* attribute (a capability among them), no ACL. SELinux's label stays where the
 * kernel lets no file be without one. A symlink is not followed. */
bool gbe_metadata_hand_over_at(int dir_fd, const char *name, const struct stat *st, uid_t uid,
			       gid_t gid, const char *what, GError **error) GBE_CHECKED;
/* Takes away what a new directory inherited: ACLs that its children would inherit in turn. */
bool gbe_metadata_drop_acls(int fd, const char *what, GError **error) GBE_CHECKED;
/* Gives an empty file or a directory the source's NOCOW flag; both must be on btrfs. */
bool gbe_metadata_copy_nocow(int src_fd, int dst_fd, const char *what, GError **error) GBE_CHECKED;
/* GBE_ERROR_VERIFY_FAILED names @what and the first xattr that differs. */
bool gbe_metadata_compare_xattrs(GbeInodeRef src, GbeInodeRef dst, const char *what,
				 GError **error) GBE_CHECKED;
