/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `snapshot save`: what etcdctl's does, and proved before it has its name. etcd's own stream goes into
 * FILE.part, its SHA-256 is compared, every page and row is read, it is synced, named, and the name
 * synced (fs/part.h says what a power cut leaves). Memory does not grow with the database.
 *
 * Never beside a defragmentation, which would stop every write until the stream is through (etcd.md
 * section 8): while etcd says that one is under way, or somebody else is at it (maintenance.h).
 */
#pragma once

#include "app/verify.h"
#include "fs/part.h"

typedef struct {
	const char *path; /* relative to here, or below the root */
	guint64 timeout;  /* seconds, over everything; 0: as long as bytes come */
	gboolean replace;
	/* May be NULL. @total 0: not known yet. False ends it: GBE_ERROR_FAILED "interrupted". */
	bool (*progress)(guint64 done, guint64 total, gpointer data);
	gpointer progress_data;
} GbeSnapshotSave;

/* Sets *ret_verification, of what was saved. GBE_ERROR_BUSY, _NO_SPACE, _VERIFY_FAILED, or why etcd did not
 * give it; nothing is left then. */
bool gbe_snapshot_save(GbeApp *app, const GbeSnapshotSave *options,
		       GbeVerification **ret_verification, GError **error) GBE_CHECKED;

/* Every page and row of a part whose checksum is known to be right; GBE_ERROR_VERIFY_FAILED. */
bool gbe_snapshot_prove(GbeApp *app, const GbePart *part, GbeVerification **ret_verification,
			GError **error) GBE_CHECKED;

/* A regular file that somebody named: relative to here, or below the root. */
bool gbe_snapshot_open(GbeApp *app, const char *path, int *ret_fd, GError **error) GBE_CHECKED;
/* Can it be restored from? GBE_ERROR_VERIFY_FAILED: it is damaged; _CANNOT_TELL; and GBE_ERROR_REFUSED with
 * @unsummed, what to do then, where no checksum is behind the database. NULL: none is asked for. */
bool gbe_snapshot_check(const GbeVerification *verification, const char *unsummed,
			GError **error) GBE_CHECKED;
