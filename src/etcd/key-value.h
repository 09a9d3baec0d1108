/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A row of etcd's "key" bucket: the revision that is its key, and the mvccpb.KeyValue that is its value.
 * Format: reference etcd.md section 5.
 */
#pragma once

#include "etcd/bbolt.h"

typedef struct {
	gint64 main; /* the transaction */
	gint64 sub;  /* the change in it */
	gboolean tombstone;
} GbeRevision;

/* 8 bytes, '_', 8 bytes, and 't' where the key was deleted. False: it is none. */
gboolean gbe_revision_read(const guint8 *at, gsize size, GbeRevision *ret_revision);

typedef struct {
	guint64 hash; /* of the key: the same key, the same number, in this process */
	guint64 key_size;
	gint64 create, mod, version, lease; /* 0 where absent, as in a tombstone */
} GbeKeyValue;

/* As in GbeKeyValue. Keyed: nobody can choose keys whose hashes are alike. */
guint64 gbe_key_hash(const guint8 *at, gsize size);

/* *ret_good false: it is no KeyValue, and etcd would not start. A value that is too large to be in memory
 * is read piece by piece; the row's key is gone then. */
bool gbe_key_value_read(GbeBbolt *db, const GbeBboltRow *row, GbeKeyValue *ret_kv, bool *ret_good,
			GError **error) GBE_CHECKED;
