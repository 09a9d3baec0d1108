/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lock for streaming etcd's database, cloning its files while it runs, or defragmenting it. Two of these at the
 * same time stop every write for as long as the slower one takes (reference etcd.md, section 8). This is not the
 * program's lock: greenboot's verdict and a shutdown wait for that one, and must not wait for this one.
 */
#pragma once

#include "app/device/context.h"

/* In GBE_RUN_DIR; the kernel drops the lock when its holder ends. */
#define GBE_MAINTENANCE_LOCK "maintenance"

/* GBE_ERROR_BUSY names the holder. *ret_lock is NULL when the caller is not root and cannot take the lock: the
 * caller then relies on what etcd itself says of a defragmentation. */
bool gbe_maintenance_lock(GbeApp *app, const char *operation, GbeLock **ret_lock,
			  GError **error) GBE_CHECKED;
