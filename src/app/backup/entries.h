/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Restores into a data directory that is a mount point. The directory itself cannot be exchanged, so its entries
 * are: one rename or exchange each, the entry that holds member/ last. Entries that the new tree lacks are moved out
 * before that. After a cut between two entries the directory is mixed until the next holder of the lock runs the
 * list again. A plain etcd directory has one entry beside the nonce and is never mixed.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Lists all entries at the top of the new tree except gbe_data_exclude; @last comes last. The intent stores the
 * list ("<inode>:<name>"), which makes the exchange resumable: an entry is done when the listed inode is not in the
 * staging tree any more. */
bool gbe_entries_plan(int staged_fd, const char *last, char ***ret_entries,
		      GError **error) GBE_CHECKED;
/* Is the exchange complete: is the last entry the new one? */
bool gbe_entries_are_live(int live_fd, char *const *entries, bool *ret_live,
			  GError **error) GBE_CHECKED;
/* Idempotent; syncs both directories at the end. */
bool gbe_entries_exchange(int live_fd, int staged_fd, char *const *entries,
			  GError **error) GBE_CHECKED;
