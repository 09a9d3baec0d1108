/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A name for a file system that stays the same over reboots, kernels and programs: it is stored, and
 * compared by an older deployment with an older kernel. So each file system is asked in the way that
 * all supported kernels (5.8 and newer) know, and the newer, general ioctl is only for the others.
 */
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "fs/probe.h"

#define UUID_SIZE 16

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* The kernel's ABI of XFS_IOC_FSGEOMETRY_V1 up to the UUID; the rest is not looked at. */
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
	return g_string_free(text, FALSE);
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

char *
gbe_filesystem_id(int fd)
{
	struct btrfs_ioctl_fs_info_args btrfs = {0};
	struct xfs_geometry xfs = {0};
	struct general_uuid general = {0};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return NULL;
	if (fs.f_type == BTRFS_SUPER_MAGIC)
		return ioctl(fd, BTRFS_IOC_FS_INFO, &btrfs) == 0 ? uuid_to_text(btrfs.fsid) : NULL;
	if (fs.f_type == XFS_SUPER_MAGIC)
		return ioctl(fd, XFS_GEOMETRY, &xfs) == 0 ? uuid_to_text(xfs.uuid) : NULL;
	/* ext4 makes it from its UUID; the ioctls that give the UUID itself are of 6.0 and 6.9. */
	if (fs.f_type == EXT4_SUPER_MAGIC)
		return fsid_to_text(&fs);
	if (ioctl(fd, GENERAL_UUID, &general) == 0 && general.len == UUID_SIZE)
		return uuid_to_text(general.uuid);
	return fsid_to_text(&fs);
}

bool
gbe_is_btrfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

bool
gbe_is_xfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == XFS_SUPER_MAGIC;
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
