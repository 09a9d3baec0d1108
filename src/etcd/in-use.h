/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is somebody at the data? etcd holds flock(LOCK_EX) on member/snap/db and OFD write locks on every open
 * WAL segment (etcd.md section 4). Both are asked: during a defragmentation db's lock is free for a
 * moment. Holding db's lock ourselves makes a starting etcd wait, and nothing else; a WAL file is
 * never locked by us, since a starting etcd would die of that.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* YES: open; NO: it is not and, where @ret_lock_fd is not NULL, *ret_lock_fd holds LOCK_EX on db (-1
 * where there is no db) until it is closed; UNKNOWN: could not be told, @error says why. */
GbeTri gbe_in_use(int data_fd, const char *member_path, int wal_dir_fd, int *ret_lock_fd,
		  GError **error);
