/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/upkeep/defrag-private.h"

#include "core/space.h"
#include "etcd/layout.h"
#include "fs/probe.h"

bool
gbe_defrag_read_db(int data_fd, const char *member_path, GbeDb *ret_db, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	g_autofree char *what = gbe_layout_path(member_path, "member/snap/" GBE_DB_NAME);
	g_auto(GbeFindings) findings = {0};
	gbe_autofd int fd = -1;

	gbe_findings_init(&findings);
	if (!gbe_layout_open_db(data_fd, member_path, &fd, error) ||
	    !gbe_db_read(fd, what, &full, ret_db, &findings, error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE) {
		g_autofree char *text = gbe_finding_to_text(gbe_findings_first(&findings));

		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", text);
	}
	return true;
}

GbeDefragSizes
gbe_defrag_sizes(const GbeDb *db)
{
	guint64 left = db->free_pages * db->page_size;

	return (GbeDefragSizes){(gint64)db->total_size,
				(gint64)(db->total_size - MIN(left, db->total_size))};
}

bool
gbe_defrag_check_room(int fd, const char *path, guint64 room, GError **error)
{
	g_autofree char *wanted = gbe_size_to_text(room);
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(fd, &available, &total, &inodes, error))
		return false;
	return room <= available ||
	       gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "a new database is written beside the old one, for which %s have to be "
			 "free at %s",
			 wanted, path);
}

bool
gbe_defrag_run_tool(const GbeChildUser *user, const char *tool, int tool_fd, int member_fd,
		    guint64 seconds, GError **error)
{
	const char *const argv[] = {tool, "defrag", "--data-dir", "..", NULL};
	g_auto(GbeChild) child = {0};

	return gbe_child_start_as(user, tool_fd, argv, member_fd, &child, error) &&
	       gbe_etcd_tool_wait(&child, seconds, error);
}

bool
gbe_defrag_same(const GbeDb *was, const GbeDb *is)
{
	return is->revision == was->revision && is->rows == was->rows && is->keys == was->keys &&
	       is->has_hash_kv == was->has_hash_kv && is->hash_kv == was->hash_kv;
}
