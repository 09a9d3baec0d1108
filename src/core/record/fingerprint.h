/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fingerprint of a data directory, taken from outside without reading its pages (decisions.md, "Closing record"). The
 * parts: both meta txids of db, the newest WAL segment with its last record, the .snap names, size and mtime of other
 * files. Equal fingerprints mean that nothing was written in between. src/etcd/directory/member.h takes the
 * fingerprint; here are comparison and text.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <json-glib/json-glib.h>

typedef struct {
	bool present;	    /* false: absent; the other fields are undefined */
	guint64 txid[2];    /* of meta page 0 and 1; 0 where that page is not valid */
	char *wal_name;	    /* newest segment; NULL: no WAL */
	guint64 wal_size;   /* bytes, apparent */
	guint64 wal_offset; /* of the last complete record */
	guint32 wal_crc;    /* of that record */
	char *snaps;	    /* names of the .snap files, sorted, separated by blanks; "" for none */
	char *others;	    /* SHA-256 hex over "<path> <size> <mtime ns>\n" of every other file */
} GbeFingerprint;

void gbe_fingerprint_clear(GbeFingerprint *fp);
void gbe_fingerprint_copy(GbeFingerprint *to, const GbeFingerprint *from);
/* False when either is absent. */
bool gbe_fingerprint_equal(const GbeFingerprint *a, const GbeFingerprint *b);
/* Compares only etcd's own files: both txids, the newest WAL segment with its last record, the .snap names. */
bool gbe_fingerprint_same_etcd(const GbeFingerprint *a, const GbeFingerprint *b);
/* Compares only the database: both txids. */
bool gbe_fingerprint_same_db(const GbeFingerprint *a, const GbeFingerprint *b);
/* As members of @object: txid0, txid1 (16 hex digits), wal, wal_size, wal_offset, wal_crc, snaps,
 * others. Reading sets ->present only when every member is there and of its type. */
void gbe_fingerprint_to_json(const GbeFingerprint *fp, JsonObject *object);
void gbe_fingerprint_from_json(GbeFingerprint *fp, JsonObject *object);
