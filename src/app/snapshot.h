/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `snapshot save`: what etcdctl's does, and proved before it has its name. etcd's own stream goes into
 * FILE.part, its SHA-256 is compared, every page and row is read, it is synced, named, and the name
 * synced (fs/part.h says what a power cut leaves). Memory does not grow with the database.
 *
 * Never beside a defragmentation, which would stop every write until the stream is through (etcd.md
 * section 8): while etcd says that one is under way, or somebody holds GBE_MAINTENANCE_LOCK.
 */
#pragma once

#include "app/verify.h"
#include "fs/part.h"

/* In GBE_RUN_DIR: taken by whoever streams the database or defragments it. */
#define GBE_MAINTENANCE_LOCK "maintenance"

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
