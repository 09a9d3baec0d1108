/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For the tests of src/fs: a directory to work in, and trees. Plain system calls make and describe the trees, so the
 * tested code never checks itself. GBE_TEST_DIR is the directory, GBE_TEST_FS the kind of its file system (ext4 xfs
 * xfs-noreflink btrfs btrfs-subvol). Without them a test uses /var/tmp or TMPDIR and expects less.
 */
#pragma once

#include "lib/unit.h"

#include "base/auto.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/btrfs.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define MIB ((guint64)1024 * 1024)

static char *place_path; /* absolute */
static int place = -1;	 /* the same, open */

static inline bool
place_is(const char *kind)
{
	return g_strcmp0(g_getenv("GBE_TEST_FS"), kind) == 0;
}

static inline bool
place_is_known(void)
{
	return g_getenv("GBE_TEST_FS") != NULL;
}

static inline bool
place_is_btrfs(void)
{
	return place_is("btrfs") || place_is("btrfs-subvol");
}

static inline bool
place_clones(void)
{
	return place_is_btrfs() || place_is("xfs");
}

/* And the program was built to. */
static inline bool
place_snapshots(void)
{
#ifdef HAVE_BTRFSUTIL
	return place_is_btrfs();
#else
	return false;
#endif
}

/* Checked fixtures: before and after each test. */
static inline void
place_setup(void)
{
	const char *dir = g_getenv("GBE_TEST_DIR");

	place_path = g_build_filename(dir != NULL ? dir : g_get_tmp_dir(), "gbe-fs-XXXXXX", NULL);
	ck_assert_ptr_nonnull(g_mkdtemp_full(place_path, 0755));
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(place, 0);
}

static inline int
place_run(const char *const *argv)
{
	int status = -1;
	g_autoptr(GError) error = NULL;

	if (!g_spawn_sync(NULL, (char **)argv, NULL,
			  G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
			      G_SPAWN_STDERR_TO_DEV_NULL,
			  NULL, NULL, NULL, NULL, &status, &error))
		ck_abort_msg("%s", error->message);
	return status;
}

static inline void
place_teardown(void)
{
	(void)place_run((const char *[]){"chattr", "-R", "-f", "-i", "-a", place_path, NULL});
	ck_assert_int_eq(place_run((const char *[]){"rm", "-rf", "--", place_path, NULL}), 0);
	gbe_close_fd(&place);
	g_clear_pointer(&place_path, g_free);
}

static inline bool
have_root(const char *test)
{
	if (geteuid() == 0)
		return true;
	gbe_unit_skip(test, "needs root; run it as root");
	return false;
}

/* A mount namespace of the test's own: what is mounted goes with its process. */
static inline bool
own_mounts(const char *test)
{
	if (!have_root(test))
		return false;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		gbe_unit_skip(test, "cannot mount here");
		return false;
	}
	/* The old descriptor is of the mounts that were left. */
	gbe_close_fd(&place);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return true;
}

static inline char *
at(const char *path)
{
	return g_build_filename(place_path, path, NULL);
}

/* ---- making things; all paths below the place ---- */

static inline void
put_dir(const char *path, mode_t mode)
{
	ck_assert_msg(mkdirat(place, path, mode) == 0, "mkdir %s: %m", path);
	ck_assert_int_eq(fchmodat(place, path, mode, 0), 0);
}

static inline void
put_bytes(const char *path, const void *bytes, gsize size)
{
	gbe_autofd int fd = openat(place, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "create %s: %m", path);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
}

static inline void
put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

/* Bytes that tell where they are from. */
static inline void
put_data(const char *path, guint64 offset, guint64 size, guint seed)
{
	gbe_autofd int fd = openat(place, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	g_autofree guint32 *block = g_malloc(65536);

	ck_assert_msg(fd >= 0, "create %s: %m", path);
	for (guint64 done = 0; done < size; done += 65536) {
		gsize part = (gsize)MIN(size - done, 65536);

		for (guint i = 0; i < 65536 / 4; i++)
			block[i] = (guint32)((offset + done) / 4 + i) * 2654435761u + seed;
		ck_assert_int_eq(pwrite(fd, block, part, (off_t)(offset + done)), (ssize_t)part);
	}
}

static inline void
put_allocated(const char *path, guint64 size)
{
	gbe_autofd int fd = openat(place, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "create %s: %m", path);
	ck_assert_msg(fallocate(fd, 0, 0, (off_t)size) == 0, "fallocate %s: %m", path);
}

static inline void
put_size(const char *path, guint64 size)
{
	gbe_autofd int fd = openat(place, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
}

static inline void
put_time(const char *path, gint64 seconds, long nanoseconds)
{
	const struct timespec times[2] = {{seconds, 0}, {seconds, nanoseconds}};

	ck_assert_int_eq(utimensat(place, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline void
put_socket(const char *path)
{
	g_autofree char *full = at(path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	gbe_autofd int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_uint_lt(strlen(full), sizeof(address.sun_path));
	memcpy(address.sun_path, full, strlen(full) + 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static inline void
put_subvolume(const char *path)
{
	struct btrfs_ioctl_vol_args args = {0};
	g_autofree char *parent = g_path_get_dirname(path);
	g_autofree char *name = g_path_get_basename(path);
	gbe_autofd int fd = openat(place, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	g_strlcpy(args.name, name, sizeof(args.name));
	ck_assert_msg(ioctl(fd, BTRFS_IOC_SUBVOL_CREATE, &args) == 0, "subvolume %s: %m", path);
}

/* A read-only snapshot, so that the place can be removed. */
static inline void
make_writable(const char *path)
{
	gbe_autofd int fd = openat(place, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	guint64 flags = 0;

	if (fd >= 0)
		(void)ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags);
}

static inline int
get_flags(const char *path)
{
	gbe_autofd int fd = openat(place, path, O_RDONLY | O_CLOEXEC);
	int flags = 0;

	ck_assert_msg(ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0, "flags of %s: %m", path);
	return flags;
}

/* False where the file system has no such flag. */
static inline bool
put_flags(const char *path, int flags)
{
	gbe_autofd int fd = openat(place, path, O_RDONLY | O_CLOEXEC);
	int was = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &was) < 0)
		return false;
	flags |= was & FS_EXTENT_FL; /* ext4 wants its own kept */
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* False where the file system has no such attributes, which a known one has. */
static inline bool
put_xattr(const char *path, const char *name, const void *value, gsize size)
{
	g_autofree char *full = at(path);

	if (lsetxattr(full, name, value, size, 0) == 0)
		return true;
	ck_assert_msg(!place_is_known(), "%s of %s: %m", name, path);
	return false;
}

/* user::rwx user:4711:rw- group::r-x mask::rwx other::---, as the kernel has it in an xattr. */
static const guint8 some_acl[] = {
    2,	  0, 0, 0,			   /* version */
    0x01, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, /* the owner */
    0x02, 0, 6, 0, 0x67, 0x12, 0,    0,	   /* user 4711 */
    0x04, 0, 5, 0, 0xff, 0xff, 0xff, 0xff, /* the group */
    0x10, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, /* mask */
    0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, /* others */
};

/* ---- looking ---- */

static inline bool
is_there(const char *path)
{
	struct stat st;

	return fstatat(place, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline struct stat
stat_of(const char *path)
{
	struct stat st;

	ck_assert_msg(fstatat(place, path, &st, AT_SYMLINK_NOFOLLOW) == 0, "stat %s: %m", path);
	return st;
}

static inline char *
content_of(const char *path)
{
	g_autofree char *full = at(path);
	g_autoptr(GError) error = NULL;
	char *bytes = NULL;

	if (!g_file_get_contents(full, &bytes, NULL, &error))
		ck_abort_msg("%s", error->message);
	return bytes;
}

static inline gint
by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in a directory, sorted, one per line. */
static inline char *
names_in(const char *path)
{
	g_autofree char *full = at(path);
	g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GString *text = g_string_new(NULL);

	ck_assert_ptr_nonnull(dir);
	for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, by_text);
	for (guint i = 0; i < names->len; i++)
		g_string_append_printf(text, "%s\n", (char *)names->pdata[i]);
	return g_string_free(text, false);
}

/* The ranges of a file that have blocks which were written (or the others), as "0-4096 8192-12288"; NULL if unknown.
 * They come from the extents: SEEK_DATA also counts a page that was read, and on btrfs a preallocated range that was
 * cloned. Newly allocated. */
static inline char *
ranges_of(int fd, bool written)
{
	g_autofree struct fiemap *map =
	    g_malloc0(sizeof(struct fiemap) + 4096 * sizeof(struct fiemap_extent));
	GString *text = g_string_new(NULL);
	guint64 start = 0, end = 0;

	map->fm_length = FIEMAP_MAX_OFFSET;
	map->fm_flags = FIEMAP_FLAG_SYNC;
	map->fm_extent_count = 4096;
	if (ioctl(fd, FS_IOC_FIEMAP, map) < 0) {
		g_string_free(text, true);
		return NULL;
	}
	for (guint i = 0; i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *extent = &map->fm_extents[i];

		if (((extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0) != written)
			continue;
		if (extent->fe_logical != end || end == 0) {
			if (end > 0)
				g_string_append_printf(text, "%lu-%lu ", start, end);
			start = extent->fe_logical;
		}
		end = extent->fe_logical + extent->fe_length;
	}
	if (end > 0)
		g_string_append_printf(text, "%lu-%lu ", start, end);
	return g_string_free(text, false);
}

static inline char *
unwritten_of(const char *path)
{
	gbe_autofd int fd = openat(place, path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	return ranges_of(fd, false);
}

/* ---- a tree as text, for comparing two of them ---- */

typedef struct {
	GString *text;
	GHashTable *inodes; /* "dev:ino" -> first path */
	bool sockets;	    /* listed, too */
} Dump;

static inline void
dump_xattrs(Dump *dump, const char *full)
{
	char names[8192];
	ssize_t size = llistxattr(full, names, sizeof(names));
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	for (char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
		char value[65536];
		ssize_t len = lgetxattr(full, name, value, sizeof(value));
		g_autofree char *sum = NULL;

		ck_assert_msg(len >= 0, "%s of %s: %m", name, full);
		sum = g_compute_checksum_for_data(G_CHECKSUM_MD5, (guchar *)value, (gsize)len);
		g_ptr_array_add(lines, g_strdup_printf(" %s=%zd:%s", name, len, sum));
	}
	g_ptr_array_sort(lines, by_text);
	g_ptr_array_add(lines, NULL);
	for (guint i = 0; i + 1 < lines->len; i++)
		g_string_append(dump->text, lines->pdata[i]);
}

static inline void
dump_content(Dump *dump, const char *full)
{
	gbe_autofd int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOATIME);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree guint8 *block = g_malloc(65536);
	g_autofree char *ranges = NULL;
	ssize_t got;

	ck_assert_msg(fd >= 0, "%s: %m", full);
	while ((got = read(fd, block, 65536)) > 0)
		g_checksum_update(sum, block, got);
	ck_assert_int_eq(got, 0);
	ranges = ranges_of(fd, true);
	g_string_append_printf(dump->text, " %s %s", g_checksum_get_string(sum),
			       ranges == NULL ? "" : ranges);
}

static inline void
dump_entry(Dump *dump, const char *full, const char *path, const struct stat *st)
{
	g_autofree char *inode = g_strdup_printf("%lu:%lu", st->st_dev, st->st_ino);
	const char *first = g_hash_table_lookup(dump->inodes, inode);
	char target[4096] = "";

	g_string_append_printf(dump->text, "%s %o %u:%u %ld.%09ld", path, st->st_mode, st->st_uid,
			       st->st_gid, (long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	dump_xattrs(dump, full);
	if (S_ISLNK(st->st_mode) && readlink(full, target, sizeof(target) - 1) >= 0)
		g_string_append_printf(dump->text, " -> %s", target);
	if (S_ISREG(st->st_mode) && first != NULL)
		g_string_append_printf(dump->text, " is %s", first);
	else if (S_ISREG(st->st_mode))
		dump_content(dump, full);
	if (S_ISREG(st->st_mode))
		g_string_append_printf(dump->text, " size %ld", (long)st->st_size);
	g_string_append_c(dump->text, '\n');
	if (first == NULL)
		g_hash_table_insert(dump->inodes, g_steal_pointer(&inode), g_strdup(path));
}

static inline void
dump_dir(Dump *dump, const char *full, const char *path)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);

	ck_assert_msg(dir != NULL, "%s: %m", full);
	for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, by_text);
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *child = g_build_filename(full, names->pdata[i], NULL);
		g_autofree char *below = g_build_filename(path, names->pdata[i], NULL);
		struct stat st;

		ck_assert_msg(lstat(child, &st) == 0, "%s: %m", child);
		if (S_ISSOCK(st.st_mode) && !dump->sockets)
			continue;
		dump_entry(dump, child, below, &st);
		if (S_ISDIR(st.st_mode))
			dump_dir(dump, child, below);
	}
}

/* Everything that a copy has to have, without sockets; newly allocated. */
static inline char *
dump_tree(const char *path)
{
	g_autofree char *full = at(path);
	Dump dump = {
	    .text = g_string_new(NULL),
	    .inodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
	};
	struct stat st = stat_of(path);

	dump_entry(&dump, full, ".", &st);
	dump_dir(&dump, full, ".");
	g_hash_table_unref(dump.inodes);
	return g_string_free(dump.text, false);
}

/* Two such texts; shows the first line that differs. */
static inline void
assert_same(const char *text, const char *wanted)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_auto(GStrv) others = g_strsplit(wanted, "\n", -1);

	for (guint i = 0; lines[i] != NULL || others[i] != NULL; i++) {
		ck_assert_msg(lines[i] != NULL, "missing: %s", others[i]);
		ck_assert_msg(others[i] != NULL, "too much: %s", lines[i]);
		ck_assert_msg(g_str_equal(lines[i], others[i]), "%s (here) instead of %s", lines[i],
			      others[i]);
	}
}

/* ---- errors ---- */

#define assert_ok(call, error)                                                                     \
	do {                                                                                       \
		bool assert_ok_result = (call);                                                    \
		ck_assert_msg(assert_ok_result, "%s: %s", #call,                                   \
			      (error) != NULL ? (error)->message : "false without an error");      \
		ck_assert_ptr_null(error);                                                         \
	} while (0)

/* Fails with this code and this text in the message, and clears the error. */
#define assert_fails(call, error, wanted, text)                                                    \
	do {                                                                                       \
		bool assert_fails_result = (call);                                                 \
		ck_assert_msg(!assert_fails_result, "%s went well", #call);                        \
		ck_assert_msg((error) != NULL, "%s: no error", #call);                             \
		ck_assert_msg(g_error_matches(error, GBE_ERROR, wanted),                           \
			      "%s: code %d instead of %d: %s", #call, (error)->code, (int)wanted,  \
			      (error)->message);                                                   \
		ck_assert_msg(strstr((error)->message, text) != NULL, "%s: \"%s\" has no \"%s\"",  \
			      #call, (error)->message, text);                                      \
		g_clear_error(&(error));                                                           \
	} while (0)

/* A case of its own with a place before and after each test; in forks of its own, 120 s. */
static inline TCase *
place_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, place_setup, place_teardown);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	return tcase;
}
