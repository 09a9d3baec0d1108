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

#include "fs/tree.h"

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

/* The value of the attribute @name; NULL: the names of all, NUL-terminated, one after the other. */
static bool
read_xattr(GbeInodeRef ref, const char *name, const char *what, char **ret_bytes, gsize *ret_size,
	   GError **error)
{
	const gsize most = name == NULL ? XATTR_LIST_MAX : XATTR_SIZE_MAX;
	g_autofree char *path = ref_path(ref);
	g_autofree char *bytes = NULL;

	for (gsize room = SMALL;; room = most) {
		ssize_t size;

		bytes = g_realloc(bytes, room);
		if (name == NULL)
			size = path == NULL ? flistxattr(ref.fd, bytes, room)
					    : llistxattr(path, bytes, room);
		else
			size = path == NULL ? fgetxattr(ref.fd, name, bytes, room)
					    : lgetxattr(path, name, bytes, room);
		if (size < 0 && name == NULL && errno == EOPNOTSUPP)
			size = 0;
		if (size >= 0) {
			*ret_bytes = g_steal_pointer(&bytes);
			*ret_size = (gsize)size;
			return true;
		}
		if (errno != ERANGE || room == most)
			return name == NULL ? throw_xattr(error, errno, "list", "names", what)
					    : throw_xattr(error, errno, "read", name, what);
	}
}

static bool
copy_xattrs(GbeInodeRef src, GbeInodeRef dst, const char *what, GError **error)
{
	g_autofree char *dst_path = ref_path(dst);
	g_autofree char *names = NULL;
	gsize size = 0;

	if (!read_xattr(src, NULL, what, &names, &size, error))
		return false;
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		g_autofree char *value = NULL;
		gsize len = 0;

		if (!read_xattr(src, name, what, &value, &len, error))
			return false;
		if ((dst_path == NULL ? fsetxattr(dst.fd, name, value, len, 0)
				      : lsetxattr(dst_path, name, value, len, 0)) < 0)
			return throw_xattr(error, errno, "write", name, what);
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

bool
gbe_metadata_hand_over_at(int dir_fd, const char *name, const struct stat *st, uid_t uid, gid_t gid,
			  const char *what, GError **error)
{
	const GbeInodeRef ref = {.fd = dir_fd, .name = name};
	g_autofree char *path = ref_path(ref);
	g_autofree char *names = NULL;
	gsize size = 0;

	if (fchownat(dir_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot set the owner of %s", what);
	if (!read_xattr(ref, NULL, what, &names, &size, error))
		return false;
	for (const char *n = names; n < names + size; n += strlen(n) + 1) {
		bool privilege = g_str_has_prefix(n, XATTR_SECURITY_PREFIX) ||
				 g_str_equal(n, XATTR_NAME_POSIX_ACL_ACCESS) ||
				 g_str_equal(n, XATTR_NAME_POSIX_ACL_DEFAULT);

		if (privilege && lremovexattr(path, n) < 0 && errno != ENODATA &&
		    !(errno == EACCES && g_str_equal(n, XATTR_NAME_SELINUX)))
			return throw_xattr(error, errno, "remove", n, what);
	}
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

bool
gbe_metadata_prepare(int src_fd, int dst_fd, bool btrfs, const char *what, GError **error)
{
	const guint32 hints = FS_XFLAG_EXTSIZE | FS_XFLAG_EXTSZINHERIT | FS_XFLAG_COWEXTSIZE;
	struct fsxattr src = {0}, dst = {0};
	int src_flags = 0;
	int dst_flags = 0;

	if (!btrfs) {
		/* FS_IOC_FSGETXATTR: XFS's attributes, which others have in part. */
		if (ioctl(src_fd, FS_IOC_FSGETXATTR, &src) < 0 || (src.fsx_xflags & hints) == 0 ||
		    ioctl(dst_fd, FS_IOC_FSGETXATTR, &dst) < 0)
			return true;
		dst.fsx_xflags = (dst.fsx_xflags & ~hints) | (src.fsx_xflags & hints);
		dst.fsx_extsize = src.fsx_extsize;
		dst.fsx_cowextsize = src.fsx_cowextsize;
		if (ioctl(dst_fd, FS_IOC_FSSETXATTR, &dst) < 0)
			g_debug("%s: no size of extents: %s", what, g_strerror(errno));
		return true;
	}
	if (ioctl(src_fd, FS_IOC_GETFLAGS, &src_flags) < 0 ||
	    ioctl(dst_fd, FS_IOC_GETFLAGS, &dst_flags) < 0)
		return gbe_throw_errno(error, errno, "cannot read the flags of %s", what);
	if (((src_flags ^ dst_flags) & FS_NOCOW_FL) == 0)
		return true;
	dst_flags = (dst_flags & ~FS_NOCOW_FL) | (src_flags & FS_NOCOW_FL);
	if (ioctl(dst_fd, FS_IOC_SETFLAGS, &dst_flags) < 0)
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

	if (!read_xattr(src, NULL, what, &src_names, &src_size, error) ||
	    !read_xattr(dst, NULL, what, &dst_names, &dst_size, error))
		return false;
	for (const char *n = dst_names; n < dst_names + dst_size; n += strlen(n) + 1)
		if (!has_name(src_names, src_size, n))
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the copy has an extended attribute %s, the source "
					 "has none",
					 what, n);
	for (const char *n = src_names; n < src_names + src_size; n += strlen(n) + 1) {
		g_autofree char *a = NULL;
		g_autofree char *b = NULL;
		gsize a_size = 0, b_size = 0;

		if (!has_name(dst_names, dst_size, n))
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the extended attribute %s is missing", what, n);
		if (!read_xattr(src, n, what, &a, &a_size, error) ||
		    !read_xattr(dst, n, what, &b, &b_size, error))
			return false;
		if (a_size != b_size || memcmp(a, b, a_size) != 0)
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the extended attribute %s differs", what, n);
	}
	return true;
}

/* @like: of the directory whose project the inode gets. */
static bool
set_project(int fd, bool directory, const struct fsxattr *like, const char *what, GError **error)
{
	const guint32 inherit = FS_XFLAG_PROJINHERIT;
	struct fsxattr attributes = {0};

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
		return gbe_throw_errno(error, errno, "cannot read the project of %s", what);
	attributes.fsx_projid = like->fsx_projid;
	if (directory)
		attributes.fsx_xflags =
		    (attributes.fsx_xflags & ~inherit) | (like->fsx_xflags & inherit);
	return ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == 0 ||
	       gbe_throw_errno(error, errno, "cannot set the project of %s", what);
}

static bool
project_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	gbe_autofd int fd = -1;

	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return true;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	return set_project(fd, S_ISDIR(st->st_mode), data, path, error);
}

bool
gbe_project_give(int tree_fd, int like_fd, GError **error)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	struct fsxattr like = {0}, has = {0};

	if (ioctl(like_fd, FS_IOC_FSGETXATTR, &like) < 0 ||
	    ioctl(tree_fd, FS_IOC_FSGETXATTR, &has) < 0)
		return true;
	if (like.fsx_projid == has.fsx_projid &&
	    ((like.fsx_xflags ^ has.fsx_xflags) & FS_XFLAG_PROJINHERIT) == 0)
		return true;
	return gbe_tree_walk(tree_fd, NULL, &limits, project_visit, &like, error) &&
	       set_project(tree_fd, true, &like, "the tree", error);
}
