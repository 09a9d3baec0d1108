/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The name of a snapshot in a store that tools share: "2018-01-30T01:02:03Z-000009". etcd-manager's document
 * "The backup structure" asks for Go's time.RFC3339, a dash and any suffix. etcd-manager writes UTC and a
 * counter of six digits, and sorts by names. So that names sort in the order in which they were made, a new
 * name is never older than the newest, whatever the clock says.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The files of an entry, <store>/<name>/. The meta is written last; without it there is no snapshot. */
#define GBE_SNAPSHOT_DATA "etcd.backup.gz"
/* In place of the first file: encrypted by age, so that no tool takes it for gzip. */
#define GBE_SNAPSHOT_AGE "etcd.backup.gz.age"
#define GBE_SNAPSHOT_META "_etcd_backup.meta"
/* This program's own file, written before the meta: a keyed digest (core/record/keyed.h), where there is a key. */
#define GBE_SNAPSHOT_SEAL "_etcd_backup.hmac"
/* With a key also: the device that pushed it. */
#define GBE_SNAPSHOT_DEVICE "_etcd_backup.device"

/* Names the newest snapshot, in place of a name. */
#define GBE_SNAPSHOT_LATEST "latest"

#define GBE_SNAPSHOT_SEQUENCE_MAX 999999
/* In bytes: of a directory. */
#define GBE_SNAPSHOT_NAME_MAX 255

typedef struct {
	gint64 time;	  /* seconds since the epoch */
	guint64 sequence; /* the number at the begin of the suffix; 0: none */
	bool undated;	  /* the clock was slow: ".undated" follows the number, and the time is the
		      * previous name's */
} GbeSnapshotName;

/* False: the name is another tool's. @ret_name may be NULL. A suffix consists of letters, digits and "._+-". */
bool gbe_snapshot_name_parse(const char *text, GbeSnapshotName *ret_name);
/* Newly allocated. */
char *gbe_snapshot_name_print(const GbeSnapshotName *name);
/* For qsort: the older name first. */
int gbe_snapshot_name_compare(const GbeSnapshotName *a, const GbeSnapshotName *b);
/* The name after @newest (NULL: it is the first) at @now, by the clock. If the clock is slow: undated, with the same
 * second. */
GbeSnapshotName gbe_snapshot_name_next(const GbeSnapshotName *newest, gint64 now);
