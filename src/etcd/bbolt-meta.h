/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two meta pages of a bbolt database, pages 0 and 1: each commit writes one of them, with its
 * transaction's number; the valid one with the higher number tells the database. Format: reference
 * etcd.md section 5 (bbolt file format 2).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* bbolt tries every page size from 1 KiB to 16 MiB when the first page does not say one. */
#define GBE_BBOLT_PAGE_MIN 512U
#define GBE_BBOLT_PAGE_MAX (16U * 1024 * 1024)
/* The freelist of a database whose free pages are not written down, as etcd has it since 3.3. */
#define GBE_BBOLT_NO_FREELIST G_MAXUINT64

typedef struct {
	guint32 page_size;   /* bytes, a power of two */
	guint64 root;	     /* the page of the bucket of buckets */
	guint64 sequence;    /* of that bucket */
	guint64 freelist;    /* a page, or GBE_BBOLT_NO_FREELIST */
	guint64 high_water;  /* the first page never used */
	guint64 transaction; /* of the commit that wrote it */
} GbeBboltMeta;

typedef enum {
	GBE_META_DAMAGED,      /* none, torn, or its checksum is wrong */
	GBE_META_VALID,	       /* as bbolt >= 1.3.7 has it: a checksum of 0 is none */
	GBE_META_BYTE_SWAPPED, /* by a machine of the other byte order */
	GBE_META_OTHER_FORMAT, /* a version that is not 2, and not damaged */
	GBE_META_OTHER_SIZE,   /* whole, but its page size is none, or not that of the other page */
} GbeMetaState;

/* @ret_meta is set where the state is GBE_META_VALID, else zeroed. Errors are those of reading; a file
 * that is too short has damaged pages. */
bool gbe_bbolt_read_metas(int fd, const char *what, GbeBboltMeta ret_meta[2],
			  GbeMetaState ret_state[2], GError **error) GBE_CHECKED;
/* 0 for a page that is not valid; *ret_valid: one of them is. */
bool gbe_bbolt_read_txids(int fd, const char *what, guint64 ret_txid[2], bool *ret_valid,
			  GError **error) GBE_CHECKED;
/* The page's first GBE_BBOLT_META_SIZE bytes: @page is 0 or 1. */
#define GBE_BBOLT_META_SIZE 80
void gbe_bbolt_meta_write(const GbeBboltMeta *meta, guint page, guint8 *to);
