/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A row of etcd's "key" bucket: the revision that is its key, and the mvccpb.KeyValue that is its value.
 * Format: reference etcd.md section 5.
 */
#pragma once

#include "etcd/db/bbolt.h"

typedef struct {
	gint64 main; /* the transaction */
	gint64 sub;  /* the change in it */
	bool tombstone;
} GbeRevision;

/* 8 bytes, '_', 8 bytes, and 't' where the key was deleted. False: it is no revision. */
bool gbe_revision_read(const guint8 *at, gsize size, GbeRevision *ret_revision);

typedef struct {
	guint64 hash;	   /* of the key; in this process, the same key has the same number */
	const guint8 *key; /* as long as the row; NULL: none, or too large for memory */
	guint64 key_size;
	gint64 create, mod, version; /* 0 where absent, as in a tombstone */
} GbeKeyValue;

/* The hash in GbeKeyValue. Keyed, so that keys cannot be chosen to collide. */
guint64 gbe_key_hash(const guint8 *at, gsize size);

/* *ret_good false: it is no KeyValue, and etcd would not start. A value that is too large for memory is read piece
 * by piece, which makes the row's key invalid. */
bool gbe_key_value_read(GbeBbolt *db, const GbeBboltRow *row, GbeKeyValue *ret_kv, bool *ret_good,
			GError **error) GBE_CHECKED;
