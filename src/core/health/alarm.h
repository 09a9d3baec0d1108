/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The numbers behind clearing etcd's alarm NOSPACE (reference etcd.md, section 10). Pure. */
#pragma once

#include "core/tri.h"

/* The revision to compact to, so that @keep revisions remain; 0: there are not more. etcd refuses a revision below
 * its last compaction. */
gint64 gbe_alarm_compaction(gint64 revision, guint64 keep);
/* Would etcd raise the alarm again at the next request? etcd compares the quota with the size of the file, not with the
 * part of it in use. Unknown where a number is not known. */
GbeTri gbe_alarm_is_full(gint64 db_size, gint64 quota);
