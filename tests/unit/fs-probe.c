/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/probe.h"
#include "unit/fs-place.h"

static int
open_at(const char *path)
{
	int fd = openat(place, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	return fd;
}

/* The true answer, from a common tool. */
static GbeTri
cp_clones(const char *from, const char *to)
{
	g_autofree char *src = g_strdup_printf("%s/%s/cp-src", place_path, from);
	g_autofree char *dst = g_strdup_printf("%s/%s/cp-dst", place_path, to);
	int status;

	ck_assert(g_file_set_contents(src, "text", -1, NULL));
	status = place_run((const char *[]){"cp", "--reflink=always", src, dst, NULL});
	ck_assert_int_eq(unlink(src), 0);
	(void)unlink(dst);
	return gbe_tri(status == 0);
}

START_TEST(clones_are_told_as_they_are)
{
	g_autofree char *names = NULL;
	gbe_autofd int a = -1;
	gbe_autofd int b = -1;

	put_dir("a", 0700);
	put_dir("b", 0700);
	a = open_at("a");
	b = open_at("b");
	ck_assert_int_eq(gbe_probe_clone(a, b), cp_clones("a", "b"));
	ck_assert_int_eq(gbe_probe_clone(a, a), cp_clones("a", "a"));
	if (place_is_known())
		ck_assert_int_eq(gbe_probe_clone(a, b), place_clones() ? GBE_YES : GBE_NO);
	names = names_in("a");
	ck_assert_str_eq(names, "");
	g_free(names);
	names = names_in("b");
	ck_assert_str_eq(names, "");
}
END_TEST

/* As users make it: chattr +C of the data directory, and of nothing else. */
START_TEST(clones_without_cow)
{
	gbe_autofd int data = -1;
	gbe_autofd int store = -1;

	if (!place_is_btrfs())
		return;
	put_dir("data", 0700);
	put_dir("store", 0700);
	ck_assert(put_flags("data", FS_NOCOW_FL));
	data = open_at("data");
	store = open_at("store");
	ck_assert_int_eq(gbe_probe_clone(data, store), GBE_YES);
	ck_assert_int_eq(gbe_probe_clone(store, data), GBE_YES);
}
END_TEST

START_TEST(clones_across)
{
	g_autofree char *dir = NULL;
	gbe_autofd int other = -1;

	put_dir("mnt", 0700);
	if (!own_mounts("clones_across"))
		return;
	dir = at("mnt");
	ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	other = open_at("mnt");
	ck_assert_int_eq(gbe_probe_clone(place, other), GBE_NO);
	ck_assert_int_eq(gbe_probe_clone(other, place), GBE_NO);
	ck_assert(!gbe_same_filesystem(place, other));
	gbe_close_fd(&other);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(clones_between_subvolumes)
{
	gbe_autofd int vol = -1;

	if (!place_is_btrfs())
		return;
	put_subvolume("vol");
	vol = open_at("vol");
	ck_assert_int_eq(gbe_probe_clone(place, vol), GBE_YES);
	ck_assert(gbe_same_filesystem(place, vol));
}
END_TEST

/* The data is on a read-only mount and the store is not: the store's own files give the answer. */
START_TEST(a_source_that_cannot_be_written)
{
	g_autofree char *dir = NULL;
	gbe_autofd int src = -1;

	put_dir("ro", 0700);
	if (!own_mounts("a_source_that_cannot_be_written"))
		return;
	dir = at("ro");
	ck_assert_int_eq(mount(dir, dir, NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	src = open_at("ro");
	if (place_is_known())
		ck_assert_int_eq(gbe_probe_clone(src, place), place_clones() ? GBE_YES : GBE_NO);
	ck_assert_int_eq(gbe_probe_clone(place, src), GBE_UNKNOWN);
	ck_assert(gbe_filesystem_read_only(src));
	ck_assert(!gbe_filesystem_read_only(place));
	/* The mount is read-only, and the disk is not. */
	ck_assert(!gbe_filesystem_read_only_for_all(src));
	ck_assert(!gbe_filesystem_read_only_for_all(place));
	gbe_close_fd(&src);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
	ck_assert_int_eq(mount("none", dir, "tmpfs", MS_RDONLY, NULL), 0);
	src = open_at("ro");
	ck_assert(gbe_filesystem_read_only_for_all(src));
	gbe_close_fd(&src);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(subvolumes)
{
	gbe_autofd int dir = -1;
	gbe_autofd int vol = -1;
	gbe_autofd int file = -1;

	put_dir("dir", 0700);
	put("file", "x");
	dir = open_at("dir");
	file = openat(place, "file", O_RDONLY | O_CLOEXEC);
	ck_assert(!gbe_is_subvolume(dir));
	ck_assert(!gbe_is_subvolume(file));
	if (!place_is_btrfs())
		return;
	put_subvolume("vol");
	vol = open_at("vol");
	ck_assert(gbe_is_subvolume(vol));
}
END_TEST

START_TEST(mount_points)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	g_autofree char *file = NULL;
	bool mount_point = true;

	put_dir("dir", 0700);
	put("file", "x");
	ck_assert_int_eq(symlinkat("/", place, "link"), 0);
	assert_ok(gbe_is_mount_point_at(place, "dir", &mount_point, &error), error);
	ck_assert(!mount_point);
	if (place_is_btrfs()) {
		put_subvolume("vol");
		assert_ok(gbe_is_mount_point_at(place, "vol", &mount_point, &error), error);
		ck_assert(!mount_point);
	}
	if (!own_mounts("mount_points"))
		return;
	dir = at("dir");
	file = at("file");
	/* Bound onto itself: device and inode do not show the mount. */
	ck_assert_int_eq(mount(dir, dir, NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(mount(file, file, NULL, MS_BIND, NULL), 0);
	assert_ok(gbe_is_mount_point_at(place, "dir", &mount_point, &error), error);
	ck_assert(mount_point);
	mount_point = false;
	assert_ok(gbe_is_mount_point_at(place, "file", &mount_point, &error), error);
	ck_assert(mount_point);
	assert_ok(gbe_is_mount_point_at(place, "link", &mount_point, &error), error);
	ck_assert(!mount_point);
	mount_point = true;
	assert_fails(gbe_is_mount_point_at(place, "none", &mount_point, &error), error,
		     GBE_ERROR_NOT_FOUND, "none");
	ck_assert(mount_point);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
	ck_assert_int_eq(umount2(file, MNT_DETACH), 0);
}
END_TEST

START_TEST(a_handle_is_of_the_directory)
{
	g_autofree char *first = NULL;
	g_autofree char *again = NULL;
	g_autofree char *other = NULL;
	gbe_autofd int fd = -1;

	put_dir("dir", 0700);
	fd = open_at("dir");
	first = gbe_tree_identity(fd);
	if (!place_is_known() && first == NULL)
		return;
	ck_assert_ptr_nonnull(first);
	ck_assert_uint_eq(strspn(first, "0123456789abcdef:.-"), strlen(first));
	ck_assert_int_eq(renameat(place, "dir", place, "moved"), 0);
	again = gbe_tree_identity(fd);
	ck_assert_str_eq(again, first);
	/* The inode's number may be used again, its handle is not. */
	gbe_close_fd(&fd);
	ck_assert_int_eq(unlinkat(place, "moved", AT_REMOVEDIR), 0);
	put_dir("dir", 0700);
	fd = open_at("dir");
	other = gbe_tree_identity(fd);
	ck_assert_str_ne(other, first);
}
END_TEST

START_TEST(an_id_is_of_the_file_system)
{
	g_autofree char *here = NULL;
	g_autofree char *there = NULL;
	g_autofree char *below = NULL;
	g_autofree char *dir = NULL;
	gbe_autofd int other = -1;
	gbe_autofd int vol = -1;

	put_dir("mnt", 0700);
	ck_assert(gbe_filesystem_id(place, &here, NULL));
	if (place_is_known())
		ck_assert_ptr_nonnull(here);
	if (place_is_btrfs()) {
		put_subvolume("vol");
		vol = open_at("vol");
		ck_assert(gbe_filesystem_id(vol, &below, NULL));
		ck_assert_str_eq(below, here);
	}
	if (place_is("xfs") || place_is("xfs-noreflink") || place_is_btrfs())
		ck_assert_uint_eq(strlen(here), 36);
	if (!own_mounts("an_id_is_of_the_file_system"))
		return;
	dir = at("mnt");
	ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	other = open_at("mnt");
	ck_assert(gbe_filesystem_id(other, &there, NULL));
	ck_assert_str_ne(there != NULL ? there : "", here != NULL ? here : "none");
	gbe_close_fd(&other);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(a_failed_look_is_no_answer)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *id = NULL;
	bool same = true;

	ck_assert(!gbe_filesystem_id(-1, &id, &error));
	ck_assert_ptr_null(id);
	ck_assert_ptr_nonnull(error);
	g_clear_error(&error);
	ck_assert(!gbe_tell_same_filesystem(place, -1, &same, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert(!gbe_same_filesystem(place, -1));
}
END_TEST

START_TEST(space_is_counted)
{
	g_autoptr(GError) error = NULL;
	guint64 free_bytes = 0, total = 0, inodes = 0, after = 0;

	assert_ok(gbe_filesystem_space(place, &free_bytes, &total, &inodes, &error), error);
	ck_assert_uint_gt(free_bytes, 0);
	ck_assert_uint_lt(free_bytes, total);
	ck_assert_uint_gt(inodes, 0);
	if (!place_is_known())
		return;
	ck_assert_uint_gt(total, 512 * MIB);
	ck_assert_uint_le(total, 1024 * MIB);
	put_allocated("much", 50 * MIB);
	ck_assert_int_eq(syncfs(place), 0);
	assert_ok(gbe_filesystem_space(place, &after, &total, &inodes, &error), error);
	ck_assert_uint_ge(free_bytes - after, 49 * MIB);
	ck_assert_uint_le(free_bytes - after, 60 * MIB);
}
END_TEST

START_TEST(the_top_is_where_it_is_mounted)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	g_autofree char *path = NULL;
	gbe_autofd int root = -1;
	gbe_autofd int data = -1;
	gbe_autofd int top = -1;
	struct stat a, b;

	put_dir("root", 0755);
	put_dir("root/var", 0755);
	if (!own_mounts("the_top_is_where_it_is_mounted"))
		return;
	dir = at("root/var");
	if (_i >= 1)
		ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	put_dir("root/var/lib", 0755);
	put_dir("root/var/lib/etcd", 0755);
	if (_i == 2) {
		/* The data directory is a mount point itself. */
		g_free(dir);
		dir = at("root/var/lib/etcd");
		ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	}
	root = open_at("root");
	data = open_at("root/var/lib/etcd");
	assert_ok(gbe_filesystem_top(data, root, &top, &path, &error), error);
	ck_assert_str_eq(path, _i == 0 ? "/" : _i == 1 ? "/var" : "/var/lib/etcd");
	a = stat_of(_i == 0 ? "root" : _i == 1 ? "root/var" : "root/var/lib/etcd");
	ck_assert_int_eq(fstat(top, &b), 0);
	ck_assert(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	gbe_close_fd(&data);
	gbe_close_fd(&top);
	gbe_close_fd(&root);
	if (_i >= 1)
		ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
	if (_i == 2) {
		g_autofree char *var = at("root/var");

		ck_assert_int_eq(umount2(var, MNT_DETACH), 0);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-probe");
	TCase *tcase = place_case(suite, "probe");

	tcase_add_test(tcase, clones_are_told_as_they_are);
	tcase_add_test(tcase, clones_without_cow);
	tcase_add_test(tcase, clones_across);
	tcase_add_test(tcase, clones_between_subvolumes);
	tcase_add_test(tcase, a_source_that_cannot_be_written);
	tcase_add_test(tcase, subvolumes);
	tcase_add_test(tcase, mount_points);
	tcase_add_test(tcase, a_handle_is_of_the_directory);
	tcase_add_test(tcase, an_id_is_of_the_file_system);
	tcase_add_test(tcase, a_failed_look_is_no_answer);
	tcase_add_test(tcase, space_is_counted);
	tcase_add_loop_test(tcase, the_top_is_where_it_is_mounted, 0, 3);
	return gbe_unit_main(suite);
}
