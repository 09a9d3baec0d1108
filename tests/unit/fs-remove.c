/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/tree.h"
#include "unit/fs-place.h"

#include "base/alive.h"

#include <signal.h>
#include <sys/resource.h>

/* The peak memory of this process, in bytes. */
static gsize
resident(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	return (gsize)usage.ru_maxrss * 1024;
}

static void
check_removed(const char *name)
{
	g_autoptr(GError) error = NULL;

	assert_ok(gbe_remove_tree_at(place, name, &error), error);
	ck_assert(!is_there(name));
}

START_TEST(what_is_not_there_is_no_error)
{
	check_removed("nothing");
}
END_TEST

START_TEST(every_type_goes)
{
	put("file", "x");
	ck_assert_int_eq(symlinkat("/etc/passwd", place, "link"), 0);
	ck_assert_int_eq(mkfifoat(place, "fifo", 0600), 0);
	put_socket("sock");
	put_dir("dir", 0700);
	check_removed("file");
	check_removed("link");
	check_removed("fifo");
	check_removed("sock");
	check_removed("dir");
	ck_assert(g_file_test("/etc/passwd", G_FILE_TEST_EXISTS));
}
END_TEST

START_TEST(only_the_tree_is_removed)
{
	put_dir("keep", 0700);
	put("keep/file", "precious");
	put_dir("tree", 0700);
	put_dir("tree/a", 0);
	put_dir("tree/b", 0700);
	put_dir("tree/b/c", 0700);
	ck_assert_int_eq(symlinkat("../keep", place, "tree/link"), 0);
	ck_assert_int_eq(symlinkat("../../keep", place, "tree/b/link"), 0);
	ck_assert_int_eq(linkat(place, "keep/file", place, "tree/b/c/file", 0), 0);
	for (guint i = 0; i < 1000; i++) {
		g_autofree char *name = g_strdup_printf("tree/b/%u \n\xff", i);

		put(name, "x");
	}
	check_removed("tree");
	{
		g_autofree char *names = names_in(".");
		g_autofree char *bytes = content_of("keep/file");

		ck_assert_str_eq(names, "keep\n");
		ck_assert_str_eq(bytes, "precious");
	}
}
END_TEST

/* The rest keeps its name, and is removed by a later call. */
START_TEST(patience_ends)
{
	g_autoptr(GError) error = NULL;
	gint64 patience = 2000;

	put_dir("tree", 0700);
	put_dir("tree/d", 0700);
	for (guint i = 0; i < 20000; i++) {
		g_autofree char *name = g_strdup_printf("tree/d/%u", i);

		put(name, "");
	}
	assert_ok(gbe_remove_tree_within_at(place, "tree", &patience, &error), error);
	ck_assert_int_le(patience, 0);
	ck_assert(is_there("tree/d"));
	patience = 0;
	assert_ok(gbe_remove_tree_within_at(place, "tree", &patience, &error), error);
	ck_assert(is_there("tree/d"));
	patience = (gint64)3600 * G_USEC_PER_SEC;
	assert_ok(gbe_remove_tree_within_at(place, "tree", &patience, &error), error);
	ck_assert(!is_there("tree"));
	ck_assert_int_lt(patience, (gint64)3600 * G_USEC_PER_SEC);
	assert_ok(gbe_remove_tree_within_at(place, "tree", NULL, &error), error);
}
END_TEST

/* Makes @depth nested directories called @name; @in_each may be NULL. */
static void
put_chain(const char *name, guint depth, void (*in_each)(int fd, guint level))
{
	int fd = dup(place);

	for (guint i = 0; i < depth; i++) {
		int next;

		ck_assert_int_eq(mkdirat(fd, name, 0700), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		(void)close(fd);
		fd = next;
		if (in_each != NULL)
			in_each(fd, i);
	}
	(void)close(fd);
}

/* Files, more directories, and names like those of moved directories. */
static void
put_much(int fd, guint level)
{
	g_autofree char *taken = g_strdup_printf(".gbe-removed-%u", level);
	gbe_autofd int file = openat(fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(mkdirat(fd, "beside", 0700), 0);
	ck_assert_int_eq(mkdirat(fd, "beside/x", 0700), 0);
	if (level % 2 == 0)
		ck_assert_int_eq(mknodat(fd, taken, S_IFREG | 0600, 0), 0);
	else
		ck_assert_int_eq(mkdirat(fd, taken, 0700), 0);
}

/* Each level has another project, which directories inherit. */
static void
put_project(int fd, guint level)
{
	struct fsxattr attributes = {0};

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
		return;
	attributes.fsx_projid = level + 1;
	attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	(void)ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
}

/* Deeper than the number of descriptors, and longer than any path. */
START_TEST(depth_costs_nothing)
{
	static void (*const in_each[])(int fd, guint level) = {NULL, put_much, put_project};
	const struct rlimit few = {.rlim_cur = 48, .rlim_max = 48};
	g_autofree char *name = g_strnfill(200, 'd');
	g_autofree char *names = NULL;

	put("keep", "x");
	put_chain(name, _i == 0 ? 3000 : 300, in_each[_i]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	check_removed(name);
	names = names_in(".");
	ck_assert_str_eq(names, "keep\n");
}
END_TEST

static guint signs;

static void
count_sign(guint64 amount, gpointer data)
{
	ck_assert_ptr_eq(data, &signs);
	signs += (guint)amount;
}

/* ASan keeps freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__)
#define WIDTH_MAX (256 * MIB)
#else
#define WIDTH_MAX (2 * MIB)
#endif

/* Half of the entries cannot be removed at once; memory does not grow with them. */
START_TEST(width_costs_nothing)
{
	gsize before, after;

	put_dir("tree", 0700);
	for (guint i = 0; i < 8000; i++) {
		g_autofree char *name = g_strdup_printf("tree/%0200u", i);

		ck_assert_int_eq(mkdirat(place, name, 0700), 0);
		if (i % 2 == 0) {
			g_autofree char *below = g_strconcat(name, "/x", NULL);

			ck_assert_int_eq(mknodat(place, below, S_IFREG | 0600, 0), 0);
		}
	}
	before = resident();
	gbe_alive_set(count_sign, &signs);
	check_removed("tree");
	gbe_alive_set(NULL, NULL);
	after = resident();
	ck_assert_msg(after < before + WIDTH_MAX, "%zu bytes more", after - before);
	ck_assert_uint_ge(signs, 12000);
}
END_TEST

START_TEST(immutable_is_cleared)
{
	put_dir("tree", 0700);
	put_dir("tree/dir", 0700);
	put("tree/dir/file", "x");
	put("tree/dir/log", "x");
	if (!have_root("immutable_is_cleared"))
		return;
	if (!put_flags("tree/dir/file", FS_IMMUTABLE_FL)) {
		ck_assert(!place_is_known());
		return;
	}
	ck_assert(put_flags("tree/dir/log", FS_APPEND_FL));
	ck_assert(put_flags("tree/dir", FS_IMMUTABLE_FL));
	ck_assert_int_eq(unlinkat(place, "tree/dir/file", 0), -1);
	check_removed("tree");
}
END_TEST

START_TEST(mounts_are_not_crossed)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	g_autofree char *other = NULL;

	put_dir("other", 0700);
	put("other/file", "precious");
	put_dir("tree", 0700);
	put_dir("tree/dir", 0700);
	if (!own_mounts("mounts_are_not_crossed"))
		return;
	dir = at(_i == 2 ? "tree" : "tree/dir");
	other = at("other");
	if (_i == 0) {
		ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
		put("tree/dir/file", "precious");
	} else if (_i == 3) {
		put("tree/dir/file", "covered");
		g_free(dir);
		g_free(other);
		dir = at("tree/dir/file");
		other = at("other/file");
		ck_assert_int_eq(mount(other, dir, NULL, MS_BIND, NULL), 0);
	} else {
		ck_assert_int_eq(mount(other, dir, NULL, MS_BIND, NULL), 0);
	}
	assert_fails(gbe_remove_tree_at(place, "tree", &error), error, GBE_ERROR_REFUSED,
		     "mounted there");
	{
		g_autofree char *bytes = content_of(_i == 2 ? "tree/file" : "tree/dir/file");

		ck_assert_str_eq(bytes, "precious");
	}
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
	check_removed("tree");
}
END_TEST

START_TEST(subvolumes_are_deleted)
{
	const guint64 read_only = BTRFS_SUBVOL_RDONLY;
	gbe_autofd int fd = -1;

	if (!place_is_btrfs())
		return;
#ifndef HAVE_BTRFSUTIL
	/* This user could not have made a read-only one. */
	if (_i != 1)
		return;
#endif
	put_dir("tree", 0700);
	put_subvolume("tree/empty");
	put_subvolume("tree/outer");
	put("tree/outer/file", "x");
	if (_i >= 1) {
		put_dir("tree/outer/dir", 0700);
		put_subvolume("tree/outer/dir/inner");
		put("tree/outer/dir/inner/file", "x");
	}
	if (_i == 2) {
		fd = openat(place, "tree/outer/dir/inner", O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &read_only), 0);
		gbe_close_fd(&fd);
	}
	if (_i != 1) {
		fd = openat(place, "tree/outer", O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &read_only), 0);
		gbe_close_fd(&fd);
	}
	check_removed("tree");
}
END_TEST

/* Nested subvolumes, deeper than directories are open at a time, with or without a directory between two; the
 * innermost is read-only. */
START_TEST(subvolumes_may_be_deep)
{
	g_autoptr(GString) path = g_string_new("tree");
	const guint64 read_only = BTRFS_SUBVOL_RDONLY;
	gbe_autofd int fd = -1;

	if (!place_is_btrfs())
		return;
	put_dir("tree", 0700);
	for (guint i = 0; i < 80; i++) {
		g_string_append(path, "/s");
		put_subvolume(path->str);
		if (_i == 0 || (_i == 2 && i % 3 != 0))
			continue;
		g_string_append(path, "/d");
		put_dir(path->str, 0700);
	}
#ifdef HAVE_BTRFSUTIL
	fd = openat(place, path->str, O_RDONLY | O_CLOEXEC);
	if (_i == 0)
		ck_assert_int_eq(ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &read_only), 0);
#else
	(void)read_only;
#endif
	check_removed("tree");
}
END_TEST

/* Moves a directory out of the tree and back, over and over. */
static void
move_for_ever(void)
{
	for (;;) {
		(void)renameat(place, "tree/a/b", place, "keep/b");
		(void)renameat(place, "keep/b", place, "tree/a/b");
	}
}

START_TEST(a_race_removes_only_the_tree)
{
	gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC / 2;
	pid_t pid;

	put_dir("keep", 0700);
	put("keep/file", "precious");
	pid = fork();
	if (pid == 0)
		move_for_ever();
	while (g_get_monotonic_time() < end) {
		g_autoptr(GError) error = NULL;

		if (!is_there("tree"))
			put_dir("tree", 0700);
		(void)mkdirat(place, "tree/a", 0700);
		(void)mkdirat(place, "tree/a/b", 0700);
		(void)mkdirat(place, "tree/a/b/c", 0700);
		(void)mkdirat(place, "tree/a/b/c/d", 0700);
		if (!gbe_remove_tree_at(place, "tree", &error))
			ck_assert_ptr_nonnull(error);
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	{
		g_autofree char *bytes = content_of("keep/file");

		ck_assert_str_eq(bytes, "precious");
	}
}
END_TEST

#ifdef GBE_FAULTS
/* Fault passes are counted per process, so each removal has its own. */
static int
remove_in_child(const char *fault)
{
	g_autoptr(GError) error = NULL;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
		_exit(gbe_remove_tree_at(place, "tree", &error) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* After a stop at any point, the next removal continues. */
START_TEST(stopped_and_gone_on)
{
	for (guint pass = 1;; pass++) {
		g_autofree char *fault = g_strdup_printf("remove-entry-removed@%u=kill", pass);
		int status;

		put_dir("tree", 0700);
		put_dir("tree/a", 0700);
		put("tree/a/1", "x");
		put("tree/a/2", "x");
		put("tree/b", "x");
		status = remove_in_child(fault);
		if (WIFEXITED(status)) {
			ck_assert_int_eq(WEXITSTATUS(status), 0);
			ck_assert_uint_eq(pass, 4);
			break;
		}
		ck_assert_int_eq(WTERMSIG(status), SIGKILL);
		ck_assert(is_there("tree"));
		ck_assert_int_eq(remove_in_child("none=kill"), 0);
		ck_assert(!is_there("tree"));
	}
	ck_assert(!is_there("tree"));
}
END_TEST
#endif

int
main(void)
{
	Suite *suite = suite_create("fs-remove");
	TCase *tcase = place_case(suite, "remove");

	tcase_add_test(tcase, what_is_not_there_is_no_error);
	tcase_add_test(tcase, every_type_goes);
	tcase_add_test(tcase, only_the_tree_is_removed);
	tcase_add_loop_test(tcase, depth_costs_nothing, 0, 3);
	tcase_add_test(tcase, width_costs_nothing);
	tcase_add_test(tcase, patience_ends);
	tcase_add_test(tcase, immutable_is_cleared);
	tcase_add_loop_test(tcase, mounts_are_not_crossed, 0, 4);
	tcase_add_loop_test(tcase, subvolumes_are_deleted, 0, 3);
	tcase_add_loop_test(tcase, subvolumes_may_be_deep, 0, 3);
	tcase_add_test(tcase, a_race_removes_only_the_tree);
#ifdef GBE_FAULTS
	tcase_add_test(tcase, stopped_and_gone_on);
#endif
	return gbe_unit_main(suite);
}
