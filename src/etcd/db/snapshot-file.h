/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file that `etcdctl snapshot save` writes: a database, followed by its SHA-256 in 32 bytes (etcd.md section 8). A
 * bare database has a size that 512 divides, and no checksum.
 */
#pragma once

#include "base/sha256.h"
#include "etcd/db/db.h"

#define GBE_SNAPSHOT_SUM GBE_SHA256_SIZE
/* A database has whole pages, so that its size shows whether a checksum follows. */
#define GBE_SNAPSHOT_SECTOR 512

/* The checksum is compared at level GBE_VERIFY_FULL. @what: the file's name in findings. */
bool gbe_snapshot_file_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
			    GbeFindings *findings, GError **error) GBE_CHECKED;

/* Checks a snapshot file in pieces of any size: the SHA-256 of the database against the 32 bytes after it. Only the end
 * shows which bytes are the last 32, so that many are held back. */
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

typedef bool (*GbeSnapshotPut)(const void *bytes, gsize size, gpointer data, GError **error);

/* Writes a database as the snapshot file that `etcdctl snapshot save` would make of it. The file has the pages up to
 * the high-water mark, and the SHA-256 of all. Its two meta pages have the same content, the second one a transaction
 * older. The database was found sound, and has no writer. @put takes the file in pieces. GBE_ERROR_CORRUPT: the file is
 * shorter than it says. */
bool gbe_snapshot_write(int fd, const char *what, GbeSnapshotPut put, gpointer data,
			GError **error) GBE_CHECKED;

/* Skips revisions, as `etcdutl snapshot restore --bump-revision --mark-compacted` does (bump.c): makes
 * @revision the current one of the database @fd, and everything up to it compacted. Clients that remember an older
 * revision are told so, and list again. Adds a row with that revision and an empty value to "key", and
 * scheduledCompactRev to "meta"; etcd carries the compaction out at its next start. @revision must be larger than any
 * that the database has.
 *
 * Pages are written in place: only for a copy that was verified and that has no reader yet. After a failure or a power
 * cut it must be thrown away. GBE_ERROR_CORRUPT: a page is not what etcd writes. */
bool gbe_db_bump(int fd, const char *what, gint64 revision, GError **error) GBE_CHECKED;
