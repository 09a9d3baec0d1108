/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/xattr.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#define SMALL 1024

/* The kernel gives no xattrs for an O_PATH descriptor. The magic link leads to the directory that we hold, whatever
 * its path is now, and the name in it is not followed. */
static char *
ref_path(GbeInodeRef ref)
{
	return ref.name == NULL ? NULL : g_strdup_printf("/proc/self/fd/%d/%s", ref.fd, ref.name);
}

static bool
throw_xattr(GError **error, int errsv, const char *verb, const char *name, const char *what)
{
	return gbe_throw_errno(error, errsv, "cannot %s the extended attribute %s of %s", verb,
			       name, what);
}

/* NUL-terminated names one after the other. */
static bool
list_xattrs(GbeInodeRef ref, const char *what, char **ret_names, gsize *ret_size, GError **error)
{
	g_autofree char *path = ref_path(ref);
	g_autofree char *names = NULL;
	gsize room = SMALL;

	for (;;) {
		ssize_t size;

		names = g_realloc(names, room);
		size =
		    path == NULL ? flistxattr(ref.fd, names, room) : llistxattr(path, names, room);
		if (size >= 0) {
			*ret_size = (gsize)size;
			break;
		}
		if (errno == EOPNOTSUPP) {
			*ret_size = 0;
			break;
		}
		if (errno != ERANGE || room == XATTR_LIST_MAX)
			return throw_xattr(error, errno, "list", "names", what);
		room = XATTR_LIST_MAX;
	}
	*ret_names = g_steal_pointer(&names);
	return true;
}

static bool
get_xattr(GbeInodeRef ref, const char *name, const char *what, GBytes **ret_value, GError **error)
{
	g_autofree char *path = ref_path(ref);
	g_autofree char *value = NULL;
	gsize room = SMALL;

	for (;;) {
		ssize_t size;

		value = g_realloc(value, room);
		size = path == NULL ? fgetxattr(ref.fd, name, value, room)
				    : lgetxattr(path, name, value, room);
		if (size >= 0) {
			*ret_value = g_bytes_new_take(g_steal_pointer(&value), (gsize)size);
			return true;
		}
		if (errno != ERANGE || room == XATTR_SIZE_MAX)
			return throw_xattr(error, errno, "read", name, what);
		room = XATTR_SIZE_MAX;
	}
}

static bool
set_xattr(GbeInodeRef ref, const char *name, GBytes *value, const char *what, GError **error)
{
	g_autofree char *path = ref_path(ref);
	gsize size = 0;
	const void *bytes = g_bytes_get_data(value, &size);
	int result = path == NULL ? fsetxattr(ref.fd, name, bytes, size, 0)
				  : lsetxattr(path, name, bytes, size, 0);

	return result == 0 || throw_xattr(error, errno, "write", name, what);
}

static bool
copy_xattrs(GbeInodeRef src, GbeInodeRef dst, const char *what, GError **error)
{
	g_autofree char *names = NULL;
	gsize size = 0;

	if (!list_xattrs(src, what, &names, &size, error))
		return false;
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		g_autoptr(GBytes) value = NULL;

		if (!get_xattr(src, name, what, &value, error) ||
		    !set_xattr(dst, name, value, what, error))
			return false;
	}
	return true;
}

/* The order matters: chown removes the setuid bit and security.capability. Everything but setting the times changes
 * only the ctime. */
bool
gbe_metadata_copy(int src_fd, int dst_fd, const struct stat *st, const char *what, GError **error)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchown(dst_fd, st->st_uid, st->st_gid) < 0)
		return gbe_throw_errno(error, errno, "cannot set the owner of %s", what);
	if (fchmod(dst_fd, st->st_mode & 07777) < 0)
		return gbe_throw_errno(error, errno, "cannot set the mode of %s", what);
	if (!copy_xattrs((GbeInodeRef){.fd = src_fd}, (GbeInodeRef){.fd = dst_fd}, what, error))
		return false;
	if (futimens(dst_fd, times) < 0)
		return gbe_throw_errno(error, errno, "cannot set the times of %s", what);
	return true;
}

bool
gbe_metadata_copy_link_at(int src_dir, const char *src, int dst_dir, const char *dst,
			  const struct stat *st, const char *what, GError **error)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchownat(dst_dir, dst, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot set the owner of %s", what);
	if (!copy_xattrs((GbeInodeRef){.fd = src_dir, .name = src},
			 (GbeInodeRef){.fd = dst_dir, .name = dst}, what, error))
		return false;
	if (utimensat(dst_dir, dst, times, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot set the times of %s", what);
	return true;
}

static bool
is_privilege(const char *name)
{
	return g_str_has_prefix(name, XATTR_SECURITY_PREFIX) ||
	       g_str_equal(name, XATTR_NAME_POSIX_ACL_ACCESS) ||
	       g_str_equal(name, XATTR_NAME_POSIX_ACL_DEFAULT);
}

static bool
drop_privileges(GbeInodeRef ref, const char *what, GError **error)
{
	g_autofree char *path = ref_path(ref);
	g_autofree char *names = NULL;
	gsize size = 0;

	if (!list_xattrs(ref, what, &names, &size, error))
		return false;
	for (const char *name = names; name < names + size; name += strlen(name) + 1)
		if (is_privilege(name) && lremovexattr(path, name) < 0 && errno != ENODATA &&
		    !(errno == EACCES && g_str_equal(name, XATTR_NAME_SELINUX)))
			return throw_xattr(error, errno, "remove", name, what);
	return true;
}

bool
gbe_metadata_hand_over_at(int dir_fd, const char *name, const struct stat *st, uid_t uid, gid_t gid,
			  const char *what, GError **error)
{
	if (fchownat(dir_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot set the owner of %s", what);
	if (!drop_privileges((GbeInodeRef){.fd = dir_fd, .name = name}, what, error))
		return false;
	return S_ISLNK(st->st_mode) || fchmodat(dir_fd, name, st->st_mode & 0777, 0) == 0 ||
	       gbe_throw_errno(error, errno, "cannot set the mode of %s", what);
}

bool
gbe_metadata_drop_acls(int fd, const char *what, GError **error)
{
	static const char *const names[] = {"system.posix_acl_access", "system.posix_acl_default"};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if (fremovexattr(fd, names[i]) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
			return throw_xattr(error, errno, "remove", names[i], what);
	return true;
}

/* FS_IOC_FSGETXATTR: XFS's attributes, which others have in part. */
static void
copy_hints(int src_fd, int dst_fd, const char *what)
{
	const guint32 hints = FS_XFLAG_EXTSIZE | FS_XFLAG_EXTSZINHERIT | FS_XFLAG_COWEXTSIZE;
	struct fsxattr src = {0}, dst = {0};

	if (ioctl(src_fd, FS_IOC_FSGETXATTR, &src) < 0 || (src.fsx_xflags & hints) == 0 ||
	    ioctl(dst_fd, FS_IOC_FSGETXATTR, &dst) < 0)
		return;
	dst.fsx_xflags = (dst.fsx_xflags & ~hints) | (src.fsx_xflags & hints);
	dst.fsx_extsize = src.fsx_extsize;
	dst.fsx_cowextsize = src.fsx_cowextsize;
	if (ioctl(dst_fd, FS_IOC_FSSETXATTR, &dst) < 0)
		g_debug("%s: no size of extents: %s", what, g_strerror(errno));
}

bool
gbe_metadata_prepare(int src_fd, int dst_fd, bool btrfs, const char *what, GError **error)
{
	int src = 0;
	int dst = 0;

	if (!btrfs) {
		copy_hints(src_fd, dst_fd, what);
		return true;
	}
	if (ioctl(src_fd, FS_IOC_GETFLAGS, &src) < 0 || ioctl(dst_fd, FS_IOC_GETFLAGS, &dst) < 0)
		return gbe_throw_errno(error, errno, "cannot read the flags of %s", what);
	if (((src ^ dst) & FS_NOCOW_FL) == 0)
		return true;
	dst = (dst & ~FS_NOCOW_FL) | (src & FS_NOCOW_FL);
	if (ioctl(dst_fd, FS_IOC_SETFLAGS, &dst) < 0)
		return gbe_throw_errno(error, errno, "cannot set the NOCOW flag of %s", what);
	return true;
}

static bool
has_name(const char *names, gsize size, const char *wanted)
{
	for (const char *name = names; name < names + size; name += strlen(name) + 1)
		if (g_str_equal(name, wanted))
			return true;
	return false;
}

bool
gbe_metadata_compare_xattrs(GbeInodeRef src, GbeInodeRef dst, const char *what, GError **error)
{
	g_autofree char *src_names = NULL;
	g_autofree char *dst_names = NULL;
	gsize src_size = 0, dst_size = 0;

	if (!list_xattrs(src, what, &src_names, &src_size, error) ||
	    !list_xattrs(dst, what, &dst_names, &dst_size, error))
		return false;
	for (const char *n = dst_names; n < dst_names + dst_size; n += strlen(n) + 1)
		if (!has_name(src_names, src_size, n))
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the copy has an extended attribute %s, the source "
					 "has none",
					 what, n);
	for (const char *n = src_names; n < src_names + src_size; n += strlen(n) + 1) {
		g_autoptr(GBytes) a = NULL;
		g_autoptr(GBytes) b = NULL;

		if (!has_name(dst_names, dst_size, n))
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the extended attribute %s is missing", what, n);
		if (!get_xattr(src, n, what, &a, error) || !get_xattr(dst, n, what, &b, error))
			return false;
		if (!g_bytes_equal(a, b))
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the extended attribute %s differs", what, n);
	}
	return true;
}
