/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/clone.h"
#include "unit/fs-place.h"

#include "fs/tree.h"

#include <sys/syscall.h>

static const GbeCloneOptions any_method = {.allowed = GBE_METHOD_SNAPSHOT};
static const GbeCloneOptions no_snapshot = {.allowed = GBE_METHOD_REFLINK};
static const GbeCloneOptions only_copy = {.allowed = GBE_METHOD_COPY};

/* A data directory of etcd, and everything else that an inode can have. */
static void
make_files(void)
{
	put_dir("src/member", 0700);
	put_dir("src/member/snap", 0700);
	put_dir("src/member/wal", 0700);
	put_dir("src/empty", 01775);
	put_data("src/member/snap/db", 0, 300000, 1);
	put_data("src/member/snap/db", 2 * MIB, 65536, 2);
	put_size("src/member/snap/db", 5 * MIB);
	put_allocated("src/member/wal/0.wal", 8 * MIB);
	put_data("src/member/wal/0.wal", 0, 4096, 3);
	put_allocated("src/member/wal/0.tmp", 8 * MIB);
	put_size("src/member/hole", 3 * MIB);
	put("src/member/nothing", "");
	put("src/member/text", "odd\n");
	put("src/member/a name\nwith \xff bytes", "x");
	ck_assert_int_eq(linkat(place, "src/member/text", place, "src/twin", 0), 0);
	ck_assert_int_eq(symlinkat("../outside", place, "src/member/link"), 0);
	ck_assert_int_eq(symlinkat("/no such place", place, "src/dangling"), 0);
}

static void
make_metadata(void)
{
	if (geteuid() == 0) {
		ck_assert_int_eq(fchownat(place, "src/member", 4711, 4712, 0), 0);
		ck_assert_int_eq(fchownat(place, "src/member/snap/db", 4711, 4712, 0), 0);
		ck_assert_int_eq(
		    fchownat(place, "src/member/link", 4711, 4712, AT_SYMLINK_NOFOLLOW), 0);
		put_xattr("src/member/snap/db", "trusted.gbe", "secret", 6);
		put_xattr("src/member/link", "trusted.gbe", "of a link", 9);
		put_xattr("src/member/text", "security.capability",
			  "\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	}
	ck_assert_int_eq(fchmodat(place, "src/member/snap/db", 04640, 0), 0);
	ck_assert_int_eq(fchmodat(place, "src/member/nothing", geteuid() == 0 ? 0 : 0400, 0), 0);
	put_xattr("src/member/snap/db", "user.label", "some\0bytes", 10);
	put_xattr("src/member/wal", "user.dir", "", 0);
	put_xattr("src/member/wal/0.wal", "system.posix_acl_access", some_acl, sizeof(some_acl));
	put_xattr("src/member", "system.posix_acl_default", some_acl, sizeof(some_acl));
	put_time("src/member/snap/db", 1234567890, 123456789);
	put_time("src/member/hole", -1000000, 0);
	put_time("src/member/link", 1000000000, 987654321);
	put_time("src/empty", 1500000000, 1);
	put_time("src/member/snap", 1500000001, 2);
	put_time("src/member", 1500000002, 3);
	put_time("src", 1500000003, 999999999);
}

static void
make_source(bool subvolume)
{
	if (subvolume)
		put_subvolume("src");
	else
		put_dir("src", 0750);
	make_files();
	/* Another name outside of the tree, which a subvolume cannot have. */
	if (!subvolume)
		ck_assert_int_eq(linkat(place, "src/member/text", place, "outside", 0), 0);
	make_metadata();
}

static GbeCloneResult
clone_source(const GbeCloneOptions *options)
{
	g_autoptr(GError) error = NULL;
	GbeCloneResult result = {0};

	assert_ok(gbe_clone_tree_at(place, "src", place, "dst", options, &result, &error), error);
	return result;
}

/* The copy equals the source, and the source is unchanged. */
static void
check_copy(const char *before)
{
	g_autofree char *source = dump_tree("src");
	g_autofree char *copy = dump_tree("dst");

	assert_same(source, before);
	assert_same(copy, before);
}

START_TEST(every_method_copies_everything)
{
	const GbeCloneOptions *options[] = {&any_method, &no_snapshot, &only_copy};
	g_autofree char *before = NULL;
	g_auto(GbeCloneResult) result = {0};

	make_source(false);
	before = dump_tree("src");
	result = clone_source(options[_i]);
	check_copy(before);
	if (place_is_known())
		ck_assert_int_eq(result.method,
				 place_clones() && _i < 2 ? GBE_METHOD_REFLINK : GBE_METHOD_COPY);
	ck_assert_uint_eq(result.info.files, 7);
	ck_assert_uint_eq(result.info.directories, 4);
	ck_assert_uint_eq(result.info.bytes, 24 * MIB + 5);
	ck_assert_uint_eq(result.info.left_out->len, 0);
}
END_TEST

START_TEST(a_copy_writes_data_and_keeps_allocation)
{
	g_auto(GbeCloneResult) result = {0};

	make_source(false);
	ck_assert_int_eq(syncfs(place), 0);
	result = clone_source(&only_copy);
	ck_assert_int_eq(syncfs(place), 0);
	/* 300,000 bytes in whole blocks, 64 KiB, 4 KiB, and two tiny ones. */
	ck_assert_uint_ge(result.bytes_written, 300000 + 65536 + 4096 + 5);
	ck_assert_uint_le(result.bytes_written, 300000 + 65536 + 4096 + 5 + 65536);
	if (place_is_known()) {
		g_autofree char *tmp = unwritten_of("dst/member/wal/0.tmp");
		g_autofree char *wal = unwritten_of("dst/member/wal/0.wal");
		g_autofree char *db = unwritten_of("dst/member/snap/db");

		ck_assert_str_eq(tmp, "0-8388608 ");
		ck_assert_str_eq(wal, "4096-8388608 ");
		ck_assert_str_eq(db, "");
	}
	ck_assert_int_ge(stat_of("dst/member/wal/0.tmp").st_blocks, (blkcnt_t)(8 * MIB / 512));
	ck_assert_int_eq(stat_of("dst/member/hole").st_blocks, 0);
	ck_assert_int_lt(stat_of("dst/member/snap/db").st_blocks, (blkcnt_t)(MIB / 512));
}
END_TEST

START_TEST(dirty_pages_over_allocated_ranges)
{
	g_auto(GbeCloneResult) result = {0};
	g_autofree char *before = NULL;
	g_autofree char *bytes = NULL;

	put_dir("src", 0755);
	put_allocated("src/file", 4 * MIB);
	ck_assert_int_eq(syncfs(place), 0);
	/* The read puts it into the page cache, where SEEK_DATA takes it for data. */
	bytes = content_of("src/file");
	/* Not on the disk yet: the extents still say "unwritten". */
	put_data("src/file", MIB, 100000, 7);
	put_data("src/file", 3 * MIB, 5, 8);
	result = clone_source(&only_copy);
	/* SEEK_DATA takes whole folios as data, so that the ranges may be larger in the copy. */
	before = content_of("src/file");
	g_free(bytes);
	bytes = content_of("dst/file");
	ck_assert_mem_eq(bytes, before, 4 * MIB);
	ck_assert_uint_ge(result.bytes_written, 100005);
	if (place_is_known())
		ck_assert_uint_le(result.bytes_written, MIB);
}
END_TEST

/* Like etcd's WAL after a boot: some data, and the rest only allocated. */
START_TEST(what_is_read_ahead_is_no_data)
{
	g_auto(GbeCloneResult) result = {0};
	int fd;

	put_dir("src", 0755);
	put_allocated("src/file", 16 * MIB);
	put_data("src/file", 0, 4096, 7);
	ck_assert_int_eq(syncfs(place), 0);
	fd = openat(place, "src/file", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	(void)close(fd);
	result = clone_source(&only_copy);
	ck_assert_uint_ge(result.bytes_written, 4096);
	if (place_is_known())
		ck_assert_uint_le(result.bytes_written, MIB);
}
END_TEST

START_TEST(a_clone_shares_blocks)
{
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	const GbeCloneOptions cow = {.allowed = GBE_METHOD_REFLINK, .cow_only = true};

	if (!place_is_known())
		return;
	make_source(false);
	if (!place_clones()) {
		assert_fails(gbe_clone_tree_at(place, "src", place, "dst", &cow, &result, &error),
			     error, GBE_ERROR_UNSUPPORTED, "cannot be cloned");
		ck_assert(!is_there("dst"));
		return;
	}
	result = clone_source(&cow);
	ck_assert_int_eq(result.method, GBE_METHOD_REFLINK);
	ck_assert_uint_eq(result.bytes_written, 0);
	/* A write to one is not in the other. */
	put_data("src/member/snap/db", 0, 4096, 99);
	{
		g_autofree char *source = content_of("src/member/snap/db");
		g_autofree char *copy = content_of("dst/member/snap/db");

		ck_assert_int_ne(memcmp(source, copy, 4096), 0);
	}
}
END_TEST

START_TEST(a_subvolume_is_snapshotted)
{
	g_autofree char *before = NULL;
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	const GbeCloneOptions options = {.allowed = GBE_METHOD_SNAPSHOT,
					 .atomic = true,
					 .read_only = _i == 1};
	gbe_autofd int dst = -1;
	guint64 flags = 0;

	if (!place_is_btrfs())
		return;
	make_source(true);
	put_socket("src/sock");
	before = dump_tree("src");
	result = clone_source(&options);
	check_copy(before);
	if (place_snapshots()) {
		ck_assert_int_eq(result.method, GBE_METHOD_SNAPSHOT);
		ck_assert_uint_eq(result.info.left_out->len, 0);
		ck_assert(is_there("dst/sock"));
		dst = openat(place, "dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_eq(ioctl(dst, BTRFS_IOC_SUBVOL_GETFLAGS, &flags), 0);
		ck_assert_int_eq((flags & BTRFS_SUBVOL_RDONLY) != 0, _i == 1);
	} else {
		ck_assert_int_eq(result.method, GBE_METHOD_REFLINK);
	}
	gbe_close_fd(&dst);
	assert_ok(gbe_remove_tree_at(place, "dst", &error), error);
	ck_assert(!is_there("dst"));
}
END_TEST

/* A snapshot's commit would cost more than these few extents. The copy is still a subvolume. */
START_TEST(a_subvolume_of_few_extents_is_cloned)
{
	const bool many = _i == 1;
	g_autofree char *before = NULL;
	g_auto(GbeCloneResult) result = {0};

	if (!place_snapshots())
		return;
	make_source(true);
	for (guint64 i = 0; many && i < 300; i++)
		put_data("src/member/snap/db", i * 2 * 65536, 65536, (guint)i);
	ck_assert_int_eq(syncfs(place), 0);
	before = dump_tree("src");
	result = clone_source(&any_method);
	check_copy(before);
	ck_assert_int_eq(result.method, many ? GBE_METHOD_SNAPSHOT : GBE_METHOD_REFLINK);
	ck_assert_uint_eq(stat_of("dst").st_ino, 256);
	ck_assert_uint_eq(stat_of("dst").st_mode, stat_of("src").st_mode);
}
END_TEST

/* No other user can enter it at any moment, with any umask. */
START_TEST(a_new_subvolume_is_private)
{
	g_autoptr(GError) error = NULL;
	mode_t mask = umask(0);

	if (place_snapshots()) {
		assert_ok(gbe_subvolume_create_at(place, "new", &error), error);
		ck_assert_uint_eq(stat_of("new").st_mode & 07777, 0700);
		assert_fails(gbe_subvolume_create_at(place, "new", &error), error, GBE_ERROR_FAILED,
			     "new");
	}
	ck_assert_uint_eq(umask(mask), 0);
}
END_TEST

START_TEST(a_snapshot_leaves_out_what_is_excluded)
{
	static const char *const exclude[] = {".store", "not there", NULL};
	const GbeCloneOptions options = {.allowed = GBE_METHOD_SNAPSHOT,
					 .atomic = true,
					 .read_only = true,
					 .exclude = exclude};
	g_autofree char *before = NULL;
	g_auto(GbeCloneResult) result = {0};

	if (place_is_btrfs())
		put_subvolume("src");
	else
		put_dir("src", 0755);
	put("src/data", "data");
	put_time("src", 1500000000, 5);
	before = dump_tree("src");
	put_dir("src/.store", 0700);
	put("src/.store/old", "not for the copy");
	/* A backup in the source is a subvolume; inside the tree it would be refused. */
	if (place_is_btrfs())
		put_subvolume("src/.store/backup");
	ck_assert_int_eq(mkfifoat(place, "src/.store/fifo", 0600), 0);
	put_time("src", 1500000000, 5);
	result = clone_source(&options);
	{
		g_autofree char *copy = dump_tree("dst");

		assert_same(copy, before);
	}
	ck_assert_uint_eq(result.info.files, 1);
	ck_assert(is_there("src/.store/old"));
	if (place_snapshots()) {
		ck_assert_int_eq(result.method, GBE_METHOD_SNAPSHOT);
		ck_assert_int_eq(mkdirat(place, "dst/new", 0700), -1);
		ck_assert_int_eq(errno, EROFS);
	}
	make_writable("dst");
}
END_TEST

START_TEST(nocow_is_kept)
{
	g_autofree char *before = NULL;
	g_auto(GbeCloneResult) result = {0};

	if (!place_is_btrfs())
		return;
	put_dir("src", 0755);
	put_dir("src/nocow", 0755);
	ck_assert(put_flags("src/nocow", FS_NOCOW_FL));
	put_data("src/nocow/db", 0, MIB, 5);
	put_data("src/cow", 0, MIB, 6);
	ck_assert_int_ne(get_flags("src/nocow/db") & FS_NOCOW_FL, 0);
	before = dump_tree("src");
	result = clone_source(_i == 0 ? &no_snapshot : &only_copy);
	check_copy(before);
	ck_assert_int_eq(result.method, _i == 0 ? GBE_METHOD_REFLINK : GBE_METHOD_COPY);
	ck_assert_int_ne(get_flags("dst/nocow") & FS_NOCOW_FL, 0);
	ck_assert_int_ne(get_flags("dst/nocow/db") & FS_NOCOW_FL, 0);
	ck_assert_int_eq(get_flags("dst/cow") & FS_NOCOW_FL, 0);
}
END_TEST

START_TEST(nocow_is_not_inherited)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int store = -1;

	if (!place_is_btrfs())
		return;
	put_dir("src", 0755);
	put_data("src/db", 0, MIB, 5);
	put_dir("store", 0700);
	ck_assert(put_flags("store", FS_NOCOW_FL));
	store = openat(place, "store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(gbe_clone_tree_at(place, "src", store, "dst", &no_snapshot, &result, &error),
		  error);
	ck_assert_int_eq(result.method, GBE_METHOD_REFLINK);
	ck_assert_int_eq(get_flags("store/dst") & FS_NOCOW_FL, 0);
	ck_assert_int_eq(get_flags("store/dst/db") & FS_NOCOW_FL, 0);
}
END_TEST

START_TEST(acls_are_not_inherited)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbeCloneResult) result = {0};
	g_autofree char *before = NULL;
	g_autofree char *copy = NULL;
	gbe_autofd int store = -1;

	put_dir("src", 0755);
	put_dir("src/dir", 0755);
	put("src/dir/file", "x");
	before = dump_tree("src");
	put_dir("store", 0755);
	if (!put_xattr("store", "system.posix_acl_default", some_acl, sizeof(some_acl)))
		return;
	store = openat(place, "store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(gbe_clone_tree_at(place, "src", store, "dst", &any_method, &result, &error),
		  error);
	copy = dump_tree("store/dst");
	assert_same(copy, before);
}
END_TEST

START_TEST(sockets_are_left_out_and_named)
{
	g_auto(GbeCloneResult) result = {0};

	put_dir("src", 0755);
	put_dir("src/member", 0755);
	put_socket("src/member/s");
	put("src/file", "x");
	result = clone_source(&no_snapshot);
	ck_assert_uint_eq(result.info.left_out->len, 1);
	ck_assert_str_eq(result.info.left_out->pdata[0], "member/s");
	ck_assert(is_there("dst/member"));
	ck_assert(!is_there("dst/member/s"));
	ck_assert(is_there("dst/file"));
}
END_TEST

static void
check_refused(const char *text)
{
	const GbeCloneOptions *options[] = {&any_method, &no_snapshot, &only_copy};

	for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
		g_auto(GbeCloneResult) result = {0};
		g_autoptr(GError) error = NULL;

		assert_fails(
		    gbe_clone_tree_at(place, "src", place, "dst", options[i], &result, &error),
		    error, GBE_ERROR_UNSAFE_SOURCE, text);
		ck_assert(!is_there("dst"));
	}
}

START_TEST(what_is_never_copied_is_refused_by_name)
{
	if (place_is("btrfs-subvol"))
		put_subvolume("src");
	else
		put_dir("src", 0755);
	put("src/a", "first in order");
	put_dir("src/dir", 0755);
	if (_i == 0) {
		ck_assert_int_eq(mkfifoat(place, "src/dir/fifo", 0600), 0);
		check_refused("dir/fifo is a FIFO");
	} else if (_i == 1 && have_root("device")) {
		ck_assert_int_eq(mknodat(place, "src/dir/zero", S_IFCHR | 0600, 0x105), 0);
		check_refused("dir/zero is a device");
	} else if (_i == 2 && place_is_btrfs()) {
		put_subvolume("src/dir/nested");
		check_refused("dir/nested is a btrfs subvolume");
	}
}
END_TEST

/* Refused as a whole, by name, before anything is made. */
START_TEST(what_is_too_deep_is_refused)
{
	g_autoptr(GString) path = g_string_new("src");

	put_dir("src", 0755);
	for (guint i = 0; i < 70; i++) {
		g_string_append(path, "/d");
		put_dir(path->str, 0755);
	}
	check_refused("lies deeper than the 64 levels that a tree may have");
}
END_TEST

/* The copy is also a hole. */
START_TEST(a_giant_of_nothing_costs_nothing)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_COPY};
	g_auto(GbeCloneResult) result = {0};
	g_autofree char *giant = NULL;
	gint64 begin;

	make_source(false);
	giant = at("src/member/hole");
	ck_assert_int_eq(truncate(giant, (off_t)1 << 40), 0);
	begin = g_get_monotonic_time();
	result = clone_source(&options);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 10 * G_USEC_PER_SEC);
	ck_assert_uint_lt(result.bytes_written, 64 * MIB);
}
END_TEST

/* Replaces the C library's ioctl(): a query for extents finds this many. */
static guint32 extents_found;

int
ioctl(int fd, unsigned long request, ...)
{
	struct fiemap *map;
	va_list args;
	int result;

	va_start(args, request);
	map = va_arg(args, struct fiemap *);
	va_end(args);
	result = (int)syscall(SYS_ioctl, fd, request, map);
	if (extents_found > 0 && request == FS_IOC_FIEMAP && map->fm_extent_count == 0) {
		map->fm_mapped_extents = extents_found;
		return 0;
	}
	return result;
}

/* Not for a backup that must be made. */
START_TEST(a_file_in_too_many_pieces_may_be_left_out)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK, .cow_only = _i == 0};
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;

	if (!place_is_known())
		return;
	put_dir("src", 0700);
	put_data("src/one", 0, 5000, 1);
	put_data("src/two", 0, 5000, 2);
	extents_found = GBE_CLONE_MAX_EXTENTS / 2 + 1;
	if (_i == 0)
		assert_fails(
		    gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error), error,
		    GBE_ERROR_UNSUPPORTED, place_clones() ? "two is in too many pieces" : "one");
	else
		assert_ok(gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error),
			  error);
	extents_found = 0;
	ck_assert_int_eq(is_there("dst"), _i != 0);
}
END_TEST

static bool
count_call(guint64 bytes, gpointer data)
{
	(*(guint *)data)++;
	return true;
}

/* Progress is reported between the pieces, and holes cost nothing. */
START_TEST(a_large_file_is_cloned_in_pieces)
{
	guint calls = 0;
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK,
					 .progress = count_call,
					 .progress_data = &calls};
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int src = -1;
	gbe_autofd int dst = -1;

	if (!place_clones())
		return;
	put_dir("src", 0700);
	for (guint i = 0; i < 4; i++)
		put_data("src/large", i * 300 * MIB, 5000, i + 1);
	result = clone_source(&options);
	ck_assert_int_eq(result.method, GBE_METHOD_REFLINK);
	ck_assert_uint_eq(calls, 4 + 1);
	src = openat(place, "src/large", O_RDONLY | O_CLOEXEC);
	dst = openat(place, "dst/large", O_RDONLY | O_CLOEXEC);
	for (guint i = 0; i < 4; i++) {
		char one[5000], other[5000];

		ck_assert_int_eq(pread(src, one, 5000, (off_t)(i * 300 * MIB)), 5000);
		ck_assert_int_eq(pread(dst, other, 5000, (off_t)(i * 300 * MIB)), 5000);
		ck_assert_int_eq(memcmp(one, other, 5000), 0);
		ck_assert_int_ne(one[0], 0);
	}
	put_size("src/large", (guint64)1 << 50);
	ck_assert_int_eq(unlinkat(place, "dst/large", 0), 0);
	ck_assert_int_eq(unlinkat(place, "dst", AT_REMOVEDIR), 0);
	gbe_clone_result_clear(&result);
	result = clone_source(&options);
	ck_assert_int_eq(stat_of("dst/large").st_size, (gint64)1 << 50);
}
END_TEST

/* Their paths are longer than the kernel takes. */
START_TEST(further_names_may_lie_deep)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_COPY};
	g_auto(GbeCloneResult) result = {0};
	char name[241] = "";
	gbe_autofd int fd = -1;
	struct stat first, second;

	memset(name, 'n', sizeof(name) - 1);
	put_dir("src", 0700);
	for (guint round = 0; round < 2; round++) {
		gbe_close_fd(&fd);
		fd = openat(place, round == 0 ? "src" : "dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (guint i = 0; i < 20; i++) {
			int next;

			ck_assert_int_eq(round > 0 || mkdirat(fd, name, 0700) == 0, true);
			next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			ck_assert_int_ge(next, 0);
			(void)close(fd);
			fd = next;
		}
		if (round > 0)
			break;
		ck_assert_int_eq(mknodat(fd, "a", S_IFREG | 0600, 0), 0);
		ck_assert_int_eq(mkdirat(fd, "b", 0700), 0);
		ck_assert_int_eq(linkat(fd, "a", fd, "b/c", 0), 0);
		result = clone_source(&options);
	}
	ck_assert_int_eq(fstatat(fd, "a", &first, 0), 0);
	ck_assert_int_eq(fstatat(fd, "b/c", &second, 0), 0);
	ck_assert_uint_eq(first.st_ino, second.st_ino);
}
END_TEST

START_TEST(mounts_are_refused_by_name)
{
	g_autofree char *dir = NULL;
	g_autofree char *other = NULL;

	put_dir("src", 0755);
	put("src/file", "x");
	put_dir("src/dir", 0755);
	put_dir("other", 0755);
	put("other/file", "y");
	if (!own_mounts("mounts_are_refused_by_name"))
		return;
	if (_i == 0) {
		dir = at("src/dir");
		ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
		check_refused("dir is a mount point");
	} else if (_i == 1) {
		/* The same file system has the same device. */
		dir = at("src/dir");
		other = at("other");
		ck_assert_int_eq(mount(other, dir, NULL, MS_BIND, NULL), 0);
		check_refused("dir is a mount point");
	} else {
		dir = at("src/file");
		other = at("other/file");
		ck_assert_int_eq(mount(other, dir, NULL, MS_BIND, NULL), 0);
		check_refused("file is a mount point");
	}
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(the_top_may_not_be_a_symlink)
{
	put_dir("real", 0755);
	ck_assert_int_eq(symlinkat("real", place, "src"), 0);
	check_refused("src is a symlink");
}
END_TEST

START_TEST(a_destination_that_is_there_is_not_touched)
{
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;

	make_source(place_is("btrfs-subvol"));
	put_dir("dst", 0700);
	put("dst/precious", "x");
	before = dump_tree("dst");
	assert_fails(gbe_clone_tree_at(place, "src", place, "dst", &any_method, &result, &error),
		     error, GBE_ERROR_FAILED, "dst");
	after = dump_tree("dst");
	if (place_is("btrfs-subvol") && g_strcmp0(before, after) != 0)
		/* A snapshot into an existing directory would land inside it. */
		ck_abort_msg("the destination was changed: %s", after);
	assert_same(after, before);
}
END_TEST

START_TEST(first_things_first)
{
	static const char *const first[] = {"member/wal", "member/snap/db", NULL};
	const GbeCloneOptions options = {.allowed = _i == 0 ? GBE_METHOD_REFLINK : GBE_METHOD_COPY,
					 .first = first};
	g_autofree char *before = NULL;
	g_auto(GbeCloneResult) result = {0};

	make_source(false);
	before = dump_tree("src");
	result = clone_source(&options);
	check_copy(before);
}
END_TEST

static bool
note_order(guint64 bytes, gpointer data)
{
	GString *seen = data;

	if (is_there("dst/member/wal/0.wal"))
		g_string_append(seen, "w");
	if (is_there("dst/member/snap/db"))
		g_string_append(seen, "d");
	if (is_there("dst/a"))
		g_string_append(seen, "a");
	g_string_append(seen, " ");
	return true;
}

START_TEST(first_is_an_order)
{
	static const char *const first[] = {"member/wal", "member/snap/db", NULL};
	g_autoptr(GString) seen = g_string_new(NULL);
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK,
					 .first = first,
					 .progress = note_order,
					 .progress_data = seen};
	g_auto(GbeCloneResult) result = {0};

	put_dir("src", 0755);
	put("src/a", "");
	put_dir("src/member", 0755);
	put_dir("src/member/snap", 0755);
	put_dir("src/member/wal", 0755);
	put("src/member/wal/0.wal", "");
	put("src/member/snap/db", "");
	result = clone_source(&options);
	ck_assert_str_eq(seen->str, "w wd wda ");
}
END_TEST

static bool
stop_after_a_while(guint64 bytes, gpointer data)
{
	guint *calls = data;

	return ++*calls < 3;
}

START_TEST(cancelled_means_nothing_is_left)
{
	guint calls = 0;
	const GbeCloneOptions options = {.allowed = GBE_METHOD_COPY,
					 .progress = stop_after_a_while,
					 .progress_data = &calls};
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;

	make_source(false);
	assert_fails(gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error),
		     error, GBE_ERROR_FAILED, "cancelled");
	ck_assert_uint_eq(calls, 3);
	ck_assert(!is_there("dst"));
}
END_TEST

static bool
last_bytes(guint64 bytes, gpointer data)
{
	guint64 *last = data;

	ck_assert_uint_ge(bytes, *last);
	*last = bytes;
	return true;
}

START_TEST(progress_ends_with_all_bytes)
{
	guint64 last = 0;
	const GbeCloneOptions options = {.allowed = _i == 0 ? GBE_METHOD_REFLINK : GBE_METHOD_COPY,
					 .progress = last_bytes,
					 .progress_data = &last};
	g_auto(GbeCloneResult) result = {0};

	make_source(false);
	result = clone_source(&options);
	ck_assert_uint_eq(last, result.info.bytes);
}
END_TEST

/* A disk of 24 MiB, of which the source has 15. */
START_TEST(a_full_disk_means_nothing_is_left)
{
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;

	if (!own_mounts("a_full_disk_means_nothing_is_left"))
		return;
	ck_assert_int_eq(mount("tmpfs", place_path, "tmpfs", 0, "size=24m"), 0);
	gbe_close_fd(&place);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_dir("src", 0755);
	put("src/a", "small");
	put_data("src/b", 0, _i == 0 ? 15 * MIB : MIB, 1);
	/* Not all of it is allocated: the copy finds that while writing. */
	put_size("src/b", 40 * MIB);
	if (_i == 1)
		put_allocated("src/c", 14 * MIB);
	before = dump_tree("src");
	assert_fails(gbe_clone_tree_at(place, "src", place, "dst", &any_method, &result, &error),
		     error, GBE_ERROR_NO_SPACE, _i == 0 ? "copy of b" : "allocate c");
	ck_assert(!is_there("dst"));
	after = dump_tree("src");
	assert_same(after, before);
	gbe_close_fd(&place);
	ck_assert_int_eq(umount2(place_path, MNT_DETACH), 0);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
END_TEST

/* Fills the free space up to the last MiB. */
static void
fill_the_disk(void)
{
	gbe_autofd int fd = openat(place, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	off_t end = 0;

	for (off_t step = 512 * MIB; step >= (off_t)MIB;)
		if (fallocate(fd, 0, end, step) == 0)
			end += step;
		else
			step /= 2;
	ck_assert_int_gt(end, (off_t)(100 * MIB));
	ck_assert_int_eq(syncfs(fd), 0);
}

START_TEST(a_full_real_disk_means_nothing_is_left)
{
	const GbeCloneOptions *options = _i == 0 ? &only_copy : &any_method;
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;

	if (!place_is_known() || (_i == 1 && place_clones()))
		return;
	put_dir("src", 0755);
	put("src/a", "small");
	put_data("src/b", 0, 8 * MIB, 1);
	before = dump_tree("src");
	fill_the_disk();
	assert_fails(gbe_clone_tree_at(place, "src", place, "dst", options, &result, &error), error,
		     GBE_ERROR_NO_SPACE, "cannot clone src");
	ck_assert(!is_there("dst"));
	after = dump_tree("src");
	assert_same(after, before);
	/* No fd keeps the filler's blocks. */
	ck_assert_int_eq(unlinkat(place, "filler", 0), 0);
	ck_assert_int_eq(syncfs(place), 0);
	result = clone_source(options);
	check_copy(before);
}
END_TEST

/* The source's owner exchanges a directory and a symlink out of the tree, over and over. */
static void
swap_for_ever(void)
{
	for (;;) {
		(void)renameat2(place, "src/dir", place, "bait", RENAME_EXCHANGE);
		(void)renameat2(place, "src/file", place, "bait-file", RENAME_EXCHANGE);
	}
}

START_TEST(a_race_leads_nowhere)
{
	gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC;
	guint good = 0;
	pid_t pid;

	put_dir("secret", 0700);
	put("secret/file", "secret");
	put_dir("src", 0755);
	put_dir("src/dir", 0755);
	put("src/dir/file", "public");
	put("src/file", "public");
	ck_assert_int_eq(symlinkat("../secret", place, "bait"), 0);
	ck_assert_int_eq(symlinkat("../secret/file", place, "bait-file"), 0);
	pid = fork();
	if (pid == 0)
		swap_for_ever();
	/* On a busy machine it repeats until one copy succeeds; check's own limit ends it otherwise. */
	while (g_get_monotonic_time() < end || good == 0) {
		g_auto(GbeCloneResult) result = {0};
		g_autoptr(GError) error = NULL;

		if (!gbe_clone_tree_at(place, "src", place, "dst", &any_method, &result, &error)) {
			ck_assert(!is_there("dst"));
			continue;
		}
		good++;
		/* An entry that moves while btrfs lists it may be missed; gbe_compare_trees() finds that. */
		if (is_there("dst/dir") && S_ISDIR(stat_of("dst/dir").st_mode)) {
			g_autofree char *bytes = content_of("dst/dir/file");

			ck_assert_str_eq(bytes, "public");
		}
		if (is_there("dst/file") && S_ISREG(stat_of("dst/file").st_mode)) {
			g_autofree char *bytes = content_of("dst/file");

			ck_assert_str_eq(bytes, "public");
		}
		assert_ok(gbe_remove_tree_at(place, "dst", &error), error);
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_gt(good, 0);
	ck_assert_int_eq(stat_of("secret").st_mode & 07777, 0700);
	{
		g_autofree char *bytes = content_of("secret/file");

		ck_assert_str_eq(bytes, "secret");
	}
}
END_TEST

START_TEST(one_file)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int src = -1;
	gbe_autofd int dst = -1;
	GbeMethod method = GBE_METHOD_RENAME;
	guint64 written = 77;
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;

	put_data("a", 100, 200000, 1);
	put("b", "");
	src = openat(place, "a", O_RDONLY | O_CLOEXEC);
	dst = openat(place, "b", O_WRONLY | O_CLOEXEC);
	assert_ok(gbe_clone_file(src, dst, "a", &any_method, &method, &written, &error), error);
	if (place_is_known())
		ck_assert_int_eq(method, place_clones() ? GBE_METHOD_REFLINK : GBE_METHOD_COPY);
	ck_assert_uint_eq(written, method == GBE_METHOD_COPY ? 200100 : 0);
	a = content_of("a");
	b = content_of("b");
	ck_assert_int_eq(stat_of("b").st_size, 200100);
	ck_assert_mem_eq(a, b, 200100);
}
END_TEST

#ifdef GBE_FAULTS
/* At each fault point, in each pass: an error, nothing left, the source unchanged. */
START_TEST(an_error_at_any_point_leaves_nothing)
{
	static const char *const points[] = {
	    "clone-dir-made",	   "clone-file-created",     "clone-file-allocated",
	    "clone-file-copied",   "clone-file-done",	     "clone-dir-done",
	    "clone-snapshot-made", "clone-excluded-removed",
	};
	static const char *const exclude[] = {"excluded", NULL};
	const bool snapshot = _i >= 6;
	const GbeCloneOptions options = {.allowed =
					     snapshot ? GBE_METHOD_SNAPSHOT : GBE_METHOD_COPY,
					 .atomic = snapshot,
					 .exclude = exclude};
	g_autofree char *before = NULL;
	guint failed = 0;

	if (snapshot && !place_snapshots())
		return;
	make_source(snapshot);
	put("src/excluded", "x");
	before = dump_tree("src");
	for (guint pass = 1;; pass++) {
		g_autofree char *fault = g_strdup_printf("%s@%u=EIO", points[_i], pass);
		g_auto(GbeCloneResult) result = {0};
		g_autoptr(GError) error = NULL;
		g_autofree char *after = NULL;
		pid_t pid = fork();
		int status = 0;

		/* Fault passes are counted per process. */
		if (pid == 0) {
			g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
			_exit(
			    gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error)
				? 0
				: 1);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFEXITED(status));
		after = dump_tree("src");
		assert_same(after, before);
		if (WEXITSTATUS(status) == 0)
			break;
		failed++;
		ck_assert_msg(!is_there("dst"), "%s left something", fault);
	}
	ck_assert_uint_gt(failed, 0);
	ck_assert(is_there("dst"));
}
END_TEST
#endif

int
main(void)
{
	Suite *suite = suite_create("fs-clone");
	TCase *tcase = place_case(suite, "clone");

	tcase_add_loop_test(tcase, every_method_copies_everything, 0, 3);
	tcase_add_test(tcase, a_copy_writes_data_and_keeps_allocation);
	tcase_add_test(tcase, dirty_pages_over_allocated_ranges);
	tcase_add_test(tcase, what_is_read_ahead_is_no_data);
	tcase_add_test(tcase, a_clone_shares_blocks);
	tcase_add_loop_test(tcase, a_subvolume_is_snapshotted, 0, 2);
	tcase_add_loop_test(tcase, a_subvolume_of_few_extents_is_cloned, 0, 2);
	tcase_add_test(tcase, a_new_subvolume_is_private);
	tcase_add_test(tcase, a_snapshot_leaves_out_what_is_excluded);
	tcase_add_loop_test(tcase, nocow_is_kept, 0, 2);
	tcase_add_test(tcase, nocow_is_not_inherited);
	tcase_add_test(tcase, acls_are_not_inherited);
	tcase_add_test(tcase, sockets_are_left_out_and_named);
	tcase_add_loop_test(tcase, what_is_never_copied_is_refused_by_name, 0, 3);
	tcase_add_test(tcase, what_is_too_deep_is_refused);
	tcase_add_test(tcase, a_giant_of_nothing_costs_nothing);
	tcase_add_loop_test(tcase, a_file_in_too_many_pieces_may_be_left_out, 0, 2);
	tcase_add_test(tcase, a_large_file_is_cloned_in_pieces);
	tcase_add_test(tcase, further_names_may_lie_deep);
	tcase_add_loop_test(tcase, mounts_are_refused_by_name, 0, 3);
	tcase_add_test(tcase, the_top_may_not_be_a_symlink);
	tcase_add_test(tcase, a_destination_that_is_there_is_not_touched);
	tcase_add_loop_test(tcase, first_things_first, 0, 2);
	tcase_add_test(tcase, first_is_an_order);
	tcase_add_test(tcase, cancelled_means_nothing_is_left);
	tcase_add_loop_test(tcase, progress_ends_with_all_bytes, 0, 2);
	tcase_add_loop_test(tcase, a_full_disk_means_nothing_is_left, 0, 2);
	tcase_add_loop_test(tcase, a_full_real_disk_means_nothing_is_left, 0, 2);
	tcase_add_test(tcase, a_race_leads_nowhere);
	tcase_add_test(tcase, one_file);
#ifdef GBE_FAULTS
	tcase_add_loop_test(tcase, an_error_at_any_point_leaves_nothing, 0, 8);
#endif
	return gbe_unit_main(suite);
}
