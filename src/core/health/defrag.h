/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is a defragmentation worth the work, and is there room for one? The answer follows from what etcd reports of
 * its database: the size of the file and the part in use (reference etcd.md, section 10). Pure.
 */
#pragma once

#include "core/tri.h"

#include <glib.h>
#include <stdbool.h>

typedef enum {
	GBE_DEFRAG_UNKNOWN, /* etcd does not say how large its database is */
	GBE_DEFRAG_SMALL,   /* smaller than min-size */
	GBE_DEFRAG_DENSE,   /* too little of it is free */
	GBE_DEFRAG_DUE,
} GbeDefragNeed;

/* Sizes in bytes. From @max_fragmentation percent on, a defragmentation is due; never where nothing is free. */
GbeDefragNeed gbe_defrag_need(gint64 db_size, gint64 in_use, guint64 min_size,
			      guint max_fragmentation);
/* The free part of the file, in whole percent; 0 where it is not known. */
guint gbe_defrag_fragmentation(gint64 db_size, gint64 in_use);
/* Bytes that must be free on the data's file system. etcd writes a whole new database next to the old one, and its log
 * meanwhile. */
guint64 gbe_defrag_room(gint64 in_use);
const char *gbe_defrag_need_to_string(GbeDefragNeed need); /* unknown small dense due */

/* ---- clearing etcd's alarm NOSPACE (reference etcd.md, section 10) ---- */

/* The revision to compact to, so that @keep revisions remain; 0: there are not more. etcd refuses a revision below
 * its last compaction. */
gint64 gbe_alarm_compaction(gint64 revision, guint64 keep);
/* Would etcd raise the alarm again at the next request? etcd compares the quota with the size of the file, not with the
 * part of it in use. Unknown where a number is not known. */
GbeTri gbe_alarm_is_full(gint64 db_size, gint64 quota);
