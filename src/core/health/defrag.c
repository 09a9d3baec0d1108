/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/health/defrag.h"

/* bbolt grows a file by 16 MiB at a time, and etcd allocates a segment of its log ahead (etcd.md, sections
 * 4 and 10). */
#define GROWTH (16 * 1024 * 1024)
#define SEGMENT 64000000

static guint64
free_bytes(gint64 db_size, gint64 in_use)
{
	return in_use < db_size ? (guint64)(db_size - MAX(in_use, 0)) : 0;
}

guint
gbe_defrag_fragmentation(gint64 db_size, gint64 in_use)
{
	guint64 left = free_bytes(db_size, in_use);

	if (db_size <= 0 || in_use < 0)
		return 0;
	/* The order of the operations avoids an overflow. */
	if (left > G_MAXUINT64 / 100)
		return (guint)(left / ((guint64)db_size / 100));
	return (guint)(left * 100 / (guint64)db_size);
}

GbeDefragNeed
gbe_defrag_need(gint64 db_size, gint64 in_use, guint64 min_size, guint max_fragmentation)
{
	if (db_size <= 0 || in_use < 0)
		return GBE_DEFRAG_UNKNOWN;
	if ((guint64)db_size < min_size)
		return GBE_DEFRAG_SMALL;
	if (free_bytes(db_size, in_use) == 0 ||
	    gbe_defrag_fragmentation(db_size, in_use) < max_fragmentation)
		return GBE_DEFRAG_DENSE;
	return GBE_DEFRAG_DUE;
}

guint64
gbe_defrag_room(gint64 in_use)
{
	return (guint64)MAX(in_use, 0) + GROWTH + SEGMENT;
}

const char *
gbe_defrag_need_to_string(GbeDefragNeed need)
{
	static const char *const words[] = {[GBE_DEFRAG_UNKNOWN] = "unknown",
					    [GBE_DEFRAG_SMALL] = "small",
					    [GBE_DEFRAG_DENSE] = "dense",
					    [GBE_DEFRAG_DUE] = "due"};

	return words[need];
}

/* etcd's largest request, by default. */
#define REQUEST (3 * 512 * 1024)

gint64
gbe_alarm_compaction(gint64 revision, guint64 keep)
{
	if (revision <= 0 || keep >= (guint64)revision)
		return 0;
	return revision - (gint64)keep;
}

GbeTri
gbe_alarm_is_full(gint64 db_size, gint64 quota)
{
	if (db_size <= 0 || quota <= 0)
		return GBE_UNKNOWN;
	return gbe_tri(quota <= REQUEST || db_size >= quota - REQUEST);
}
