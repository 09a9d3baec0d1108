/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What clears etcd's alarm NOSPACE, in numbers (reference etcd.md, section 10). Pure. */
#pragma once

#include "core/tri.h"

/* The revision below which history may be forgotten, so that @keep ones remain; 0: there are not more. etcd
 * itself refuses what lies below its last compaction. */
gint64 gbe_alarm_compaction(gint64 revision, guint64 keep);
/* Would etcd raise it again at the next request? It compares the size of the file, not what of it is in use.
 * Unknown where one of them is not known. */
GbeTri gbe_alarm_is_full(gint64 db_size, gint64 quota);
