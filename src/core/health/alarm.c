/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/health/alarm.h"

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
