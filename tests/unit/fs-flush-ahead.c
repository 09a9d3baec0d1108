/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is flushed while a file in many extents is cloned: when, how often, and who hears that it failed. */
#include "fs/clone.h"
#include "fs/flush-ahead.h"
#include "unit/fs-place.h"

#include <sys/syscall.h>

#define LARGE (64 * MIB)
/* So many blocks, each an extent, with holes between them. */
#define EXTENTS 4096
/* The first flush of the first file: at once. */
#define AT_ONCE "flush-ahead-due=EIO"

static const GbeCloneOptions cow = {.allowed = GBE_METHOD_REFLINK};

/* ---- the C library's, which count, and can fail ---- */

static int fail_with;
static gint fsyncs, commits; /* atomic */

int
fsync(int fd)
{
	(void)g_atomic_int_add(&fsyncs, 1);
	errno = fail_with;
	return fail_with != 0 ? -1 : (int)syscall(SYS_fsync, fd);
}

int
syncfs(int fd)
{
	(void)g_atomic_int_add(&commits, 1);
	errno = fail_with;
	return fail_with != 0 ? -1 : (int)syscall(SYS_syncfs, fd);
}

static guint
flushes_seen(void)
{
	return (guint)(g_atomic_int_get(&fsyncs) + g_atomic_int_get(&commits));
}

/* ---- */

static int
open_file(void)
{
	int fd = openat(place, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Here, if the place is what it is said to be. */
static bool
flushes_ahead(void)
{
	return place_is_btrfs() || place_is("xfs") || place_is("xfs-noreflink");
}

static void
put_extents(const char *path)
{
	g_autofree char *block = g_malloc(4096);
	gbe_autofd int fd = openat(place, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	for (guint i = 0; i < EXTENTS; i++) {
		memset(block, (int)(i % 255 + 1), 4096);
		ck_assert_int_eq(pwrite(fd, block, 4096,
					(off_t)(i * (LARGE / EXTENTS) + LARGE / EXTENTS - 4096)),
				 4096);
	}
	ck_assert_int_eq((int)syscall(SYS_fsync, fd), 0);
}

START_TEST(small_files_are_left_alone)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = open_file();
	GbeFlushAhead *ahead;
	guint flushes = 7;

	ck_assert_ptr_null(gbe_flush_ahead_new(fd, 0, 0));
	ck_assert_ptr_null(gbe_flush_ahead_new(fd, LARGE - 1, 0));
	ck_assert_ptr_null(gbe_flush_ahead_new(-1, LARGE, 0));
	ck_assert_ptr_null(gbe_flush_ahead_new(fd, LARGE, GBE_FLUSH_AHEAD_MAX));
	ck_assert(gbe_flush_ahead_end(NULL, "file", &flushes, &error));
	ck_assert_uint_eq(flushes, 7);
	ahead = gbe_flush_ahead_new(fd, LARGE, 0);
	if (place_is_known())
		ck_assert_int_eq(ahead != NULL, flushes_ahead());
	ck_assert(gbe_flush_ahead_end(ahead, "file", &flushes, &error));
}
END_TEST

/* A clone that is through before that is none for which it would pay. */
START_TEST(nothing_before_its_time)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = open_file();
	guint flushes = 7;

	for (guint i = 0; i < 100; i++) {
		gint64 begin = g_get_monotonic_time();
		GbeFlushAhead *ahead = gbe_flush_ahead_new(fd, LARGE, 0);

		if (ahead == NULL)
			return;
		g_usleep(i * 10);
		flushes = 7;
		ck_assert(gbe_flush_ahead_end(ahead, "file", &flushes, &error));
		/* The machine may have had something else to do. */
		if (g_get_monotonic_time() - begin < 100000)
			ck_assert_uint_eq(flushes, 7);
	}
}
END_TEST

START_TEST(later_each_time)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = open_file();
	gint64 begin = g_get_monotonic_time();
	GbeFlushAhead *ahead = gbe_flush_ahead_new(fd, LARGE, 0);
	guint flushes = 7;

	if (ahead == NULL)
		return;
	while (flushes_seen() < 1)
		g_usleep(1000);
	ck_assert_int_ge(g_get_monotonic_time() - begin, 100000);
	while (flushes_seen() < 2)
		g_usleep(1000);
	ck_assert_int_ge(g_get_monotonic_time() - begin, 400000);
	ck_assert(gbe_flush_ahead_end(ahead, "file", &flushes, &error));
	ck_assert_uint_eq(flushes, 7 + flushes_seen());
	/* On btrfs all of it is committed; elsewhere others' data need not be waited for. */
	ck_assert_int_eq(commits == 0, fsyncs != 0);
	if (place_is_known())
		ck_assert_int_eq(commits != 0, place_is_btrfs());
}
END_TEST

START_TEST(never_more_in_an_operation)
{
	for (guint before = 0; before < GBE_FLUSH_AHEAD_MAX; before++) {
		g_autofree char *at_once = g_strdup_printf("flush-ahead-due@%u=EIO", before + 1);
		g_autoptr(GError) error = NULL;
		gbe_autofd int fd = open_file();
		guint flushes = before, seen = flushes_seen();
		GbeFlushAhead *ahead;

		g_setenv("GREENBOOT_ETCD_FAULT", at_once, TRUE);
		ahead = gbe_flush_ahead_new(fd, LARGE, before);
		if (ahead == NULL)
			return;
		while (flushes_seen() - seen < GBE_FLUSH_AHEAD_MAX - before)
			g_usleep(1000);
		g_usleep(50000);
		ck_assert(gbe_flush_ahead_end(ahead, "file", &flushes, &error));
		ck_assert_uint_eq(flushes, GBE_FLUSH_AHEAD_MAX);
		ck_assert_uint_eq(flushes_seen() - seen, GBE_FLUSH_AHEAD_MAX - before);
	}
}
END_TEST

START_TEST(what_fails_is_said_once)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = open_file();
	GbeFlushAhead *ahead;
	guint flushes = 0;

	g_setenv("GREENBOOT_ETCD_FAULT", AT_ONCE, TRUE);
	fail_with = EIO;
	ahead = gbe_flush_ahead_new(fd, LARGE, 0);
	if (ahead == NULL)
		return;
	while (flushes_seen() == 0)
		g_usleep(1000);
	/* And is not tried again. */
	g_usleep(50000);
	ck_assert_uint_eq(flushes_seen(), 1);
	assert_fails(gbe_flush_ahead_end(ahead, "the db", &flushes, &error), error,
		     GBE_ERROR_UNREADABLE,
		     "the db: cannot bring what was cloned so far to the disk");
	ck_assert_uint_eq(flushes, 1);
}
END_TEST

START_TEST(a_clone_is_flushed_meanwhile)
{
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;

	put_dir("src", 0700);
	put_extents("src/db");
	put_data("src/small", 0, 100000, 2);
	g_setenv("GREENBOOT_ETCD_FAULT", AT_ONCE, TRUE);
	assert_ok(gbe_clone_tree_at(place, "src", place, "dst", &cow, &result, &error), error);
	ck_assert_uint_eq(result.flushes_ahead, flushes_seen());
	if (place_is_known() && result.method == GBE_METHOD_REFLINK)
		ck_assert_uint_ge(result.flushes_ahead, 1);
	a = content_of("src/db");
	b = content_of("dst/db");
	ck_assert_mem_eq(a, b, LARGE);
}
END_TEST

/* The caller's flush may be told that all is well: the kernel says it once for each open file. */
START_TEST(a_clone_that_did_not_reach_the_disk_failed)
{
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	struct stat st;

	put_dir("src", 0700);
	put_extents("src/db");
	g_setenv("GREENBOOT_ETCD_FAULT", AT_ONCE, TRUE);
	fail_with = EIO;
	if (gbe_clone_tree_at(place, "src", place, "dst", &cow, &result, &error)) {
		ck_assert(!flushes_ahead() || place_is("xfs-noreflink"));
		return;
	}
	assert_fails(false, error, GBE_ERROR_UNREADABLE,
		     "db: cannot bring what was cloned so far to the disk");
	ck_assert_int_lt(fstatat(place, "dst", &st, AT_SYMLINK_NOFOLLOW), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-flush-ahead");
	TCase *tcase = place_case(suite, "ahead");

	tcase_add_test(tcase, small_files_are_left_alone);
	tcase_add_test(tcase, nothing_before_its_time);
	tcase_add_test(tcase, later_each_time);
	tcase_add_test(tcase, never_more_in_an_operation);
	tcase_add_test(tcase, what_fails_is_said_once);
	tcase_add_test(tcase, a_clone_is_flushed_meanwhile);
	tcase_add_test(tcase, a_clone_that_did_not_reach_the_disk_failed);
	return gbe_unit_main(suite);
}
