/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one lock of the program: flock(2) on a file of the state directory that is never unlinked. The kernel drops
 * the lock when its holder ends, so that no lock is stale. The holder writes "<pid> <operation>" into the file, for
 * messages only.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct GbeLock GbeLock;

/* Waits up to @timeout_ms (0: tries once). GBE_ERROR_BUSY: "another operation (<operation>, pid
 * <pid>) holds the lock <what>". */
bool gbe_lock_acquire_at(int dir_fd, const char *name, const char *operation, guint timeout_ms,
			 GbeLock **ret_lock, GError **error) GBE_CHECKED;
void gbe_lock_release(GbeLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeLock, gbe_lock_release)
