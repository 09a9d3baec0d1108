/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The restore into a data directory that is a mount point: the directory itself cannot change places,
 * so its entries do, one rename or exchange each, the one that holds member/ last; before that, what the new
 * tree has no entry of is moved out. A list of the new tree's entries in the intent ("<inode>:<name>") makes it
 * resumable: an entry whose live inode is the new one's is done. After a cut between two of them the
 * directory is mixed, until whoever comes next under the lock runs the list again; plain etcd has one entry
 * beside the nonce and is never mixed.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Everything at the top of the new tree but gbe_data_exclude; @last comes last. */
bool gbe_entries_plan(int staged_fd, const char *last, char ***ret_entries,
		      GError **error) GBE_CHECKED;
/* The exchange came to its end: the last entry is the new one. */
bool gbe_entries_are_live(int live_fd, char *const *entries);
/* Idempotent; syncs both directories at the end. */
bool gbe_entries_exchange(int live_fd, int staged_fd, char *const *entries,
			  GError **error) GBE_CHECKED;
