/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds member/ in a data directory of etcd and tells whether it has data, its fingerprint and its last write.
 * Layout: reference etcd.md section 4. Only reads; below the data directory it follows no symlink but member/wal
 * (--wal-dir).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/record/fingerprint.h"
#include "core/tri.h"

/* @member_dir as configured: "auto", "." or one or more components. *ret_path is "" or "etcd": the directory that
 * holds member/, relative to @data_fd. auto: ".", or the only sub-directory one level down that has a member/.
 * Several are GBE_ERROR_INVALID_CONFIG, none is GBE_ERROR_NOT_FOUND. */
bool gbe_member_locate(int data_fd, const char *member_dir, char **ret_path,
		       GError **error) GBE_CHECKED;
/* Data means a member/ with snap/db or a wal/NAME.wal. False without error: no data. */
bool gbe_member_has_data(int data_fd, const char *member_path, bool *ret_has,
			 GError **error) GBE_CHECKED;
/* Is there a wal/NAME.wal? @wal_dir_fd: -1, or the open --wal-dir. */
bool gbe_member_has_log(int data_fd, const char *member_path, int wal_dir_fd, bool *ret_has,
			GError **error) GBE_CHECKED;
/* @wal_dir_fd: -1, or the open --wal-dir. Reads two pages of db and the frames of the newest segment. All other
 * files count as "others", by size and mtime, but for the nonce and ".greenboot-etcd". */
bool gbe_member_fingerprint(int data_fd, const char *member_path, int wal_dir_fd,
			    GbeFingerprint *ret_fingerprint, GError **error) GBE_CHECKED;
/* Newest mtime below member/, seconds; -1: no file. */
bool gbe_member_last_write(int data_fd, const char *member_path, gint64 *ret_seconds,
			   GError **error) GBE_CHECKED;

/*
 * Does a process use the data? etcd holds flock(LOCK_EX) on member/snap/db and OFD write locks on every open WAL
 * segment (etcd.md section 4). Both are checked: during a defragmentation db's lock is free for a moment. Our lock
 * on db only makes a starting etcd wait. We never lock a WAL file: a starting etcd would die.
 */

/* Has a process this database open, and this log? The lock that etcd holds on each is the proof, and not a name. So an
 * etcd that serves a copy elsewhere does not count. A look takes no lock that lasts. */
void gbe_opened(int data_fd, const char *member_path, int wal_dir_fd, GbeTri *ret_db,
		GbeTri *ret_log);
/* YES: in use. NO: not in use; where @ret_lock_fd is not NULL, *ret_lock_fd holds LOCK_EX on db until it is closed
 * (-1 where there is no db). UNKNOWN: @error says why. */
GbeTri gbe_in_use(int data_fd, const char *member_path, int wal_dir_fd, int *ret_lock_fd,
		  GError **error);
