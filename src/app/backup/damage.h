/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backup that was found damaged is graded bad at once, in its manifest and in the ledger, with the finding as the
 * reason. The manifest is read again first, so that a pin or a description that was added meanwhile stays. A backup
 * that cannot be read now (EIO, no descriptors, no memory) is not damaged. A power cut leaves the old manifest or
 * the new one.
 */
#pragma once

#include "app/backup/observe.h"

/* Reads the manifest of a backup again, under the lock. *ret_now NULL: the backup is gone, another backup has its
 * name, or it has no data. GBE_ERROR_BUSY: an interrupted operation must be finished first; a tree that this
 * operation moved is not damaged. */
bool gbe_damage_read_again(GbeApp *app, GbeObserved *observed, const GbeManifest *was,
			   GbeManifest **ret_now, GError **error) GBE_CHECKED;
/* Grades the backup bad, in @observed first: that grade stays even if the manifest cannot be written. Without the
 * lock (a dry run) only @observed changes. */
bool gbe_damage_grade(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		      GError **error) GBE_CHECKED;
/* Like gbe_damage_grade(), for a caller without the lock: takes the lock meanwhile. Writes to the journal, and to
 * the MOTD when the backup is the last good one. @operation: "verify", "scrub". */
bool gbe_damage_record(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		       const char *operation, GError **error) GBE_CHECKED;
/* For a backup that the disk cannot deliver now: no grade changes. The MOTD says so when the backup is the last
 * good one. */
bool gbe_damage_unreadable(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
			   const char *operation, GError **error) GBE_CHECKED;
