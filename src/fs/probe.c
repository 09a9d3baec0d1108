/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/probe.h"

#include "fs/open.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

/*
 * An id of a file system that stays the same over reboots, kernels and programs. The id is stored, and an older
 * deployment with an older kernel compares it. So each file system is asked in the way that all supported kernels (5.8
 * and newer) know. Only the others are asked by the newer, general ioctl.
 */
#define UUID_SIZE 16

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* The kernel's ABI of XFS_IOC_FSGEOMETRY_V1 up to the UUID; the rest is not used. */
struct xfs_geometry {
	guint32 sizes[8];
	guint64 blocks[4];
	guint8 uuid[UUID_SIZE];
	guint32 rest[8];
};
#define XFS_GEOMETRY_SIZE 112
#define XFS_GEOMETRY _IOC(_IOC_READ, 'X', 100, XFS_GEOMETRY_SIZE)
G_STATIC_ASSERT(sizeof(struct xfs_geometry) == XFS_GEOMETRY_SIZE);

/* FS_IOC_GETFSUUID, Linux 6.9. */
struct general_uuid {
	guint8 len;
	guint8 uuid[UUID_SIZE];
};
#define GENERAL_UUID _IOR(0x15, 0, struct general_uuid)

static char *
uuid_to_text(const guint8 *uuid)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < UUID_SIZE; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			g_string_append_c(text, '-');
		g_string_append_printf(text, "%02x", uuid[i]);
	}
	return g_string_free(text, false);
}

static char *
fsid_to_text(const struct statfs *fs)
{
	guint32 fsid[2];

	memcpy(fsid, &fs->f_fsid, sizeof(fsid));
	if (fsid[0] == 0 && fsid[1] == 0)
		return NULL;
	return g_strdup_printf("%08x%08x", fsid[1], fsid[0]);
}

static char *
filesystem_id(int fd)
{
	struct btrfs_ioctl_fs_info_args btrfs = {0};
	struct xfs_geometry xfs = {0};
	struct general_uuid general = {0};
	struct statfs fs;

	errno = 0;
	if (fstatfs(fd, &fs) < 0)
		return NULL;
	if (fs.f_type == BTRFS_SUPER_MAGIC)
		return ioctl(fd, BTRFS_IOC_FS_INFO, &btrfs) == 0 ? uuid_to_text(btrfs.fsid) : NULL;
	if (fs.f_type == XFS_SUPER_MAGIC)
		return ioctl(fd, XFS_GEOMETRY, &xfs) == 0 ? uuid_to_text(xfs.uuid) : NULL;
	/* ext4 makes f_fsid from its UUID; the ioctls for the UUID itself came with 6.0 and 6.9. */
	if (fs.f_type == EXT4_SUPER_MAGIC)
		return fsid_to_text(&fs);
	if (ioctl(fd, GENERAL_UUID, &general) == 0 && general.len == UUID_SIZE)
		return uuid_to_text(general.uuid);
	errno = 0;
	return fsid_to_text(&fs);
}

bool
gbe_filesystem_id(int fd, char **ret_id, GError **error)
{
	*ret_id = filesystem_id(fd);
	return *ret_id != NULL || errno == 0 ||
	       gbe_throw_errno(error, errno, "tell which file system this is");
}

static bool
has_type(int fd, guint32 magic)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (guint32)fs.f_type == magic;
}

bool
gbe_is_btrfs(int fd)
{
	return has_type(fd, BTRFS_SUPER_MAGIC);
}

bool
gbe_is_xfs(int fd)
{
	return has_type(fd, XFS_SUPER_MAGIC);
}

char *
gbe_filesystem_type(int fd)
{
	static const struct {
		guint32 magic;
		const char *name;
	} types[] = {
	    {BTRFS_SUPER_MAGIC, "btrfs"}, {XFS_SUPER_MAGIC, "xfs"},
	    {EXT4_SUPER_MAGIC, "ext4"},	  {OVERLAYFS_SUPER_MAGIC, "overlay"},
	    {TMPFS_MAGIC, "tmpfs"},	  {F2FS_SUPER_MAGIC, "f2fs"},
	    {NFS_SUPER_MAGIC, "nfs"},
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return NULL;
	for (guint i = 0; i < G_N_ELEMENTS(types); i++)
		if ((guint32)fs.f_type == types[i].magic)
			return g_strdup(types[i].name);
	return g_strdup_printf("0x%08x", (guint)fs.f_type);
}

#define PROBE_SRC GBE_TMP_PREFIX "probe-src"
#define PROBE_DST GBE_TMP_PREFIX "probe"
#define PROBE_SIZE 4096
#define BTRFS_SUBVOLUME_INODE 256
#define EXT4_KEPT_BLOCKS 4096

/* A file without a name where the file system has that, else one that is unlinked at once. */
static int
make_probe_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	(void)unlinkat(dir_fd, name, 0);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)unlinkat(dir_fd, name, 0);
	return fd;
}

GbeTri
gbe_probe_clone(int src_dir, int dst_dir)
{
	static const char block[PROBE_SIZE] = "greenboot-etcd";
	gbe_autofd int dst = -1;
	gbe_autofd int src = -1;
	int src_flags = 0, flags = 0;

	if (!gbe_same_filesystem(src_dir, dst_dir))
		return GBE_NO;
	dst = make_probe_file(dst_dir, PROBE_DST);
	if (dst < 0)
		return GBE_UNKNOWN;
	src = make_probe_file(src_dir, PROBE_SRC);
	if (src < 0)
		src = make_probe_file(dst_dir, PROBE_SRC);
	if (src < 0)
		return GBE_UNKNOWN;
	/* btrfs clones between two files with the same NOCOW flag only. A clone of etcd's data gets the flag of
	 * each file. */
	if (gbe_is_btrfs(dst) && ioctl(src, FS_IOC_GETFLAGS, &src_flags) == 0 &&
	    ioctl(dst, FS_IOC_GETFLAGS, &flags) == 0) {
		flags = (flags & ~FS_NOCOW_FL) | (src_flags & FS_NOCOW_FL);
		(void)ioctl(dst, FS_IOC_SETFLAGS, &flags);
	}
	/* A full disk leaves no room for a clone, but a file system that cannot share blocks still reports that. */
	if (pwrite(src, block, PROBE_SIZE, 0) != PROBE_SIZE && errno != ENOSPC && errno != EDQUOT)
		return GBE_UNKNOWN;
	if (ioctl(dst, FICLONE, src) == 0)
		return GBE_YES;
	switch (errno) {
	case EOPNOTSUPP:
	case EXDEV:
	case EINVAL:
	case ENOTTY:
	case ENOSYS:
		return GBE_NO;
	default:
		return GBE_UNKNOWN;
	}
}

bool
gbe_is_subvolume(int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_ino == BTRFS_SUBVOLUME_INODE && gbe_is_btrfs(dir_fd);
}

static bool
same_device(const struct statx *a, const struct statx *b)
{
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

bool
gbe_is_mount_point_at(int parent_fd, const char *name, bool *ret_mount_point, GError **error)
{
	struct statx stx, parent;
	bool mount_point;

	if (statx(parent_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO,
		  &stx) < 0) {
		g_autofree char *text = gbe_path_to_text(name);

		return gbe_throw_errno(error, errno, "cannot look at %s", text);
	}
	mount_point = (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	if ((stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) {
		/* This file system does not report it: compare devices. btrfs also gives each subvolume a device number
		 * of its own. */
		if (statx(parent_fd, "", AT_EMPTY_PATH, STATX_TYPE, &parent) < 0)
			return gbe_throw_errno(error, errno, "cannot look at the parent of %s",
					       name);
		mount_point = !same_device(&stx, &parent) && stx.stx_ino != BTRFS_SUBVOLUME_INODE;
	}
	*ret_mount_point = mount_point;
	return true;
}

bool
gbe_tell_same_filesystem(int fd_a, int fd_b, bool *ret_same, GError **error)
{
	g_autofree char *id_a = NULL;
	g_autofree char *id_b = NULL;
	struct stat a, b;

	if (fstat(fd_a, &a) < 0 || fstat(fd_b, &b) < 0)
		return gbe_throw_errno(error, errno, "tell which file system this is");
	*ret_same = a.st_dev == b.st_dev;
	/* Subvolumes of one btrfs have devices of their own. */
	if (*ret_same || !gbe_is_btrfs(fd_a) || !gbe_is_btrfs(fd_b))
		return true;
	if (!gbe_filesystem_id(fd_a, &id_a, error) || !gbe_filesystem_id(fd_b, &id_b, error))
		return false;
	*ret_same = g_strcmp0(id_a, id_b) == 0;
	return true;
}

bool
gbe_same_filesystem(int fd_a, int fd_b)
{
	bool same = false;

	return gbe_tell_same_filesystem(fd_a, fd_b, &same, NULL) && same;
}

bool
gbe_same_mount(int fd_a, int fd_b)
{
	struct statx a, b;

	if (!gbe_same_filesystem(fd_a, fd_b))
		return false;
	/* A kernel that does not report it (before 5.8) is taken at its file system's word. */
	return statx(fd_a, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) < 0 ||
	       statx(fd_b, "", AT_EMPTY_PATH, STATX_MNT_ID, &b) < 0 ||
	       (a.stx_mask & b.stx_mask & STATX_MNT_ID) == 0 || a.stx_mnt_id == b.stx_mnt_id;
}

char *
gbe_tree_identity(int dir_fd)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.handle.handle_bytes = MAX_HANDLE_SZ};
	g_autofree char *fs = filesystem_id(dir_fd);
	g_autoptr(GString) text = g_string_new(NULL);
	struct statx stx;
	int mount_id;

	if (fs == NULL)
		return NULL;
	g_string_append_printf(text, "%s:", fs);
	if (name_to_handle_at(dir_fd, "", &u.handle, &mount_id, AT_EMPTY_PATH) == 0) {
		g_string_append_printf(text, "%02x", (unsigned)u.handle.handle_type);
		for (guint i = 0; i < u.handle.handle_bytes; i++)
			g_string_append_printf(text, "%02x", u.handle.f_handle[i]);
		return g_strdup(text->str);
	}
	/* For file systems that give no handles, as overlayfs. */
	if ((errno != EOPNOTSUPP && errno != EOVERFLOW) ||
	    statx(dir_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) < 0 ||
	    (stx.stx_mask & STATX_BTIME) == 0)
		return NULL;
	return g_strdup_printf("%s:%x.%x.%" G_GINT64_MODIFIER "x.%" G_GINT64_MODIFIER "x.%x", fs,
			       stx.stx_dev_major, stx.stx_dev_minor, (guint64)stx.stx_ino,
			       (guint64)stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec);
}

bool
gbe_filesystem_space(int fd, guint64 *ret_free, guint64 *ret_total, guint64 *ret_free_inodes,
		     GError **error)
{
	struct statvfs vfs;
	struct statfs fs;
	guint64 unit, blocks;

	if (fstatvfs(fd, &vfs) < 0 || fstatfs(fd, &fs) < 0)
		return gbe_throw_errno(error, errno,
				       "cannot ask the file system for its free space");
	unit = vfs.f_frsize != 0 ? vfs.f_frsize : vfs.f_bsize;
	/* We may use the blocks reserved for root. btrfs reserves none, and its f_bfree counts blocks that cannot
	 * hold data. */
	blocks = fs.f_type == BTRFS_SUPER_MAGIC ? vfs.f_bavail : vfs.f_bfree;
	/* ext4 reserves some blocks even from root, for extents that it has to split, but counts them as free
	 * (ext4_calculate_resv_clusters(): 2 %, at most 4096 clusters). */
	if (fs.f_type == EXT4_SUPER_MAGIC)
		blocks -= MIN(blocks, MIN(vfs.f_blocks / 50 + 1, EXT4_KEPT_BLOCKS));
	*ret_free = unit * blocks;
	*ret_total = unit * vfs.f_blocks;
	*ret_free_inodes = vfs.f_files == 0 ? G_MAXUINT64 : vfs.f_ffree;
	return true;
}

bool
gbe_filesystem_read_only(int fd)
{
	struct statvfs vfs;

	return fstatvfs(fd, &vfs) == 0 && (vfs.f_flag & ST_RDONLY) != 0;
}

char *
gbe_mount_options(int fd)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0 ||
	    (stx.stx_mask & STATX_MNT_ID) == 0 ||
	    !g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL))
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	/* A line begins with the mount's number and ends with the file system's own options. */
	for (guint i = 0; lines[i] != NULL; i++) {
		char *end = NULL;

		if (g_ascii_strtoull(lines[i], &end, 10) == stx.stx_mnt_id && *end == ' ')
			return g_strdup(strrchr(lines[i], ' ') + 1);
	}
	return g_strdup("");
}

bool
gbe_filesystem_read_only_for_all(int fd)
{
	g_autofree char *options = NULL;

	if (!gbe_filesystem_read_only(fd))
		return false;
	options = gbe_mount_options(fd);
	return options == NULL || g_str_equal(options, "ro") || g_str_has_prefix(options, "ro,");
}

static bool
look_on_the_way(int fd, struct statx *ret_stx, GError **error)
{
	return statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, ret_stx) == 0 ||
	       gbe_throw_errno(error, errno,
			       "cannot look at a directory on the way to the file system's top");
}

/* The kernel's own path of a directory that we hold open. */
static bool
path_of_fd(int fd, char **ret_path, GError **error)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autofree char *path = g_malloc0(PATH_MAX);

	if (readlink(link, path, PATH_MAX - 1) < 0)
		return gbe_throw_errno(error, errno, "cannot read %s (is /proc mounted?)", link);
	*ret_path = g_steal_pointer(&path);
	return true;
}

/* Goes up from *@fd within the same mount, and not above the root. */
static bool
walk_up(int *fd, int root_fd, GError **error)
{
	struct statx root, here, there;

	if (!look_on_the_way(root_fd, &root, error) || !look_on_the_way(*fd, &here, error))
		return false;
	while (!same_device(&here, &root) || here.stx_ino != root.stx_ino) {
		gbe_autofd int up = openat(*fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (up < 0)
			return gbe_throw_errno(error, errno, "cannot open a parent directory");
		if (!look_on_the_way(up, &there, error))
			return false;
		/* Above "/" is "/". */
		if (!same_device(&here, &there) || here.stx_mnt_id != there.stx_mnt_id ||
		    here.stx_ino == there.stx_ino)
			return true;
		here = there;
		gbe_close_fd(fd);
		*fd = gbe_steal_fd(&up);
	}
	return true;
}

bool
gbe_filesystem_top(int dir_fd, int root_fd, int *ret_top_fd, char **ret_path, GError **error)
{
	gbe_autofd int top = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autofree char *root = NULL;
	g_autofree char *path = NULL;
	gsize len;

	if (top < 0)
		return gbe_throw_errno(error, errno, "cannot open a directory again");
	if (!walk_up(&top, root_fd, error) || !path_of_fd(root_fd, &root, error) ||
	    !path_of_fd(top, &path, error))
		return false;
	len = g_str_equal(root, "/") ? 0 : strlen(root);
	if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return gbe_throw(error, GBE_ERROR_FAILED, "%s is not below %s", path, root);
	*ret_top_fd = gbe_steal_fd(&top);
	*ret_path = g_strdup(path[len] == '\0' ? "/" : path + len);
	return true;
}

bool
gbe_is_writable(int dir_fd, GError **error)
{
	return faccessat(dir_fd, ".", W_OK | X_OK, 0) == 0 ||
	       gbe_throw_errno(error, errno, "it cannot be written to");
}
