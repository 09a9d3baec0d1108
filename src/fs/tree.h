/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory tree as what may be copied. Scanning reads names and inodes, nothing else, and refuses
 * by name, before the first byte is copied: FIFOs, devices, nested btrfs subvolumes, mount points,
 * symlink as the root, more than GBE_TREE_MAX_ENTRIES entries, more than GBE_TREE_MAX_DEPTH levels.
 * Sockets are counted as left out.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/stat.h>

/* A data directory of etcd has some ten names, and to copy a hundred thousand takes half a minute. */
#define GBE_TREE_MAX_ENTRIES 100000
#define GBE_TREE_MAX_DEPTH 64
/* Of a look whose answer may be "unknown": at what is about to be replaced, or for a decision. */
#define GBE_TREE_LOOK_SECONDS 10

typedef struct {
	guint64 files; /* regular files; hard links counted once */
	guint64 directories;
	guint64 bytes;	     /* apparent, of regular files */
	guint64 allocated;   /* st_blocks, of regular files */
	GPtrArray *left_out; /* of char *: paths of sockets, as gbe_path_to_text(); 100 at most */
} GbeTreeInfo;

void gbe_tree_info_clear(GbeTreeInfo *info);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeTreeInfo, gbe_tree_info_clear)

/* Called for every entry but the root, parents before children, in byte order of names. @path is
 * relative to the root. @dir_fd/@name: the entry. Returns false to stop (with @error set). A walk, too,
 * ends at a mount point or a nested subvolume with GBE_ERROR_UNSAFE_SOURCE; it visits what a scan
 * refuses otherwise, but does not open it. */
typedef bool (*GbeTreeVisit)(const char *path, int dir_fd, const char *name, const struct stat *st,
			     gpointer data, GError **error);

/* What a walk may cost; beyond it GBE_ERROR_UNSAFE_SOURCE, which names the limit. */
typedef struct {
	guint64 entries;
	gint64 deadline; /* on g_get_monotonic_time(); 0: none */
} GbeTreeLimits;

/* From now on. */
GbeTreeLimits gbe_tree_look_limits(void);

/* @exclude: NULL, or NULL-terminated names at the top of the tree that are no part of it. */
bool gbe_tree_scan(int dir_fd, const char *const *exclude, GbeTreeInfo *ret_info,
		   GError **error) GBE_CHECKED;
bool gbe_tree_scan_within(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
			  GbeTreeInfo *ret_info, GError **error) GBE_CHECKED;
bool gbe_tree_walk(int dir_fd, const char *const *exclude, GbeTreeVisit visit, gpointer data,
		   GError **error) GBE_CHECKED;
/* The same for who does with "unknown" what cannot be listed at that price. */
bool gbe_tree_walk_within(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
			  GbeTreeVisit visit, gpointer data, GError **error) GBE_CHECKED;

/* Which inode: for hard links. */
typedef struct {
	dev_t dev;
	ino_t ino;
} GbeInode;

guint gbe_inode_hash(gconstpointer key);
gboolean gbe_inode_equal(gconstpointer a, gconstpointer b);
/* @set: of GbeInode, freed by it. False when the inode of @st was there: a further name of a file. What
 * has one name only is not put in. */
bool gbe_inode_set_add(GHashTable *set, const struct stat *st);
