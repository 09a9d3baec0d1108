/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Space arithmetic: would a copy fit? Pure. The numbers come from src/fs/copy/extents.h and statvfs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
	guint64 would_write; /* bytes that a copy would really allocate */
	guint64 available;   /* bytes free for root */
	guint64 reclaimable; /* bytes that retention would free anyway */
} GbeSpace;

/* Must stay free beside the data: for the copy's metadata and for etcd's own next writes. */
#define GBE_SPACE_MARGIN (4 * 1024 * 1024)

bool gbe_space_fits(const GbeSpace *space);		/* as it is */
bool gbe_space_fits_after_prune(const GbeSpace *space); /* once retention has run */
guint64 gbe_space_missing(const GbeSpace *space);	/* bytes, 0 when it fits after pruning */
/* For people: "41.3 MiB". Newly allocated. */
char *gbe_size_to_text(guint64 bytes);
/* For people: "12 days", "3 h 4 min". Newly allocated. */
char *gbe_duration_to_text(guint64 seconds);
/* For people: "1 backup", "2 backups". Newly allocated. */
char *gbe_count_to_text(guint64 count, const char *thing);
