/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Appends one record to a copy of a log that gbe_wal_read() found complete: all its entries are agreed upon. A member
 * knows of that a moment later than the leader that acknowledged a write, so that where only its log is left, an
 * acknowledged write may be in an entry that it does not call agreed upon; etcd's --force-new-cluster would drop it.
 */
#pragma once

#include "etcd/wal/record.h"

#include "base/error.h"

/* @state: the log's last one, with the new ->commit. Not synced: the log is a copy. */
bool gbe_wal_commit(int wal_fd, const char *path, const GbeHardState *state,
		    GError **error) GBE_CHECKED;
