/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks a snapshot file in pieces of any size: the SHA-256 of the database against the 32 bytes behind it (etcd.md
 * section 8). Only at the end it is known which bytes are the last 32, so that many are held back.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "base/sha256.h"

#define GBE_SNAPSHOT_SUM GBE_SHA256_SIZE
/* A database has whole pages, so that its size shows whether a checksum follows. */
#define GBE_SNAPSHOT_SECTOR 512

typedef struct {
	GbeSha256 sha256; /* of all but the last bytes */
	guint8 last[GBE_SNAPSHOT_SUM];
	gsize held;   /* how many of the last bytes are held */
	guint64 size; /* of everything */
} GbeSnapshotSum;

void gbe_snapshot_sum_init(GbeSnapshotSum *sum);
void gbe_snapshot_sum_clear(GbeSnapshotSum *sum);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSnapshotSum, gbe_snapshot_sum_clear)

void gbe_snapshot_sum_push(GbeSnapshotSum *sum, const guint8 *bytes, gsize size);
/* Call once, after all bytes. GBE_ERROR_VERIFY_FAILED: the file is cut off, or its checksum is missing or wrong. */
bool gbe_snapshot_sum_check(GbeSnapshotSum *sum, GError **error) GBE_CHECKED;
/* The verified checksum in hex, which identifies the whole database. Newly allocated. */
char *gbe_snapshot_sum_text(const GbeSnapshotSum *sum);
