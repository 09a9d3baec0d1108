/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backup that was seen to be damaged is graded bad at once, with the finding as its reason: in its manifest as
 * it is by now, so that a pin or a description that somebody gave meanwhile stays, and in the ledger. What
 * cannot be read now (EIO, no descriptors, no memory) is not damage. A power cut leaves the old manifest or the
 * new one.
 */
#pragma once

#include "app/observe.h"
#include "app/verify.h"

/* The manifest of a backup as it is now, under the lock; NULL: it is gone, another backup has its name, or it has
 * no data. GBE_ERROR_BUSY: an interrupted operation comes first, and what that has moved is not damaged. */
bool gbe_damage_read_again(GbeApp *app, GbeObserved *observed, const GbeManifest *was,
			   GbeManifest **ret_now, GError **error) GBE_CHECKED;
/* Grades the backup bad, in @observed first: that stays also where the manifest cannot be written. Without the lock
 * (a dry run) only @observed changes. */
bool gbe_damage_grade(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		      GError **error) GBE_CHECKED;
/* The same for a caller without the lock, which it takes meanwhile; writes to the journal, and where the backup is
 * the last good one, to the MOTD. @operation: "verify", "scrub". */
bool gbe_damage_record(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		       const char *operation, GError **error) GBE_CHECKED;
/* For verify: records each damaged backup among @verifications (of GbeVerification) and sets ->advice to name another
 * one; then shows it as gbe_damage_show() does. A record that fails is reported on stderr. */
void gbe_damage_verified(GbeApp *app, GbeObserved *observed, const GPtrArray *verifications);
/* For a backup that the disk does not give now: no grade changes. If it is the last good one, the MOTD says so. */
bool gbe_damage_unreadable(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
			   const char *operation, GError **error) GBE_CHECKED;
/* Writes status.json and the MOTD anew. @observed is filled anew for that: what was borrowed from it is gone. */
void gbe_damage_show(GbeApp *app, GbeObserved *observed, const char *operation);
