/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A database that nobody has open, written anew by etcd's own tool: the stopped data's, or a backup's clone. */
#pragma once

#include "app/defrag.h"
#include "app/etcd-tool.h"
#include "etcd/db.h"

/* All of it, and sound: what is damaged is not written anew (GBE_ERROR_VERIFY_FAILED). */
bool gbe_defrag_read_db(int data_fd, const char *member_path, GbeDb *ret_db,
			GError **error) GBE_CHECKED;
GbeDefragSizes gbe_defrag_sizes(const GbeDb *db);
/* Is @room free where @fd lies? GBE_ERROR_NO_SPACE. @path: for the message. */
bool gbe_defrag_check_room(int fd, const char *path, guint64 room, GError **error) GBE_CHECKED;
/* What gbe_etcd_tool_open() is to say that it is for. */
#define GBE_DEFRAG_FOR "defragments a stopped database"
/* As @user, whose the database is, in member/. The tool has ended, whatever happens. */
bool gbe_defrag_run_tool(const GbeChildUser *user, const char *tool, int tool_fd, int member_fd,
			 guint64 seconds, GError **error) GBE_CHECKED;
/* The same keys, revisions and rows? */
bool gbe_defrag_same(const GbeDb *was, const GbeDb *is);
