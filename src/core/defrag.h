/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is a defragmentation worth it, and is there room for one? By what etcd says of its database, the size of
 * the file and how much of it is in use (reference etcd.md, section 10). Pure.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
	GBE_DEFRAG_UNKNOWN, /* etcd does not say how large its database is */
	GBE_DEFRAG_SMALL,   /* below the size that is worth it */
	GBE_DEFRAG_DENSE,   /* too little of it is free */
	GBE_DEFRAG_DUE,
} GbeDefragNeed;

/* Sizes in bytes; @max_fragmentation in percent: from there on it is due. Where nothing is free it never
 * is, whatever is configured. */
GbeDefragNeed gbe_defrag_need(gint64 db_size, gint64 in_use, guint64 min_size,
			      guint max_fragmentation);
/* How much of the file is free, in whole percent; 0 where that is not known. */
guint gbe_defrag_fragmentation(gint64 db_size, gint64 in_use);
/* What has to be free on the data's file system: etcd writes a whole new database beside the old one, and goes
 * on writing its log meanwhile. */
guint64 gbe_defrag_room(gint64 in_use);
const char *gbe_defrag_need_to_string(GbeDefragNeed need); /* unknown small dense due */
