/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scans and walks a directory tree that may be copied. A scan reads only names and inodes. Before the first byte is
 * copied it refuses, and names: FIFOs, devices, nested btrfs subvolumes, mount points, a symlink as the root, more
 * than GBE_TREE_MAX_ENTRIES entries, more than GBE_TREE_MAX_DEPTH levels. Sockets are counted as left out.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/stat.h>

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

/* @exclude: NULL, or NULL-terminated names at the top of the tree that are not part of it. */
bool gbe_tree_scan(int dir_fd, const char *const *exclude, GbeTreeInfo *ret_info,
		   GError **error) GBE_CHECKED;
bool gbe_tree_scan_within(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
			  GbeTreeInfo *ret_info, GError **error) GBE_CHECKED;
bool gbe_tree_walk(int dir_fd, const char *const *exclude, GbeTreeVisit visit, gpointer data,
		   GError **error) GBE_CHECKED;
/* The same for a caller who treats a tree that exceeds @limits as "unknown". */
bool gbe_tree_walk_within(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
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
