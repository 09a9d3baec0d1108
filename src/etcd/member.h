/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A data directory of etcd as a whole: where member/ lies in it, whether there is data, its
 * fingerprint, the last write. Layout: reference etcd.md section 4. Reads only; never follows a
 * symlink below the data directory but member/wal (--wal-dir).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/fingerprint.h"

/* @member_dir as configured: "auto", "." or one or more components. *ret_path is "" or "etcd": the
 * directory that holds member/, relative to @data_fd. auto: ".", or the only sub-directory one level
 * down that has a member/; several: GBE_ERROR_INVALID_CONFIG; none: GBE_ERROR_NOT_FOUND. */
bool gbe_member_locate(int data_fd, const char *member_dir, char **ret_path,
		       GError **error) GBE_CHECKED;
/* Data: a member/ with snap/db or a wal/NAME.wal. False + no error: there is none. */
bool gbe_member_has_data(int data_fd, const char *member_path, bool *ret_has,
			 GError **error) GBE_CHECKED;
/* @wal_dir_fd: -1, or the open --wal-dir. Costs: two pages of db and the newest segment's frames. The
 * nonce and what others than etcd put beside member/ count as "others", by size and mtime; the nonce
 * and ".greenboot-etcd" do not count. */
bool gbe_member_fingerprint(int data_fd, const char *member_path, int wal_dir_fd,
			    GbeFingerprint *ret_fingerprint, GError **error) GBE_CHECKED;
/* Newest mtime below member/, seconds; -1 when there is none. */
bool gbe_member_last_write(int data_fd, const char *member_path, gint64 *ret_seconds,
			   GError **error) GBE_CHECKED;
