/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which backups are removed (decisions.md, "Retention"). Pure. The same function serves the end of every
 * prerun, green, `prune`, and a backup that is short of space. Files that do not parse as a backup of this
 * program are not in the facts and are never touched.
 */
#pragma once

#include "core/decide/facts.h"

typedef struct {
	const GbeManifest *backup;
	const char *reason; /* static */
	bool for_room;	    /* it stays where etcd has room to start by now */
} GbeRemoval;

/*
 * The floor: one valid backup always remains, for the store and for each listed deployment that was
 * green. Only a good backup evicts a good one. Nothing is removed while ostree's list is unknown, the recorded
 * store is absent, or a record or manifest could not be read.
 *
 * Where etcd has no room to start (facts->cramped), bad backups go, whatever keep-bad says, and also what the last
 * restore displaced, if it is bad. Pinned and manual ones, and those that a deployment may come back to, stay.
 *
 * Periodic backups ([backup] schedule) follow retention-periods.h, on a system without ostree, too. They do
 * not change which other backups stay.
 *
 * Array of GbeRemoval, oldest first; never NULL. Borrows from @facts.
 */
GArray *gbe_retention_apply(const GbeFacts *facts);

/* The backup that a person can best do without, where retention may remove none: a bad one, one that was set aside, one
 * that is not the last of its kind, the last one of a deployment that is not booted (*ret_last); the oldest of them.
 * NULL: the booted deployment may need each. */
const GbeManifest *gbe_retention_least(const GbeFacts *facts, bool *ret_last);

/* Would removing @name (by hand) break the floor? *ret_why (static) says for what it is the last backup. */
bool gbe_retention_is_last_valid(const GbeFacts *facts, const char *name, const char **ret_why);
