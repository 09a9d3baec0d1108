/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/tree.h"

#include <errno.h>
#include <sys/stat.h>

#include "fs/open.h"

#ifdef HAVE_BTRFSUTIL

#include <btrfsutil.h>

static bool
throw_btrfs(GError **error, int errsv, enum btrfs_util_error err, const char *name)
{
	g_autofree char *text = gbe_path_to_text(name);

	switch (errsv) {
	case EXDEV:
	case EINVAL:
	case ENOTTY:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED, "%s: %s: %s", text,
				 btrfs_util_strerror(err), g_strerror(errsv));
	case ENOTEMPTY:
		return gbe_throw(error, GBE_ERROR_BUSY, "%s: %s: %s", text,
				 btrfs_util_strerror(err), g_strerror(errsv));
	default:
		return gbe_throw_errno(error, errsv, "%s: %s", text, btrfs_util_strerror(err));
	}
}

bool
gbe_subvolume_create_at(int dst_parent, const char *dst, GError **error)
{
	/* The ioctl takes no mode, and no other user may enter even for a moment. */
	mode_t mask = umask(077);
	enum btrfs_util_error err = btrfs_util_create_subvolume_fd(dst_parent, dst, 0, NULL, NULL);
	int errsv = errno;

	(void)umask(mask);
	return err == BTRFS_UTIL_OK || throw_btrfs(error, errsv, err, dst);
}

bool
gbe_subvolume_snapshot_at(int src_fd, int dst_parent, const char *dst, bool read_only,
			  GError **error)
{
	int flags = read_only ? BTRFS_UTIL_CREATE_SNAPSHOT_READ_ONLY : 0;
	enum btrfs_util_error err =
	    btrfs_util_create_snapshot_fd2(src_fd, dst_parent, dst, flags, NULL, NULL);

	return err == BTRFS_UTIL_OK || throw_btrfs(error, errno, err, dst);
}

bool
gbe_subvolume_set_read_only(int subvolume_fd, bool read_only, GError **error)
{
	enum btrfs_util_error err = btrfs_util_set_subvolume_read_only_fd(subvolume_fd, read_only);

	return err == BTRFS_UTIL_OK || throw_btrfs(error, errno, err, "subvolume");
}

bool
gbe_subvolume_delete_at(int parent_fd, const char *name, GError **error)
{
	enum btrfs_util_error err = btrfs_util_delete_subvolume_fd(parent_fd, name, 0);
	int errsv = errno;

	if (err == BTRFS_UTIL_OK)
		return true;
	/* A unit has no CAP_SYS_ADMIN; rmdir() deletes a subvolume that is empty. */
	return errsv == EPERM
		   ? gbe_throw(error, GBE_ERROR_UNSUPPORTED, "%s", btrfs_util_strerror(err))
		   : throw_btrfs(error, errsv, err, name);
}

#else

static bool
throw_without(GError **error, const char *name)
{
	return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
			 "%s: this program was built without libbtrfsutil", name);
}

bool
gbe_subvolume_create_at(int dst_parent, const char *dst, GError **error)
{
	return throw_without(error, dst);
}

bool
gbe_subvolume_snapshot_at(int src_fd, int dst_parent, const char *dst, bool read_only,
			  GError **error)
{
	return throw_without(error, dst);
}

bool
gbe_subvolume_set_read_only(int subvolume_fd, bool read_only, GError **error)
{
	return throw_without(error, "subvolume");
}

bool
gbe_subvolume_delete_at(int parent_fd, const char *name, GError **error)
{
	return throw_without(error, name);
}

#endif
