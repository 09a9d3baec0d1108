/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directory trees: scans, walks and removes them. A tree may be a btrfs subvolume. Implemented in tree.c, remove.c and
 * subvolume.c.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/stat.h>

/* ---- a tree that may be copied: tree.c ---- */

/* A scan reads only names and inodes. Before the first byte is copied, it refuses and names FIFOs, devices, nested
 * btrfs subvolumes, mount points and a symlink as the root. More than GBE_TREE_MAX_ENTRIES entries or
 * GBE_TREE_MAX_DEPTH levels are also refused. Sockets are counted as left out. */

/* A data directory of etcd has some ten names. Copying a hundred thousand takes half a minute. */
#define GBE_TREE_MAX_ENTRIES 100000
#define GBE_TREE_MAX_DEPTH 64
/* For a look whose answer may be "unknown": at a tree that is about to be replaced, or for a decision. */
#define GBE_TREE_LOOK_SECONDS 10

typedef struct {
	guint64 files; /* regular files; hard links counted once */
	guint64 directories;
	guint64 bytes;	     /* apparent, of regular files */
	guint64 allocated;   /* st_blocks, of regular files */
	GPtrArray *left_out; /* of char *: paths of sockets, from gbe_path_to_text(); 100 at most */
} GbeTreeInfo;

void gbe_tree_info_clear(GbeTreeInfo *info);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeTreeInfo, gbe_tree_info_clear)

/* Called for every entry but the root, parents before children, in byte order of names. @path is relative to the
 * root; @dir_fd/@name is the entry. Returns false to stop (with @error set). A walk also ends at a mount point or a
 * nested subvolume with GBE_ERROR_UNSAFE_SOURCE. It visits the other entries that a scan refuses, but does not open
 * them. */
typedef bool (*GbeTreeVisit)(const char *path, int dir_fd, const char *name, const struct stat *st,
			     gpointer data, GError **error);

/* Limits the cost of a walk; NULL: the limits of every tree. Beyond the limit: GBE_ERROR_UNSAFE_SOURCE, which names
 * the limit. */
typedef struct {
	guint64 entries;
	gint64 deadline; /* on g_get_monotonic_time(); 0: none */
} GbeTreeLimits;

/* The limits of a look that begins now. */
GbeTreeLimits gbe_tree_look_limits(void);

/* @exclude: NULL, or NULL-terminated names at the top of the tree that are not part of it. @limits: NULL, or those of a
 * caller who treats a tree that exceeds them as "unknown". */
bool gbe_tree_scan(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
		   GbeTreeInfo *ret_info, GError **error) GBE_CHECKED;
bool gbe_tree_walk(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
		   GbeTreeVisit visit, gpointer data, GError **error) GBE_CHECKED;

/* Identifies an inode, for hard links. */
typedef struct {
	dev_t dev;
	ino_t ino;
} GbeInode;

guint gbe_inode_hash(gconstpointer key);
gboolean gbe_inode_equal(gconstpointer a, gconstpointer b);
/* @set, of GbeInode, owns its entries. False: the inode of @st was in the set already, so this is another name of
 * the file. A file with only one name is not added. */
bool gbe_inode_set_add(GHashTable *set, const struct stat *st);

/* ---- removing: remove.c ---- */

/* Removes a tree relative to an fd, within one file system, never across a mount point or through a symlink. The
 * immutable flag is cleared, and btrfs subvolumes, also read-only ones, are deleted. A missing name is no error. A
 * removal is not durable: a power cut leaves any part of the tree. A caller for whom that matters first renames the
 * tree to ".partial-". */
bool gbe_remove_tree_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
/* For a tree with a name that is swept and an owner who may have made a million entries. Removes for at most
 * *patience microseconds and subtracts the time used; the rest of the tree stays under the same name. NULL: removes
 * all. */
bool gbe_remove_tree_within_at(int dir_fd, const char *name, gint64 *patience,
			       GError **error) GBE_CHECKED;

/* ---- btrfs subvolumes: subvolume.c ---- */

/* Through libbtrfsutil if the program was built with it (HAVE_BTRFSUTIL). Without it, each function is
 * GBE_ERROR_UNSUPPORTED and trees are cloned file by file. Making a snapshot commits: the snapshot is on the disk, with
 * all that was written to the source before. A rename and a deletion are durable once the parent directory is synced. */

/* Makes an empty subvolume of mode 0700. Does not commit. EXDEV and others become GBE_ERROR_UNSUPPORTED as below. */
bool gbe_subvolume_create_at(int dst_parent, const char *dst, GError **error) GBE_CHECKED;
/* @src_fd: the subvolume. EXDEV, EINVAL, EOPNOTSUPP and ENOTTY become GBE_ERROR_UNSUPPORTED. */
bool gbe_subvolume_snapshot_at(int src_fd, int dst_parent, const char *dst, bool read_only,
			       GError **error) GBE_CHECKED;
bool gbe_subvolume_set_read_only(int subvolume_fd, bool read_only, GError **error) GBE_CHECKED;
/* Also deletes a read-only subvolume. A subvolume that holds others is GBE_ERROR_BUSY. */
bool gbe_subvolume_delete_at(int parent_fd, const char *name, GError **error) GBE_CHECKED;
