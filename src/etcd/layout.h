/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the parts of etcd's data directory name by name, never through a symlink but member/wal. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_DB_NAME "db"

/* Opens @below ("member", "member/snap") under @member_path of the data directory. GBE_ERROR_NOT_FOUND when a
 * component is missing. */
bool gbe_layout_open(int data_fd, const char *member_path, const char *below, int *ret_fd,
		     GError **error) GBE_CHECKED;
/* Opens the WAL's directory: a duplicate of @wal_dir_fd where that is not -1, else member/wal. member/wal may be a
 * symlink, but not one that leaves the data directory (GBE_ERROR_REFUSED): a backup would have nothing of it. */
bool gbe_layout_open_wal(int data_fd, const char *member_path, int wal_dir_fd, int *ret_fd,
			 GError **error) GBE_CHECKED;
/* Opens member/wal, wherever a symlink leads. Only for questions about locks: others may have chosen the place. */
bool gbe_layout_follow_wal(int data_fd, const char *member_path, int *ret_fd) GBE_CHECKED;
/* Does the WAL's directory lie in the data directory? Otherwise a copy of the data directory has no WAL.
 * GBE_ERROR_NOT_FOUND: there is no WAL. GBE_ERROR_UNSAFE_SOURCE: it is mounted there. */
bool gbe_layout_wal_inside(int data_fd, const char *member_path, int wal_dir_fd, bool *ret_inside,
			   GError **error) GBE_CHECKED;
/* Opens member/snap/db for reading. Refuses one that is not a regular file. */
bool gbe_layout_open_db(int data_fd, const char *member_path, int *ret_fd,
			GError **error) GBE_CHECKED;
/* "<seq>-<index>.wal", 16 lower-case hex digits each. Sorting the names sorts the segments. */
bool gbe_layout_is_segment(const char *name);
/* The newest segment's name, newly allocated; NULL: no segment exists. */
bool gbe_layout_newest_wal(int wal_fd, char **ret_name, GError **error) GBE_CHECKED;
/* Is @path, below member/, a name that etcd itself gives: snap/db, wal/<hex>-<hex>.wal...? */
bool gbe_layout_is_own(const char *path);
/* For messages: "etcd/member/snap/db". Newly allocated. */
char *gbe_layout_path(const char *member_path, const char *below);
