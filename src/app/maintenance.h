/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One at a time: who streams etcd's database, clones its files while it runs, or defragments it. Two of them
 * together stop every write for as long as the slower one takes (reference etcd.md, section 8).
 *
 * Not the lock of the program: greenboot's verdict and a shutdown wait for that one, and for none of this.
 */
#pragma once

#include "app/context.h"

/* In GBE_RUN_DIR; the kernel drops it with its holder. */
#define GBE_MAINTENANCE_LOCK "maintenance"

/* GBE_ERROR_BUSY names the holder. *ret_lock NULL: who is not root cannot take it, and does without: what
 * etcd itself says of a defragmentation has to do. */
bool gbe_maintenance_lock(GbeApp *app, const char *operation, GbeLock **ret_lock,
			  GError **error) GBE_CHECKED;
