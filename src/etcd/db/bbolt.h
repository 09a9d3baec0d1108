/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads and proves a bbolt database. Format: reference etcd.md section 5. Rules: what bbolt's writer guarantees,
 * which is more than bbolt's own check. Only reads, by pread through windows; trusts no length and visits no page
 * twice. Whatever the bytes are, the file's size bounds the time, GBE_BBOLT_WINDOW and the set of pages the memory.
 * Implemented in bbolt.c, bbolt-walk.c, bbolt-free.c.
 */
#pragma once

#include "etcd/db/bbolt-meta.h"
#include "etcd/db/page-set.h"
#include "etcd/finding.h"
#include "etcd/window.h"

#define GBE_BBOLT_WINDOW (256 * 1024)
#define GBE_BBOLT_LEVEL_WINDOW (64 * 1024)
#define GBE_BBOLT_DEPTH_MAX 32
#define GBE_BBOLT_KEY_MAX 32768
#define GBE_BBOLT_BUCKETS_MAX 256

typedef struct {
	const char *what; /* the file's name in findings and messages; borrowed */
	GbeFindings *findings;
	guint64 file_size;
	GbeBboltMeta meta;
	bool fell_back;	  /* the newer meta page is invalid: the last commit is not visible */
	guint64 damages;  /* of the structure, so far: some rows may be missing */
	GbeWindow window; /* leaves and free lists */
	GbeWindow levels[GBE_BBOLT_DEPTH_MAX];
} GbeBbolt;

/* *ret_usable false: no meta page is valid, a finding says why, and there is nothing to walk. @fd, @what, @look
 * (see etcd/window.h) and @findings are borrowed for the life of @ret_db, which gbe_bbolt_close() ends. In all
 * functions, wrong content becomes a finding and the walk goes on with the next page; false and GError are read
 * errors. */
bool gbe_bbolt_open(int fd, const char *what, GbeLook *look, GbeFindings *findings,
		    GbeBbolt *ret_db, bool *ret_usable, GError **error) GBE_CHECKED;
void gbe_bbolt_close(GbeBbolt *db);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeBbolt, gbe_bbolt_close)

/* One element of a leaf. The memory is the window's and is valid until the next settle(). */
typedef struct {
	guint64 page;
	bool is_bucket;
	const guint8 *key;
	gsize key_size;
	const guint8 *value; /* NULL: too large for the window; see gbe_bbolt_fetch() */
	guint64 value_size;
	guint64 value_at; /* byte of the file */
} GbeBboltRow;

typedef enum {
	GBE_WALK_ON,
	GBE_WALK_STOP, /* seen enough */
	GBE_WALK_FAIL, /* the error is set */
} GbeWalk;

typedef struct {
	GbeWalk (*row)(const GbeBboltRow *row, gpointer data, GError **error);
	void (*settle)(gpointer data); /* the rows' memory is about to be reused; may be NULL */
	gpointer data;
} GbeBboltVisitor;

typedef struct {
	char *name; /* NUL-terminated */
	gsize name_size;
	guint64 page;	    /* the page that has this entry */
	guint64 root;	    /* 0: inline */
	guint64 sequence;   /* bbolt's own counter; etcd does not use it */
	guint8 *inlined;    /* the inline page, in the bucket's value */
	gsize inlined_size; /* 0 unless inline */
} GbeBboltBucket;

/* The buckets below the root as GbeBboltBucket, in the order of their names. Each entry of the root must be a
 * bucket. @reached: as for gbe_bbolt_walk(). */
bool gbe_bbolt_buckets(GbeBbolt *db, GbePageSet *reached, GPtrArray **ret_buckets,
		       GError **error) GBE_CHECKED;

/* Visits every row of @bucket in order. With @reached, pages are proved and counted in it, none may be in it twice,
 * and nested buckets are walked, too, without the visitor. Without @reached, the bucket must have been walked with
 * it before and have no damage. @visitor may be NULL. *ret_stopped (may be NULL): the visitor stopped the walk. */
bool gbe_bbolt_walk(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
		    const GbeBboltVisitor *visitor, bool *ret_stopped, GError **error) GBE_CHECKED;

/* Visits only the rows of the last leaf, with one page of each level on the way, for callers that want the last
 * row. */
bool gbe_bbolt_walk_end(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
			const GbeBboltVisitor *visitor, GError **error) GBE_CHECKED;

/* Reads @want bytes (at most GBE_BBOLT_WINDOW) of a row's value that is too large for memory. The row's key becomes
 * invalid. */
bool gbe_bbolt_fetch(GbeBbolt *db, guint64 offset, gsize want, const guint8 **ret_at,
		     GError **error) GBE_CHECKED;

/* Call this after every bucket was walked. Free and reached pages must be all pages below the high-water mark, and
 * no page both. Where the file has no list of free pages, the pages that were not reached are free. */
bool gbe_bbolt_check_free(GbeBbolt *db, GbePageSet *reached, guint64 *ret_free,
			  GError **error) GBE_CHECKED;

/* Adds a finding: damage of the structure, on one page. */
void gbe_bbolt_damage(GbeBbolt *db, const char *code, guint64 page, GbeTri etcd_notices,
		      const char *format, ...) G_GNUC_PRINTF(5, 6);
