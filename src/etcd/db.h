/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's database, member/snap/db or a snapshot file, looked at without etcd: its structure, its buckets,
 * what the rows must say about each other although etcd never checks it (rules I1 to I4 of reference
 * etcd.md section 5), and the hashes that a live etcd and etcdctl would print. Opens nothing, writes
 * nothing. A file that is being written tells nothing: the caller has etcd's lock, or a clone.
 *
 * Memory is bounded by 32 MiB whatever the file's size, time by GbeDbOptions; what costs more (holes above
 * all, see etcd/window.h) is GBE_FINDING_UNKNOWN, "db-unread". It is read once, and again where that is needed
 * for the histories of very many keys and for HashKV of a compacted database.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "etcd/finding.h"

typedef enum {
	GBE_VERIFY_SANITY, /* meta pages, the root, the buckets of a few rows, the last row of "key":
			    * cost is constant */
	GBE_VERIFY_FULL,   /* every page and row */
} GbeVerifyLevel;

/* What was looked at, so that a report can say so. */
typedef enum {
	GBE_DB_CHECKED_BUCKETS = 1 << 0,   /* meta pages, root, meta, cluster, members */
	GBE_DB_CHECKED_PAGES = 1 << 1,	   /* each page reached once, in bounds, in order */
	GBE_DB_CHECKED_FREE = 1 << 2,	   /* free pages and pages in use are all there are */
	GBE_DB_CHECKED_ROWS = 1 << 3,	   /* I1: each row for itself */
	GBE_DB_CHECKED_REVISIONS = 1 << 4, /* I3, I4: none missing beyond the compacted one */
	GBE_DB_CHECKED_HISTORIES = 1 << 5, /* I2: each row and the one before it of its key */
} GbeDbChecked;

/* What the newest row of "key" says; of GBE_VERIFY_FULL. */
typedef struct {
	gboolean known;	  /* there was no damage, and it is not too large to be looked at */
	gboolean none;	  /* there is no row */
	gboolean deleted; /* it is a deletion, or it was, before a compaction took it */
	guint64 key;	  /* its hash */
	guint32 value;	  /* CRC-32C */
} GbeDbNewest;

typedef struct {
	gboolean present; /* there is a database: a meta page is valid */
	gboolean unread;  /* beyond what a look may cost: what follows is from before its end */
	guint checked;	  /* GbeDbChecked */
	guint64 consistent_index, term; /* 0: not there */
	gint64 revision;		/* etcd's current one; 0: could not be told */
	gint64 last_row; /* its revision, which etcdctl calls the snapshot's; 0: there is none */
	gint64 compact_revision; /* -1: never compacted */
	gint64 compacting;	 /* a compaction up to there was begun, and not finished; 0: none */
	GbeDbNewest newest;
	gboolean
	    refuses;  /* an alarm, or users: requests may have been refused. Of GBE_VERIFY_FULL */
	guint64 keys; /* rows of all buckets: totalKey of etcd up to 3.5; 3.6: ->rows */
	guint64 rows, live_keys; /* of "key"; live_keys with GBE_DB_CHECKED_HISTORIES only */
	guint64 total_size;	 /* what etcdctl calls so: up to the high-water mark */
	guint64 free_pages, page_size;
	guint64 size;	      /* of the file */
	guint64 bytes_read;   /* over all passes */
	gboolean has_hash;    /* of the snapshot */
	gboolean has_hash_kv; /* at .revision; needs the histories where it was compacted */
	guint32 hash_kv, snapshot_hash;
	char *cluster_version, *storage_version; /* "3.5.0"; NULL: not there */
	int voters, learners; /* of confState, which 3.5 and later write; -1 unknown */
	int members;	      /* in their bucket; -1 unknown */
} GbeDb;

void gbe_db_clear(GbeDb *db);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDb, gbe_db_clear)

typedef struct {
	GbeVerifyLevel level;
	gboolean quick;					/* full without what needs state per key */
	bool (*progress)(guint64 bytes, gpointer data); /* read so far; false: cancelled; or NULL */
	gpointer progress_data;
	/* For each part (the database, the log, the .snap files); 0: as long as it takes. */
	guint seconds;
} GbeDbOptions;

/* @what: the file's name in findings and messages. What is wrong with the content is a finding; an
 * error is one of reading, or GBE_ERROR_FAILED where progress said so. */
bool gbe_db_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
		 GbeFindings *findings, GError **error) GBE_CHECKED;
