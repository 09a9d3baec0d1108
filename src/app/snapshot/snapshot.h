/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `snapshot save`: like that of etcdctl, but proved before the file has its name. etcd's stream goes into FILE.part.
 * Its SHA-256 is compared, and every page and row is read. Then the file is synced and named, and the name is synced
 * (fs/part.h says what a power cut leaves). Memory does not grow with the database.
 */
#pragma once

#include "app/backups/store.h"
#include "app/backups/verify.h"
#include "fs/part.h"

typedef struct {
	const char *path; /* relative to the working directory, or below the root */
	guint64 timeout;  /* seconds for the whole save; 0: as long as bytes come */
	bool replace;
	bool leave_room; /* a part of the disk that etcd writes to stays free (fs/reserve.h) */
	/* May be NULL. @total 0: not known yet. False ends it: GBE_ERROR_FAILED "interrupted". */
	bool (*progress)(guint64 done, guint64 total, gpointer data);
	gpointer progress_data;
} GbeSnapshotSave;

/* Sets *ret_verification to that of the saved file. GBE_ERROR_BUSY, _NO_SPACE, _VERIFY_FAILED, or why etcd did not
 * deliver it; on failure nothing is left. Does not run during a defragmentation, which would stop every write until the
 * stream ends (etcd.md section 8). etcd's report or the lock of another process (app/device/context.h) shows one. */
bool gbe_snapshot_save(GbeApp *app, const GbeSnapshotSave *options,
		       GbeVerification **ret_verification, GError **error) GBE_CHECKED;

/* Reads every page and row of a part whose checksum is known to be right; GBE_ERROR_VERIFY_FAILED. */
bool gbe_snapshot_prove(GbeApp *app, const GbePart *part, GbeVerification **ret_verification,
			GError **error) GBE_CHECKED;

/* The directory and the name of a file that a person named, and the file if it is a regular one. The name is relative
 * to the working directory, or below the root. */
bool gbe_snapshot_open_parent(GbeApp *app, const char *path, int *ret_dir_fd, char **ret_name,
			      GError **error) GBE_CHECKED;
bool gbe_snapshot_open(GbeApp *app, const char *path, int *ret_fd, GError **error) GBE_CHECKED;
/* A written file, for those who take it elsewhere. */
typedef struct {
	char *path; /* absolute, with the root */
	guint64 size;
	char *sha256; /* of all bytes of the file; in hex */
} GbeSnapshotFile;

void gbe_snapshot_file_clear(GbeSnapshotFile *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSnapshotFile, gbe_snapshot_file_clear)
bool gbe_snapshot_file(GbeApp *app, const char *path, GbeSnapshotFile *ret_file,
		       GError **error) GBE_CHECKED;

/* Can it be restored? GBE_ERROR_VERIFY_FAILED: it is damaged; _CANNOT_TELL. GBE_ERROR_REFUSED with @unsummed, which
 * says what to do, when the database has no checksum after it. @unsummed NULL: no checksum is required. */
bool gbe_snapshot_check(const GbeVerification *verification, const char *unsummed,
			GError **error) GBE_CHECKED;

/* A keyed digest in a file of its own, one line of hex. "FILE.hmac" next to a pulled snapshot lets an import prove that
 * FILE is the pushed one. "_etcd_backup.hmac" is the digest in a store. After a power cut the file may be missing or
 * incomplete, and then proves nothing. */
#define GBE_SIDECAR_SUFFIX ".hmac"

/* The digest next to the file @name. GBE_ERROR_FAILED: one is there already, also where there is no key: an import with a
 * key would take it for that of the new file. */
bool gbe_sidecar_begin(int dir_fd, const char *name, GbePart *ret_part, GError **error) GBE_CHECKED;
/* @sha256: of the database in the file. Without a key, nothing is written. */
bool gbe_sidecar_sign(GbeApp *app, GbePart *part, const char *sha256, GError **error) GBE_CHECKED;
/* After the file has its name. A part that was not written does not appear. */
bool gbe_sidecar_publish(GbePart *part, GError **error) GBE_CHECKED;
/* *ret_proved: a right digest lies next to the file at @path. GBE_ERROR_VERIFY_FAILED: a wrong one does. */
bool gbe_sidecar_prove_file(GbeApp *app, const char *path, const char *sha256, bool *ret_proved,
			    GError **error) GBE_CHECKED;
