/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of etcd/db.h share. */
#pragma once

#include "etcd/bbolt.h"
#include "etcd/db.h"
#include "etcd/hash-kv.h"
#include "etcd/history.h"
#include "etcd/key-value.h"

typedef struct {
	const GbeDbOptions *options;
	GbeBbolt bolt;
	GbeFindings *findings;
	GbeDb db;
	gint64 scheduled, finished; /* compactions; 0: none */
	gboolean has_meta;
	GbeStream snapshot;
	GbeLook look;
} GbeDbReader;

/* ---- the buckets of a few rows: db-buckets.c ---- */

/* One row of a bucket other than "key"; takes what GbeDb has a place for. */
void gbe_db_take_row(GbeDbReader *reader, const char *bucket, const GbeBboltRow *row);
/* Which buckets should be there, and are not; which are not known. */
void gbe_db_check_names(GbeDbReader *reader, const GPtrArray *buckets);

/* ---- the bucket "key": db-rows.c ---- */

/* Every row, with pages proved; the snapshot's hash goes on over them. */
bool gbe_db_read_rows(GbeDbReader *reader, const GbeBboltBucket *bucket, GbePageSet *reached,
		      GError **error) GBE_CHECKED;

/* ---- its newest row: db-newest.c ---- */

/* Sets ->db.newest, of rows that are sound. */
bool gbe_db_read_newest(GbeDbReader *reader, const GbeBboltBucket *bucket,
			GError **error) GBE_CHECKED;
