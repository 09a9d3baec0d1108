/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cloning a tree: a btrfs snapshot where the source is a subvolume of many extents, else FICLONE file by
 * file, else a hole-aware copy with preallocation kept (up to the end of the file a hole stays a hole, an allocated
 * and never written range stays allocated; FICLONE on XFS makes a hole of the latter). Owner, mode,
 * times, xattrs, ACLs, security labels, NOCOW and hard links inside the tree are preserved; symlinks
 * are copied as symlinks. Other inode flags (immutable, append-only, compression) are not; a file with
 * a further name outside of the tree becomes a file of its own. The source is scanned first (tree.h).
 *
 * Nothing is synced here: the caller sees to that (gbe_sync_content()), then renames. After a power cut the
 * destination is any part of a tree, so it must carry a name that says so (backup-name.h, rungs). On
 * an error what was made is removed again.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/verdict.h"
#include "fs/tree.h"

/* Which of the two nobody is going to read soon. Of its large files, what is copied byte by byte does not stay in
 * memory: that is left to what the device works on. */
typedef enum {
	GBE_COLD_NONE,
	GBE_COLD_SOURCE,
	GBE_COLD_COPY,
} GbeCold;

/* Of all files together, of a backup that may be left out (->cow_only): 3 s on XFS. */
#define GBE_CLONE_MAX_EXTENTS 500000

typedef struct {
	GbeMethod allowed; /* the cheapest method that may be used: GBE_METHOD_SNAPSHOT: any */
	gboolean cow_only; /* never copy bytes: GBE_ERROR_UNSUPPORTED instead */
	gboolean compare; /* what is copied is read back and compared with the source, part by part:
			     * both are in memory by then. GBE_ERROR_VERIFY_FAILED */
	gboolean read_only; /* a snapshot is made read-only */
	gboolean atomic;    /* of one moment where that can be had: a snapshot whatever it costs */
	GbeCold cold;
	const char *const *exclude; /* names at the top, as in tree.h */
	/* For live copies: these paths, with what is below them, are cloned first, one after the
	 * other; the rest after them. NULL: in the order of names. */
	const char *const *first;
	/* May be NULL; @bytes (apparent) are through so far; false cancels. */
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
} GbeCloneOptions;

typedef struct {
	GbeMethod method; /* the most expensive one that was used */
	GbeTreeInfo info;
	gboolean compared;     /* every file was copied and compared, none cloned */
	guint64 bytes_written; /* data bytes that were really copied */
	guint flushes_ahead;   /* while a file was cloned: nothing rests on them (flush-ahead.h) */
} GbeCloneResult;

void gbe_clone_result_clear(GbeCloneResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeCloneResult, gbe_clone_result_clear)

/* @dst must not exist. Both names are one component. */
bool gbe_clone_tree_at(int src_parent, const char *src, int dst_parent, const char *dst,
		       const GbeCloneOptions *options, GbeCloneResult *ret_result,
		       GError **error) GBE_CHECKED;

/* One file: FICLONE, else copy; fds of an existing source and an empty destination (readable for ->compare). *ret_method and
 * *ret_written may be NULL. Content and holes only, no metadata. */
bool gbe_clone_file(int src_fd, int dst_fd, const char *what, const GbeCloneOptions *options,
		    GbeMethod *ret_method, guint64 *ret_written, GError **error) GBE_CHECKED;
