/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which backups go (decisions.md, "Retention"). Pure; the same function serves the end of every
 * prerun, green, `prune` and the room that a backup short of space asks for. What does not parse as a
 * backup of this program is not in the facts and therefore never touched.
 *
 * The floor: one valid backup always remains, for the store and for each listed deployment that was
 * green; a good one is evicted only by a good one. Nothing goes while ostree's list is unknown, or the
 * recorded store is not there.
 *
 * Periodic ones ([backup] schedule) go by retention-periods.h, on a system without ostree, too. What else stays
 * does not depend on them.
 */
#pragma once

#include "core/facts.h"

typedef struct {
	const GbeManifest *backup;
	const char *reason; /* static */
} GbeRemoval;

/* Array of GbeRemoval, oldest first; never NULL. Borrows from @facts. */
GArray *gbe_retention_apply(const GbeFacts *facts);

/* Would removing @name (by hand) break the floor? *ret_why (static) says of what it is the last. */
gboolean gbe_retention_is_last_valid(const GbeFacts *facts, const char *name, const char **ret_why);
