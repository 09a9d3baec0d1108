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
/* @observed says so from now on, also where the record fails; without the lock (a dry run) nothing else does. */
bool gbe_damage_grade(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		      GError **error) GBE_CHECKED;
/* The same for who has no lock: takes it for that, and tells the journal, and of the last good one a person.
 * @operation: "verify", "scrub". */
bool gbe_damage_record(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		       const char *operation, GError **error) GBE_CHECKED;
/* What verify saw: records each damaged backup among @verifications (of GbeVerification), and advises another one.
 * What cannot be recorded is said on stderr. Ends with gbe_damage_show() where there was any. */
void gbe_damage_verified(GbeApp *app, GbeObserved *observed, const GPtrArray *verifications);
/* What the disk does not give now: a person is told where it is the last good one, and no grade changes. */
bool gbe_damage_unreadable(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
			   const char *operation, GError **error) GBE_CHECKED;
/* status.json and the MOTD, after that. What was borrowed from @observed is gone: it is observed again. */
void gbe_damage_show(GbeApp *app, GbeObserved *observed, const char *operation);
