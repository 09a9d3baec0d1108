/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads and proves a bbolt database. Format: reference etcd.md section 5. Rules: what bbolt's writer guarantees,
 * which is more than bbolt's own check. Only reads, by pread through windows; trusts no length and visits no page
 * twice. For any bytes, the file's size bounds the time, GBE_BBOLT_WINDOW and the set of pages the memory.
 */
#pragma once

#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "etcd/finding.h"
#include "etcd/window.h"

/* ---- pages and elements as on disk, little-endian ---- */

#define GBE_PAGE_BRANCH 0x01U
#define GBE_PAGE_LEAF 0x02U
#define GBE_PAGE_FREELIST 0x10U
#define GBE_PAGE_HEADER 16U
#define GBE_PAGE_ELEMENT 16U
#define GBE_LEAF_BUCKET 0x01U
#define GBE_BUCKET_HEADER 16U

typedef struct {
	guint64 id;
	guint16 flags;
	guint16 count;
	guint32 overflow; /* pages that follow and belong to this one */
} GbePageHeader;

static inline guint32
gbe_load32(const guint8 *at)
{
	guint32 value;

	memcpy(&value, at, sizeof(value));
	return GUINT32_FROM_LE(value);
}

static inline guint64
gbe_load64(const guint8 *at)
{
	guint64 value;

	memcpy(&value, at, sizeof(value));
	return GUINT64_FROM_LE(value);
}

static inline guint64
gbe_load_be64(const guint8 *at)
{
	guint64 value;

	memcpy(&value, at, sizeof(value));
	return GUINT64_FROM_BE(value);
}

static inline GbePageHeader
gbe_page_header(const guint8 *at)
{
	guint32 kind = gbe_load32(at + 8);

	return (GbePageHeader){
	    .id = gbe_load64(at),
	    .flags = (guint16)(kind & 0xffff),
	    .count = (guint16)(kind >> 16),
	    .overflow = gbe_load32(at + 12),
	};
}

/* ---- the meta pages: bbolt-meta.c ---- */

/* Pages 0 and 1. Each commit writes one of them, with its transaction's number; the valid page with the higher number
 * describes the database. */

/* bbolt tries every page size from 1 KiB to 16 MiB when the first page does not tell one. */
#define GBE_BBOLT_PAGE_MIN 512U
#define GBE_BBOLT_PAGE_MAX (16U * 1024 * 1024)
/* The freelist of a database that does not store its free pages; etcd does not since 3.3. */
#define GBE_BBOLT_NO_FREELIST G_MAXUINT64

typedef struct {
	guint32 page_size;   /* bytes, a power of two */
	guint64 root;	     /* the page of the bucket of buckets */
	guint64 sequence;    /* of that bucket */
	guint64 freelist;    /* its page, or GBE_BBOLT_NO_FREELIST */
	guint64 high_water;  /* the first page never used */
	guint64 transaction; /* of the commit that wrote this page */
} GbeBboltMeta;

typedef enum {
	GBE_META_DAMAGED,      /* missing, torn, or with a wrong checksum */
	GBE_META_VALID,	       /* as bbolt >= 1.3.7 has it: a checksum of 0 is invalid */
	GBE_META_BYTE_SWAPPED, /* written on a machine of the other byte order */
	GBE_META_OTHER_FORMAT, /* a version that is not 2, and not damaged */
	/* whole, but its page size is invalid, or differs from the other page's */
	GBE_META_OTHER_SIZE,
} GbeMetaState;

/* @ret_meta is set where the state is GBE_META_VALID, else zeroed. Errors are read errors; pages of a file that is
 * too short are damaged. */
bool gbe_bbolt_read_metas(int fd, const char *what, GbeBboltMeta ret_meta[2],
			  GbeMetaState ret_state[2], GError **error) GBE_CHECKED;
/* The index of the valid page with the higher number; 0 where none is valid. */
guint gbe_bbolt_newer_meta(const GbeBboltMeta meta[2], const GbeMetaState state[2]);
/* Reads that page. GBE_ERROR_CORRUPT: no page is valid. */
bool gbe_bbolt_read_newest(int fd, const char *what, GbeBboltMeta *ret_meta,
			   GError **error) GBE_CHECKED;
/* The number is 0 for an invalid page. *ret_valid: at least one page is valid. */
bool gbe_bbolt_read_txids(int fd, const char *what, guint64 ret_txid[2], bool *ret_valid,
			  GError **error) GBE_CHECKED;
/* Writes the page's first GBE_BBOLT_META_SIZE bytes. @page is 0 or 1. */
#define GBE_BBOLT_META_SIZE 80
void gbe_bbolt_meta_write(const GbeBboltMeta *meta, guint page, guint8 *to);

/* ---- the set of pages that were reached ---- */

/* Its memory depends on where the pages lie, not on how large the numbers are, and is limited. Zero at first. */
typedef struct {
	GHashTable *chunks; /* number of the chunk -> bits */
	guint64 last;	    /* the chunk of the last access, and its bits */
	guint64 *bits;
	guint64 count; /* numbers in the set */
} GbePageSet;

typedef enum {
	GBE_PAGE_NEW,
	GBE_PAGE_TWICE, /* it was in the set before */
	GBE_PAGE_FULL,	/* the set is full: 64 Mi pages side by side, 2,048 far apart */
} GbePageResult;

GbePageResult gbe_page_set_add(GbePageSet *set, guint64 page);
bool gbe_page_set_has(GbePageSet *set, guint64 page);
void gbe_page_set_clear(GbePageSet *set);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePageSet, gbe_page_set_clear)

/* ---- the tree ---- */

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
 * functions, wrong content becomes a finding and the walk continues with the next page; false and GError are read
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
	/* visits only the rows of the last leaf, with one page of each level on the way */
	bool last_leaf;
} GbeBboltVisitor;

typedef struct {
	char *name; /* NUL-terminated */
	gsize name_size;
	guint64 page;	    /* the page that has this entry */
	guint64 root;	    /* 0: inline */
	guint8 *inlined;    /* the inline page, in the bucket's value */
	gsize inlined_size; /* 0 unless inline */
} GbeBboltBucket;

/* The buckets below the root as GbeBboltBucket, in the order of their names. Each entry of the root must be a
 * bucket. @reached: as for gbe_bbolt_walk(). */
bool gbe_bbolt_buckets(GbeBbolt *db, GbePageSet *reached, GPtrArray **ret_buckets,
		       GError **error) GBE_CHECKED;

/* Visits every row of @bucket in order. With @reached, pages are proved and counted in it, none may be in it twice,
 * and nested buckets are also walked, without the visitor. Without @reached, the bucket must have been walked with
 * it before and have no damage. @visitor may be NULL. */
bool gbe_bbolt_walk(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
		    const GbeBboltVisitor *visitor, GError **error) GBE_CHECKED;

/* Reads @want bytes (at most GBE_BBOLT_WINDOW) of a row's value that is too large for memory. The row's key becomes
 * invalid. */
bool gbe_bbolt_fetch(GbeBbolt *db, guint64 offset, gsize want, const guint8 **ret_at,
		     GError **error) GBE_CHECKED;

/* Call this after every bucket was walked. Free and reached pages must be all pages below the high-water mark, and
 * no page both. If the file has no list of free pages, the pages that were not reached are free. */
bool gbe_bbolt_check_free(GbeBbolt *db, GbePageSet *reached, guint64 *ret_free,
			  GError **error) GBE_CHECKED;
