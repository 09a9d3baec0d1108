/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files behind etcd/db/db.h. Implemented in buckets.c, rows.c. */
#pragma once

#include "etcd/db/bbolt.h"
#include "etcd/db/db.h"
#include "etcd/db/hash-kv.h"
#include "etcd/db/history.h"
#include "etcd/db/key-value.h"

typedef struct {
	const GbeDbOptions *options;
	GbeBbolt bolt;
	GbeFindings *findings;
	GbeDb db;
	gint64 scheduled, finished; /* compactions; 0: none */
	bool has_meta;
	GbeStream snapshot;
	GbeLook look;
} GbeDbReader;

/* ---- the buckets with few rows: buckets.c ---- */

/* Takes one row of a bucket other than "key" into the fields of GbeDb. */
void gbe_db_take_row(GbeDbReader *reader, const char *bucket, const GbeBboltRow *row);
/* Reports missing and unknown buckets. */
void gbe_db_check_names(GbeDbReader *reader, const GPtrArray *buckets);

/* ---- the bucket "key": rows.c ---- */

/* Reads every row, proves the pages, and continues the snapshot's hash over the rows. */
bool gbe_db_read_rows(GbeDbReader *reader, const GbeBboltBucket *bucket, GbePageSet *reached,
		      GError **error) GBE_CHECKED;
