/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "fs/clone-files.h"
#include "fs/extents.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/remove.h"
#include "fs/subvolume.h"

void
gbe_clone_result_clear(GbeCloneResult *result)
{
	gbe_tree_info_clear(&result->info);
	*result = (GbeCloneResult){0};
}

/* Is there anything in the source that is no part of the tree, and comes along with a snapshot? */
static bool
has_excluded(int src_fd, const GbeCloneOptions *options)
{
	struct stat st;

	for (int i = 0; options->exclude != NULL && options->exclude[i] != NULL; i++)
		if (fstatat(src_fd, options->exclude[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

static bool
remove_excluded(int src_fd, int dst_fd, const GbeCloneOptions *options, GError **error)
{
	struct stat st;

	for (int i = 0; options->exclude[i] != NULL; i++)
		if (!gbe_remove_tree_at(dst_fd, options->exclude[i], error))
			return false;
	if (GBE_FAULT("clone-excluded-removed", error))
		return false;
	if (fstat(src_fd, &st) < 0 ||
	    futimens(dst_fd, (const struct timespec[]){st.st_atim, st.st_mtim}) < 0)
		return gbe_throw_errno(error, errno, "cannot set the times of a snapshot");
	return !options->read_only || gbe_subvolume_set_read_only(dst_fd, true, error);
}

/* The cost of a snapshot is a commit of its own, two where something has to be taken out of it again;
 * that of cloning files is one of their extents. About here they are equal. */
#define FEW_EXTENTS 256

static bool
snapshot_pays(int src_fd, const GbeCloneOptions *options, bool *ret_pays, GError **error)
{
	g_autoptr(GError) local_error = NULL;

	if (options->atomic) {
		*ret_pays = true;
		return true;
	}
	if (gbe_extents_exceed(src_fd, options->exclude, FEW_EXTENTS, ret_pays, &local_error))
		return true;
	if (!g_error_matches(local_error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
		g_propagate_error(error, g_steal_pointer(&local_error));
		return false;
	}
	*ret_pays = true;
	return true;
}

/* *ret_done false: no snapshot can be made here, nothing was. */
static bool
try_snapshot(int src_fd, int dst_parent, const char *dst, const GbeCloneOptions *options,
	     bool *ret_done, GError **error)
{
	bool excluded = has_excluded(src_fd, options);
	/* What is to be removed from it is, before it becomes read-only. */
	bool read_only = options->read_only && !excluded;
	g_autoptr(GError) local_error = NULL;
	gbe_autofd int dst_fd = -1;
	bool pays = false;

	*ret_done = false;
	if (!snapshot_pays(src_fd, options, &pays, error))
		return false;
	if (!pays)
		return true;
	if (!gbe_subvolume_snapshot_at(src_fd, dst_parent, dst, read_only, &local_error)) {
		if (g_error_matches(local_error, GBE_ERROR, GBE_ERROR_UNSUPPORTED))
			return true;
		g_propagate_error(error, g_steal_pointer(&local_error));
		return false;
	}
	if (!GBE_FAULT("clone-snapshot-made", error) &&
	    gbe_open_dir_at(dst_parent, dst, &dst_fd, error) &&
	    (!excluded || remove_excluded(src_fd, dst_fd, options, error))) {
		*ret_done = true;
		return true;
	}
	if (!gbe_remove_tree_at(dst_parent, dst, &local_error))
		g_clear_error(&local_error);
	return false;
}

/* What is to stay a subvolume is one: it can be snapshotted next time. */
static bool
make_root(int dst_parent, const char *dst, bool subvolume, GError **error)
{
	g_autoptr(GError) local_error = NULL;

	if (subvolume) {
		if (gbe_subvolume_create_at(dst_parent, dst, &local_error))
			return true;
		if (!g_error_matches(local_error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
			g_propagate_error(error, g_steal_pointer(&local_error));
			return false;
		}
	}
	if (mkdirat(dst_parent, dst, 0700) < 0)
		return gbe_throw_errno(error, errno, "cannot make the directory %s", dst);
	return true;
}

static bool
clone_into_new_dir(int src_fd, int dst_parent, const char *dst, bool subvolume,
		   const GbeCloneOptions *options, GbeCloneResult *result, GError **error)
{
	g_autoptr(GError) ignored = NULL;
	gbe_autofd int dst_fd = -1;

	if (!make_root(dst_parent, dst, subvolume, error))
		return false;
	if (gbe_open_dir_at(dst_parent, dst, &dst_fd, error) &&
	    gbe_clone_files(src_fd, dst_fd, options, result, error))
		return true;
	/* What cannot be removed either carries a name that is swept. */
	if (!gbe_remove_tree_at(dst_parent, dst, &ignored))
		g_clear_error(&ignored);
	return false;
}

bool
gbe_clone_tree_at(int src_parent, const char *src, int dst_parent, const char *dst,
		  const GbeCloneOptions *options, GbeCloneResult *ret_result, GError **error)
{
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int src_fd = -1;
	bool subvolume, snapshot = false;

	if (!gbe_open_dir_at(src_parent, src, &src_fd, error))
		return false;
	if (!gbe_tree_scan(src_fd, options->exclude, &result.info, error))
		return gbe_prefix(error, "cannot clone %s", src);
	subvolume = options->allowed == GBE_METHOD_SNAPSHOT && gbe_is_subvolume(src_fd) &&
		    gbe_same_filesystem(src_fd, dst_parent);
	if (subvolume && !try_snapshot(src_fd, dst_parent, dst, options, &snapshot, error))
		return gbe_prefix(error, "cannot clone %s", src);
	if (snapshot) {
		/* Sockets are in it as the files that they are. */
		g_ptr_array_set_size(result.info.left_out, 0);
		result.method = GBE_METHOD_SNAPSHOT;
	} else if (!clone_into_new_dir(src_fd, dst_parent, dst, subvolume, options, &result,
				       error)) {
		return gbe_prefix(error, "cannot clone %s", src);
	}
	*ret_result = result;
	result = (GbeCloneResult){0};
	return true;
}
