/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Examines etcd's database (member/snap/db or a snapshot file) without etcd. Checks structure, buckets and rules that
 * etcd never checks (I1 to I4 of reference etcd.md section 5). Computes the hashes that etcd and etcdctl print. Writes
 * nothing. The file must not change meanwhile: the caller has etcd's lock, or a clone. Memory is at most 32 MiB;
 * GbeDbOptions limits the time. A file that costs more (holes above all, see etcd/window.h) is GBE_FINDING_UNKNOWN,
 * "db-unread".
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/version.h"
#include "etcd/finding.h"

typedef enum {
	/* meta pages, the root, the buckets with few rows, the last row of "key": constant cost */
	GBE_VERIFY_SANITY,
	GBE_VERIFY_FULL, /* every page and row */
} GbeVerifyLevel;

/* The examined parts, for the report. */
typedef enum {
	GBE_DB_CHECKED_BUCKETS = 1 << 0, /* meta pages, root, meta, cluster, members */
	GBE_DB_CHECKED_PAGES = 1 << 1,	 /* each page is reached once, in bounds, in order */
	GBE_DB_CHECKED_FREE = 1 << 2,	 /* free pages and pages in use are all pages */
	GBE_DB_CHECKED_ROWS = 1 << 3,	 /* I1: each row alone */
	/* I3, I4: no revision is missing after the compacted one */
	GBE_DB_CHECKED_REVISIONS = 1 << 4,
	GBE_DB_CHECKED_HISTORIES = 1 << 5, /* I2: each row against the one before it of its key */
} GbeDbChecked;

/* The newest row of "key". Only set with GBE_VERIFY_FULL. */
typedef struct {
	bool known;    /* there was no damage, and the row is not too large */
	bool none;     /* there is no row */
	bool deleted;  /* the row is a deletion, or was one that a compaction removed */
	guint64 key;   /* its hash */
	guint32 value; /* CRC-32C */
} GbeDbNewest;

typedef struct {
	bool present;  /* there is a database: one meta page is valid */
	bool unread;   /* the look's limit was reached: the other fields are from before that */
	guint checked; /* GbeDbChecked */
	guint64 consistent_index, term; /* 0: absent */
	gint64 revision;		/* etcd's current one; 0: unknown */
	/* revision of the last row, which etcdctl calls the snapshot's; 0: no row */
	gint64 last_row;
	gint64 compact_revision; /* -1: never compacted */
	gint64 compacting;	 /* an unfinished compaction up to this revision; 0: none */
	GbeDbNewest newest;
	/* an alarm or users exist: etcd may have refused requests. Only with GBE_VERIFY_FULL */
	bool refuses;
	/* keys of kube-apiserver exist. Only with GBE_VERIFY_FULL */
	bool kubernetes;
	guint64 keys; /* rows of all buckets: totalKey of etcd up to 3.5; 3.6: ->live_keys */
	guint64 rows, live_keys; /* of "key"; live_keys with GBE_DB_CHECKED_HISTORIES only */
	guint64 total_size;	 /* etcdctl's figure: up to the high-water mark */
	guint64 free_pages, page_size;
	guint64 size;	    /* of the file */
	guint64 bytes_read; /* over all passes */
	bool has_hash;	    /* of the snapshot */
	/* at ->revision; needs the histories where the database was compacted */
	bool has_hash_kv;
	guint32 hash_kv, snapshot_hash;
	char *cluster_version, *storage_version; /* "3.5.0"; NULL: absent */
	int voters, learners; /* from confState, which 3.5 and later write; -1 unknown */
	int members;	      /* in the bucket of members; -1 unknown */
} GbeDb;

void gbe_db_clear(GbeDb *db);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDb, gbe_db_clear)

typedef struct {
	GbeVerifyLevel level;
	/* full, without checks that need state per key */
	bool quick;
	/* bytes read so far; false: cancelled; or NULL */
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
	/* For each part (the database, the log, the .snap files). 0: no limit. */
	guint seconds;
	/* The etcd that is to start on it; versions differ in what they survive. Not known: the one that the data
	 * itself names. */
	GbeVersion reader;
	/* A log that is not there may lie elsewhere, where etcd's --wal-dir= says. False: it is a copy, and has
	 * none. */
	bool log_elsewhere;
} GbeDbOptions;

/* @what: the file's name in findings and messages. Wrong content is a finding; an error is a read error, or
 * GBE_ERROR_FAILED where progress cancelled. The file is read once, and again for the histories of very many keys
 * and for HashKV of a compacted database. */
bool gbe_db_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
		 GbeFindings *findings, GError **error) GBE_CHECKED;
