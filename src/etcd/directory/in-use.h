/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does a process use the data? etcd holds flock(LOCK_EX) on member/snap/db and OFD write locks on every open WAL
 * segment (etcd.md section 4). Both are checked: during a defragmentation db's lock is free for a moment. Our lock
 * on db only makes a starting etcd wait. We never lock a WAL file: a starting etcd would die.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* Has a process this database open, and this log? Each is known by the lock that etcd holds on it, and not by names, so
 * that an etcd which serves a copy elsewhere does not count. A look takes no lock that lasts. */
void gbe_opened(int data_fd, const char *member_path, int wal_dir_fd, GbeTri *ret_db,
		GbeTri *ret_log);
/* YES: in use. NO: not in use; where @ret_lock_fd is not NULL, *ret_lock_fd holds LOCK_EX on db until it is closed
 * (-1 where there is no db). UNKNOWN: @error says why. */
GbeTri gbe_in_use(int data_fd, const char *member_path, int wal_dir_fd, int *ret_lock_fd,
		  GError **error);
