/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copied bytes are written in the background and compared at once; small files are settled. */
#include "fs/copy/clone-file.h"
#include "fs/copy/clone.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "unit/fs-place.h"

#include <sys/mman.h>

/* More than the allowed backlog of the disk, and not a multiple of a part. */
#define LARGE (GBE_BEHIND_MAX + 17 * MIB + 4711)

/* A cold file may still have this much in memory; another file has more. Not all of it, because some kernels
 * reclaim pages that seem unused (DAMON) even when memory is free. */
#define COLD (GBE_BEHIND_MAX + 8 * MIB)

static const GbeCloneOptions copy_and_compare = {.allowed = GBE_METHOD_COPY, .compare = true};

/* Is the file's beginning only in memory, without a place on the disk? */
static bool
is_waiting(int fd)
{
	char map[sizeof(struct fiemap) + sizeof(struct fiemap_extent)] = {0};
	struct fiemap *fiemap = (struct fiemap *)map;

	fiemap->fm_length = G_MAXUINT64;
	fiemap->fm_extent_count = 1;
	ck_assert_int_eq(ioctl(fd, FS_IOC_FIEMAP, fiemap), 0);
	ck_assert_uint_eq(fiemap->fm_mapped_extents, 1);
	return (fiemap->fm_extents[0].fe_flags & FIEMAP_EXTENT_DELALLOC) != 0;
}

START_TEST(the_background_writes_all)
{
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;

	put_dir("src", 0700);
	put_data("src/large", 0, LARGE, 1);
	assert_ok(gbe_clone_tree_at(place, "src", place, "dst", &copy_and_compare, &result, &error),
		  error);
	ck_assert_uint_eq(result.bytes_written, LARGE);
	ck_assert(result.compared);
	a = content_of("src/large");
	b = content_of("dst/large");
	ck_assert_mem_eq(a, b, LARGE);
}
END_TEST

/* Bytes of the file in memory. */
static guint64
resident(const char *path)
{
	g_autofree guint8 *pages = g_malloc0(LARGE / 4096 + 1);
	gbe_autofd int fd = openat(place, path, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, LARGE, PROT_READ, MAP_SHARED, fd, 0);
	guint64 count = 0;

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mincore(map, LARGE, pages), 0);
	for (gsize i = 0; i <= LARGE / 4096; i++)
		count += pages[i] & 1;
	ck_assert_int_eq(munmap(map, LARGE), 0);
	return count * 4096;
}

START_TEST(what_is_cold_leaves_memory)
{
	g_autoptr(GError) error = NULL;

	put_dir("src", 0700);
	put_data("src/large", 0, LARGE, 1);
	for (GbeCold cold = GBE_COLD_NONE; cold <= GBE_COLD_COPY; cold++) {
		const GbeCloneOptions options = {.allowed = GBE_METHOD_COPY,
						 .compare = true,
						 .cold = cold};
		g_auto(GbeCloneResult) result = {0};
		g_autofree char *name = g_strdup_printf("dst-%u", cold);
		g_autofree char *copy = g_strconcat(name, "/large", NULL);

		/* Data that is not on the disk yet stays in memory. */
		ck_assert_int_eq(syncfs(place), 0);
		assert_ok(gbe_clone_tree_at(place, "src", place, name, &options, &result, &error),
			  error);
		if (!place_is_known())
			continue;
		if (cold == GBE_COLD_SOURCE)
			ck_assert_uint_le(resident("src/large"), COLD);
		else
			ck_assert_uint_gt(resident("src/large"), COLD);
		if (cold == GBE_COLD_COPY)
			ck_assert_uint_le(resident(copy), COLD);
		else
			ck_assert_uint_gt(resident(copy), COLD);
	}
}
END_TEST

/* The end is reached with any backlog of the disk and any last part. */
START_TEST(the_end_is_waited_for)
{
	gbe_autofd int fd = -1;

	put_data("file", 0, MIB, 1);
	fd = openat(place, "file", O_WRONLY | O_CLOEXEC);
	for (guint i = 0; i < 100; i++) {
		g_autoptr(GbeWriteBehind) behind = gbe_write_behind_new(fd, i % 3 == 0 ? fd : -1);

		ck_assert_ptr_nonnull(behind);
		for (guint64 at = 0; at < i * MIB; at += MIB + i)
			gbe_write_behind_advance(behind, at);
		if (i % 2 == 0)
			gbe_write_behind_advance(behind, i * GBE_BEHIND_MAX);
	}
	gbe_write_behind_end(NULL);
}
END_TEST

START_TEST(what_is_handed_on_is_begun)
{
	gbe_autofd int fd = -1;
	GbeWriteBehind *behind;

	put_data("file", 0, 100000, 1);
	fd = openat(place, "file", O_WRONLY | O_CLOEXEC);
	if (place_is_known())
		ck_assert(is_waiting(fd));
	behind = gbe_write_behind_new(fd, -1);
	ck_assert_ptr_nonnull(behind);
	gbe_write_behind_advance(behind, 100000);
	gbe_write_behind_end(behind);
	/* btrfs allocates the place when it writes the data, and reports it then. */
	if (place_is_known() && !place_is_btrfs())
		ck_assert(!is_waiting(fd));
}
END_TEST

START_TEST(what_is_cloned_is_not_compared)
{
	static const GbeCloneOptions clone_and_compare = {.allowed = GBE_METHOD_REFLINK,
							  .compare = true};
	static const GbeCloneOptions only_copy = {.allowed = GBE_METHOD_COPY};
	g_auto(GbeCloneResult) cloned = {0};
	g_auto(GbeCloneResult) copied = {0};
	g_autoptr(GError) error = NULL;

	put_dir("src", 0700);
	put_data("src/file", 0, 200000, 1);
	assert_ok(gbe_clone_tree_at(place, "src", place, "a", &clone_and_compare, &cloned, &error),
		  error);
	ck_assert_int_eq(cloned.compared, cloned.bytes_written > 0);
	if (place_is_known())
		ck_assert_int_eq(cloned.compared, !place_clones());
	assert_ok(gbe_clone_tree_at(place, "src", place, "b", &only_copy, &copied, &error), error);
	ck_assert(!copied.compared);
}
END_TEST

/* A copy whose bytes go elsewhere (O_APPEND) shows only when it is read. */
START_TEST(a_false_copy_is_seen)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int src = -1;
	gbe_autofd int dst = -1;

	put_data("a", 0, 200000, 1);
	put("b", "");
	src = openat(place, "a", O_RDONLY | O_CLOEXEC);
	dst = openat(place, "b", O_RDWR | O_APPEND | O_CLOEXEC);
	assert_fails(gbe_clone_file(src, dst, "a", &copy_and_compare, NULL, NULL, &error), error,
		     GBE_ERROR_VERIFY_FAILED, "a: the content differs between byte 0");
}
END_TEST

/* The crash suite proves the order. This test shows that settled data is written. */
START_TEST(settled_is_written)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;
	guint flushes = 0;
	const bool btrfs = gbe_is_btrfs(place);
	const bool in_order = btrfs || place_is("xfs") || place_is("xfs-noreflink");

	if (place_is_known())
		ck_assert_int_eq(btrfs, place_is_btrfs());
	put_data("file", 0, 9000, 1);
	fd = openat(place, "file", O_RDWR | O_CLOEXEC);
	if (place_is_known())
		ck_assert(is_waiting(fd));
	assert_ok(gbe_sync_settle(fd, place, "file", &error), error);
	if (place_is_known())
		ck_assert(!is_waiting(fd));
	assert_ok(gbe_sync_content(place, false, "place", &flushes, &error), error);
	if (place_is_known())
		ck_assert_uint_eq(flushes, in_order ? 0 : 1);
	flushes = 0;
	assert_ok(gbe_sync_content(place, true, "place", &flushes, &error), error);
	ck_assert_uint_eq(flushes, 1);
}
END_TEST

/* If no clone can be made (without a readable file), the file is synced. */
START_TEST(settled_one_way_or_another)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	put_data("file", 0, 9000, 1);
	fd = openat(place, "file", O_WRONLY | O_CLOEXEC);
	assert_ok(gbe_sync_settle(fd, place, "file", &error), error);
	if (place_is_known())
		ck_assert(!is_waiting(fd));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-copy");
	TCase *tcase = place_case(suite, "copy");

	tcase_add_test(tcase, the_background_writes_all);
	tcase_add_test(tcase, what_is_cold_leaves_memory);
	tcase_add_test(tcase, the_end_is_waited_for);
	tcase_add_test(tcase, what_is_handed_on_is_begun);
	tcase_add_test(tcase, what_is_cloned_is_not_compared);
	tcase_add_test(tcase, a_false_copy_is_seen);
	tcase_add_test(tcase, settled_is_written);
	tcase_add_test(tcase, settled_one_way_or_another);
	return gbe_unit_main(suite);
}
