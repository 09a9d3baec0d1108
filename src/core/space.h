/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Space, time and counts: would a copy fit, can etcd start, is the clock set, and their texts for people. Pure. The
 * numbers of space come from src/fs/copy/extents.h and statvfs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
	guint64 would_write; /* bytes that a copy would really allocate */
	guint64 available;   /* bytes free for root */
	guint64 reclaimable; /* bytes that retention would free anyway */
	guint64 would_make;  /* inodes; 0: not counted, as many more are free */
	guint64 inodes;	     /* free ones */
} GbeSpace;

/* Must stay free next to the data: for the copy's metadata and for etcd's own next writes. */
#define GBE_SPACE_MARGIN (4 * 1024 * 1024)
/* etcd's start takes a segment of the log, a step in which the database grows, and the margin. */
#define GBE_SPACE_ETCD_SEGMENT 64000000
#define GBE_SPACE_ETCD_GROWTH (16 * 1024 * 1024)
/* Its files, and those that follow soon: a disk with fewer is used up. */
#define GBE_SPACE_ETCD_INODES 64

bool gbe_space_fits(const GbeSpace *space); /* as it is */
guint64
gbe_space_missing(const GbeSpace *space); /* bytes, 0 when they fit once retention has run */
/* Would etcd's next start have room? An etcd that is @running has its segment already, and gives it back. */
bool gbe_space_lets_etcd_start(guint64 free_bytes, guint64 free_inodes, bool running);
/* For people: "41.3 MiB". Newly allocated. */
char *gbe_size_to_text(guint64 bytes);
/* For people: "12 days", "3 h 4 min". Newly allocated. */
char *gbe_duration_to_text(guint64 seconds);
/* For people: "1 backup", "2 backups". Newly allocated. */
char *gbe_count_to_text(guint64 count, const char *thing);

/* A device without a battery starts in 1970, or when its system was built, until something sets the clock. Pure. */

/* Is @now, in seconds since the epoch, a time at which this program can run? No conclusion is drawn from another time. */
bool gbe_clock_is_set(gint64 now);
/* "2026-01-01 00:00 UTC". Newly allocated. */
char *gbe_clock_to_text(gint64 seconds);
