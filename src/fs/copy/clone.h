/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clones a tree. A subvolume with many extents becomes a btrfs snapshot. Else each file is cloned by FICLONE, or copied
 * with its holes and preallocation. The source is scanned first (tree.h). The caller syncs
 * (gbe_sync_content()), then renames. A power cut leaves any part of the tree, so its name must say so (backup-name.h,
 * rungs). After an error that part is removed. Implemented in clone.c, clone-file.c.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/words.h"
#include "fs/tree.h"

/* The tree that is not read again soon. Those of its large files that are copied byte by byte do not stay in
 * memory, so that the device's own work keeps its cache. */
typedef enum {
	GBE_COLD_NONE,
	GBE_COLD_SOURCE,
	GBE_COLD_COPY,
} GbeCold;

/* Of all files together, in a backup that may be left out (->cow_only). Cloning that many takes 3 s on XFS. */
#define GBE_CLONE_MAX_EXTENTS 500000

typedef struct {
	/* the cheapest method that may be used; GBE_METHOD_SNAPSHOT allows any */
	GbeMethod allowed;
	bool cow_only; /* never copy bytes: GBE_ERROR_UNSUPPORTED instead */
	/* the copy is read back and compared with the source, part by part, while both are in memory.
	 * GBE_ERROR_VERIFY_FAILED */
	bool compare;
	bool read_only; /* a snapshot is made read-only */
	/* the copy shows one moment where possible: a snapshot is made whatever it costs */
	bool atomic;
	GbeCold cold;
	const char *const *exclude; /* names at the top that are left out, as in tree.h */
	/* For live copies: these paths, with everything below them, are cloned first and in this order; the rest
	 * follows. NULL: in the order of names. */
	const char *const *first;
	/* May be NULL. @bytes (apparent) are done so far. Returning false cancels. */
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
} GbeCloneOptions;

typedef struct {
	GbeMethod method; /* the most expensive one that was used */
	GbeTreeInfo info;
	bool compared;	       /* every file was copied and compared, none cloned */
	guint64 bytes_written; /* data bytes that were really copied */
} GbeCloneResult;

void gbe_clone_result_clear(GbeCloneResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeCloneResult, gbe_clone_result_clear)

/* @dst must not exist. Both names are one component. Owner, mode, times, xattrs, ACLs, security labels, NOCOW and hard
 * links inside the tree are kept; a symlink is copied as a symlink. Other inode flags (immutable, append-only,
 * compression) are not kept. A file with another name outside of the tree becomes a file of its own. Up to the end of a
 * file, a copy keeps holes and allocated ranges that were never written. FICLONE on XFS turns these ranges into
 * holes. */
bool gbe_clone_tree_at(int src_parent, const char *src, int dst_parent, const char *dst,
		       const GbeCloneOptions *options, GbeCloneResult *ret_result,
		       GError **error) GBE_CHECKED;

/* Makes the empty directory @dst, which must not exist, with the attributes of @src_fd's directory. @subvolume: if that
 * directory is a subvolume, @dst becomes one. */
bool gbe_clone_top_at(int src_fd, int dst_parent, const char *dst, bool subvolume,
		      GError **error) GBE_CHECKED;

/* Does @dst_dir's file system have what copies of @src_fd's directory need? GBE_ERROR_UNSUPPORTED: it has no place for one
 * of the directory's attributes, or cannot rename without replacing. Any other failure tells nothing of it. Makes an
 * empty directory and removes it; a power cut leaves it to the sweep of the store. */
bool gbe_clone_probe(int src_fd, int dst_dir, GError **error) GBE_CHECKED;

/* Clones one file, or copies it where FICLONE fails: content and holes only, no metadata. Takes fds of an existing
 * source and an empty destination (readable for ->compare). *ret_method and *ret_written may be NULL. */
bool gbe_clone_file(int src_fd, int dst_fd, const char *what, const GbeCloneOptions *options,
		    GbeMethod *ret_method, guint64 *ret_written, GError **error) GBE_CHECKED;
