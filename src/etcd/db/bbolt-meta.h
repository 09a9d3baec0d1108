/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two meta pages of a bbolt database, pages 0 and 1. Each commit writes one of them, with its transaction's
 * number; the valid page with the higher number describes the database. Format: reference etcd.md section 5 (bbolt
 * file format 2).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

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
/* The valid page with the higher number. GBE_ERROR_CORRUPT: there is none. */
bool gbe_bbolt_read_newest(int fd, const char *what, GbeBboltMeta *ret_meta,
			   GError **error) GBE_CHECKED;
/* The number is 0 for an invalid page. *ret_valid: at least one page is valid. */
bool gbe_bbolt_read_txids(int fd, const char *what, guint64 ret_txid[2], bool *ret_valid,
			  GError **error) GBE_CHECKED;
/* Writes the page's first GBE_BBOLT_META_SIZE bytes. @page is 0 or 1. */
#define GBE_BBOLT_META_SIZE 80
void gbe_bbolt_meta_write(const GbeBboltMeta *meta, guint page, guint8 *to);
