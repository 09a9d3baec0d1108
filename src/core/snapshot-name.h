/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The name of a snapshot in a store that tools share: "2018-01-30T01:02:03Z-000009", a time in UTC, and what
 * tells two of the same second apart (etcd-manager's document "The backup structure", which asks for Go's
 * time.RFC3339, a dash and any suffix; that program writes UTC and a counter of six digits). It sorts by
 * names; so that this gives the order in which they were made, a new one is never older than the newest,
 * whatever the clock says. Where that takes more than the clock has, ".undated" behind the number says so.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The files of an entry, <store>/<name>/: the second is written last, and without it there is no snapshot. */
#define GBE_SNAPSHOT_DATA "etcd.backup.gz"
/* In place of the first: encrypted by age, so that nobody takes it for gzip. */
#define GBE_SNAPSHOT_AGE "etcd.backup.gz.age"
#define GBE_SNAPSHOT_META "_etcd_backup.meta"
/* This program's own, and written before that: a keyed digest (core/keyed.h), where there is a key. */
#define GBE_SNAPSHOT_SEAL "_etcd_backup.hmac"

/* In place of a name: the newest. */
#define GBE_SNAPSHOT_LATEST "latest"

#define GBE_SNAPSHOT_SEQUENCE_MAX 999999

typedef struct {
	gint64 time;	  /* seconds since the epoch */
	guint64 sequence; /* the suffix, where it begins with a number; else 0 */
	gboolean undated; /* the time is that of the one before it */
} GbeSnapshotName;

/* False: it is somebody else's; @ret_name may be NULL. A suffix is of letters, digits and "._+-". */
bool gbe_snapshot_name_parse(const char *text, GbeSnapshotName *ret_name);
/* Newly allocated. */
char *gbe_snapshot_name_print(const GbeSnapshotName *name);
/* As for qsort: the older first. */
int gbe_snapshot_name_compare(const GbeSnapshotName *a, const GbeSnapshotName *b);
/* The one that comes after @newest (NULL: it is the first) at @now, by the clock: undated, in the same second,
 * where the clock is behind. */
GbeSnapshotName gbe_snapshot_name_next(const GbeSnapshotName *newest, gint64 now);
