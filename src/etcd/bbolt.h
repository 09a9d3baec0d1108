/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bbolt database, read and proved. Format: reference etcd.md section 5; rules: what bbolt's writer
 * guarantees, which is more than what its own check looks at. Reads by pread through windows of bounded
 * memory, trusts no length, visits no page twice: whatever the bytes, time is bounded by the file's
 * size and memory by GBE_BBOLT_WINDOW and the set of pages. Never writes.
 *
 * What is wrong with the content is added to the findings, and the walk goes on with the next page;
 * false and GError are for errors of reading.
 */
#pragma once

#include "etcd/bbolt-meta.h"
#include "etcd/finding.h"
#include "etcd/page-set.h"
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
	gboolean fell_back; /* the newer meta page is not valid: the last commit is not seen */
	guint64 damages;    /* of the structure, found so far: some rows may not have been seen */
	GbeWindow window;   /* leaves and free lists */
	GbeWindow levels[GBE_BBOLT_DEPTH_MAX];
} GbeBbolt;

/* *ret_usable false: no meta page is valid, and a finding says why; there is nothing to walk then. @fd,
 * @what, @look (see etcd/window.h) and @findings are borrowed for the life of @ret_db, which gbe_bbolt_close() ends. */
bool gbe_bbolt_open(int fd, const char *what, GbeLook *look, GbeFindings *findings,
		    GbeBbolt *ret_db, bool *ret_usable, GError **error) GBE_CHECKED;
void gbe_bbolt_close(GbeBbolt *db);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeBbolt, gbe_bbolt_close)

/* One element of a leaf. The memory is the window's: it goes with the next settle(). */
typedef struct {
	guint64 page;
	gboolean is_bucket;
	const guint8 *key;
	gsize key_size;
	const guint8 *value; /* NULL: too large for the window, gbe_bbolt_fetch() has its pieces */
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
	void (*settle)(gpointer data); /* what rows pointed to is about to go; NULL */
	gpointer data;
} GbeBboltVisitor;

typedef struct {
	char *name; /* with a NUL behind it */
	gsize name_size;
	guint64 page;	    /* where that is written */
	guint64 root;	    /* 0: inline */
	guint64 sequence;   /* bbolt's own counter; etcd leaves it alone */
	guint8 *inlined;    /* the page that stands in the bucket's value */
	gsize inlined_size; /* 0 unless inline */
} GbeBboltBucket;

/* The buckets below the root, in the order of their names: of GbeBboltBucket. Each entry of the root
 * must be one. @reached: as for gbe_bbolt_walk(). */
bool gbe_bbolt_buckets(GbeBbolt *db, GbePageSet *reached, GPtrArray **ret_buckets,
		       GError **error) GBE_CHECKED;

/* Every row of @bucket in order. With @reached: pages are proved, counted in it, and may be in it only
 * once; buckets within are walked as well, without the visitor. Without: for a bucket that was walked so
 * before and has no damage. @visitor may be NULL. *ret_stopped (may be NULL): by the visitor. */
bool gbe_bbolt_walk(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
		    const GbeBboltVisitor *visitor, bool *ret_stopped, GError **error) GBE_CHECKED;

/* The rows of the last leaf alone, with a page of each level on the way: for who wants the last row. */
bool gbe_bbolt_walk_end(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
			const GbeBboltVisitor *visitor, GError **error) GBE_CHECKED;

/* @want bytes (at most GBE_BBOLT_WINDOW) of a row's value that is too large to be in memory; ends the
 * life of the row's key. */
bool gbe_bbolt_fetch(GbeBbolt *db, guint64 offset, gsize want, const guint8 **ret_at,
		     GError **error) GBE_CHECKED;

/* Once every bucket was walked: the free pages and those reached are all below the high-water mark, none
 * both. Where the list of free pages is not kept, free is what was not reached. */
bool gbe_bbolt_check_free(GbeBbolt *db, GbePageSet *reached, guint64 *ret_free,
			  GError **error) GBE_CHECKED;

/* Damage of the structure, on one page. */
void gbe_bbolt_damage(GbeBbolt *db, const char *code, guint64 page, GbeTri etcd_notices,
		      const char *format, ...) G_GNUC_PRINTF(5, 6);
