/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Retention (decisions.md): the backups that are removed, and those that are read again in the background. Pure. The
 * same function is used at the end of every prerun, by green and `prune`, and for a backup that lacks space. Files that
 * do not parse as a backup of this program are not in the facts, and are never touched.
 */
#pragma once

#include "core/decide/facts.h"

#include <glib.h>
#include <stdbool.h>

typedef struct {
	const GbeManifest *backup;
	const char *reason; /* static */
	bool for_room;	    /* it stays if etcd has room to start now */
} GbeRemoval;

/*
 * The floor: one valid backup always remains, for the store and for each listed deployment that was
 * green. Only a good backup evicts a good one. No backup is removed while ostree's list is unknown, the recorded
 * store is absent, or a record or manifest could not be read.
 *
 * If etcd has no room to start (facts->cramped), all bad backups go, also beyond keep-bad. The tree that the last
 * restore displaced also goes if it is bad. Pinned and manual backups stay, and so do those that a deployment may need
 * after a return.
 *
 * Periodic backups ([backup] schedule) follow gbe_retention_periods(), also on a system without ostree. They do
 * not change which other backups stay.
 *
 * Array of GbeRemoval, oldest first; never NULL. Borrows from @facts.
 */
GArray *gbe_retention_apply(const GbeFacts *facts);

/* The backup that a person needs least, when retention may remove none. In this order, each time the oldest: bad, set
 * aside, not the last of its kind, the last of an unbooted deployment (*ret_last). NULL: the booted deployment may need
 * each. */
const GbeManifest *gbe_retention_least(const GbeFacts *facts, bool *ret_last);

/* Would the removal of @name (by hand) break the floor? *ret_why (static) says why it is the last backup. */
bool gbe_retention_is_last_valid(const GbeFacts *facts, const char *name, const char **ret_why);

/*
 * Retention by the hour and by the day, as in etcd-manager: the first backup of each period stays. Unlike
 * etcd-manager, this counts the newest periods that have a backup, and no age: a clock that jumps removes
 * nothing. An invalid time counts as a separate period: it is from before etcd 3, or undated
 * (core/snapshot/name.h).
 */
typedef struct {
	gint64 time; /* seconds since the epoch */
	bool undated;
	bool keep; /* the result */
} GbePeriodPoint;

/* @points: in the order in which they were made, the oldest first. Sets ->keep of the newest point, and of those made
 * within an hour before it. Also of the first of each of the newest @hourly hours, and of each of the newest @daily
 * days. */
void gbe_retention_periods(GbePeriodPoint *points, gsize n, guint hourly, guint daily);

/* Seconds between two readings of the same backup, which find rot on the disk before the backup is needed. */
#define GBE_SCRUB_INTERVAL (7 * 24 * 3600)

/* The backups to read now: of GbeManifest, borrowed from @facts. Backups that were never read come first, newest first;
 * then the one with the oldest last reading. Empty with [backup] verify=none. Also empty while a run is judged or
 * was not found good: its time belongs to other work. */
GPtrArray *gbe_scrub_plan(const GbeFacts *facts);
