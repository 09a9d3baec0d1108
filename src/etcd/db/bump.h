/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Skips revisions, as `etcdutl snapshot restore --bump-revision --mark-compacted` does. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Makes @revision the current one of the database @fd, and everything up to it compacted: clients that remember an
 * older revision are told so, and list anew. Adds a row with that revision and an empty value to "key", and
 * scheduledCompactRev to "meta"; etcd carries the compaction out at its next start. @revision must be larger than any
 * that the database has.
 *
 * Pages are written in place: only for a copy that was verified and that nobody reads yet. After a failure or a power
 * cut it must be thrown away. GBE_ERROR_CORRUPT: a page is not what etcd writes. */
bool gbe_db_bump(int fd, const char *what, gint64 revision, GError **error) GBE_CHECKED;
