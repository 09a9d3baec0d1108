/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that change places. renameat2(2) or nothing: there is no fallback that deletes first. Not
 * durable until the parents are synced (fs/sync.h).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Both must exist. EINVAL/ENOSYS/EXDEV/EBUSY are GBE_ERROR_UNSUPPORTED. */
bool gbe_exchange_at(int dir_a, const char *a, int dir_b, const char *b,
		     GError **error) GBE_CHECKED;
/* @to must not exist (GBE_ERROR_BUSY when it does). EXDEV is GBE_ERROR_UNSUPPORTED. */
bool gbe_rename_new_at(int from_dir, const char *from, int to_dir, const char *to,
		       GError **error) GBE_CHECKED;
/* Would a directory made in @stage_dir be renamed to and from @parent? Tried with an empty directory of
 * our own in each, removed again; a power cut leaves them, until the next probe or sweep there. */
bool gbe_probe_rename(int stage_dir, int parent_dir);
void gbe_probe_rename_sweep(int dir_fd);
