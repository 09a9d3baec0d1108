/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* etcd's own tool writes a closed database anew: that of the stopped data, or of a backup's clone. Implemented in
 * defrag-tool.c. */
#pragma once

#include "app/device/etcd-tool.h"
#include "app/upkeep/defrag.h"
#include "etcd/db/db.h"

/* Reads the whole database. A damaged one must not be written anew (GBE_ERROR_VERIFY_FAILED). */
bool gbe_defrag_read_db(int data_fd, const char *member_path, GbeDb *ret_db,
			GError **error) GBE_CHECKED;
GbeDefragSizes gbe_defrag_sizes(const GbeDb *db);
/* Are @room bytes free where @fd lies? GBE_ERROR_NO_SPACE. @path: for the message. */
bool gbe_defrag_check_room(int fd, const char *path, guint64 room, GError **error) GBE_CHECKED;
/* The purpose that gbe_etcd_tool_open() names in its messages. */
#define GBE_DEFRAG_FOR "defragments a stopped database"
/* Runs the tool in member/ as @user, who owns the database. The tool has ended in every case. */
bool gbe_defrag_run_tool(const GbeChildUser *user, const char *tool, int tool_fd, int member_fd,
			 guint64 seconds, GError **error) GBE_CHECKED;
/* Do both have the same keys, revisions and rows? */
bool gbe_defrag_same(const GbeDb *was, const GbeDb *is);
