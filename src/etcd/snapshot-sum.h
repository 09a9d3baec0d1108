/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot file in pieces of any size, as it comes or goes: the SHA-256 of the database against the 32
 * bytes behind it (etcd.md section 8). Which bytes are the last ones is known at the end only: so many
 * are kept back, and no more. By libcrypto, which knows what the processor can do: a third of GLib's time; by GLib
 * where that is not installed.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_SNAPSHOT_SUM 32
/* A database is made of pages; what is behind one shows in the size. */
#define GBE_SNAPSHOT_SECTOR 512

typedef struct {
	gpointer digest;     /* of all but the last bytes: libcrypto's, or NULL */
	GChecksum *checksum; /* the same, GLib's, or NULL */
	gboolean broken;     /* libcrypto could not go on */
	guint8 last[GBE_SNAPSHOT_SUM];
	gsize held;   /* of them so far */
	guint64 size; /* of everything */
} GbeSnapshotSum;

void gbe_snapshot_sum_init(GbeSnapshotSum *sum);
void gbe_snapshot_sum_clear(GbeSnapshotSum *sum);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSnapshotSum, gbe_snapshot_sum_clear)

void gbe_snapshot_sum_push(GbeSnapshotSum *sum, const guint8 *bytes, gsize size);
/* Once, after all of it. GBE_ERROR_VERIFY_FAILED: it is cut off, has no checksum, or another one. */
bool gbe_snapshot_sum_check(GbeSnapshotSum *sum, GError **error) GBE_CHECKED;
/* The one that was found right, hex: it stands for all of the database. Newly allocated. */
char *gbe_snapshot_sum_text(const GbeSnapshotSum *sum);
