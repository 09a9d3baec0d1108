/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/probe.h"
#include "fs/reserve.h"
#include "unit/fs-place.h"

#define NAME "reserve"

static bool
has_blocks(const char *path)
{
	struct stat st = stat_of(path);

	return (guint64)st.st_blocks * 512 >= (guint64)st.st_size;
}

/* Fills the disk to the last byte: first the files larger than a block. */
static void
fill(void)
{
	static char block[4096];
	guint number = 0;

	for (guint64 size = 64 * MIB; size >= 4096; size /= 4)
		for (;;) {
			g_autofree char *name = g_strdup_printf("filler-%u", number++);
			int fd = openat(place, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			bool full = fd < 0 || fallocate(fd, 0, 0, (off_t)size) < 0;

			if (fd >= 0)
				(void)close(fd);
			if (full)
				break;
		}
	for (;;) {
		g_autofree char *name = g_strdup_printf("filler-%u", number++);
		int fd = openat(place, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		bool full =
		    fd < 0 || write(fd, block, sizeof(block)) != sizeof(block) || fsync(fd) < 0;

		if (fd >= 0)
			(void)close(fd);
		if (full)
			break;
	}
	ck_assert_int_eq(syncfs(place), 0);
}

static bool
can_write(const char *name)
{
	static char block[4096];
	int fd = openat(place, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool can = fd >= 0 && write(fd, block, sizeof(block)) == sizeof(block) && fsync(fd) == 0;

	if (fd >= 0)
		(void)close(fd);
	return can;
}

START_TEST(there_is_one)
{
	struct stat st;
	ino_t inode;

	gbe_reserve_keep_at(place, NAME);
	st = stat_of(NAME);
	ck_assert_int_eq(st.st_size, GBE_RESERVE_SIZE);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert(has_blocks(NAME));
	inode = st.st_ino;
	/* While there is room the reserve is not made twice, and not released. */
	gbe_reserve_keep_at(place, NAME);
	gbe_reserve_release_at(place, NAME);
	ck_assert_uint_eq(stat_of(NAME).st_ino, inode);
}
END_TEST

START_TEST(a_short_one_grows)
{
	put_size(NAME, 64 * 1024);
	gbe_reserve_keep_at(place, NAME);
	ck_assert_int_eq(stat_of(NAME).st_size, GBE_RESERVE_SIZE);
	ck_assert(has_blocks(NAME));
}
END_TEST

START_TEST(what_is_no_file_stays)
{
	put_dir(NAME, 0700);
	gbe_reserve_keep_at(place, NAME);
	gbe_reserve_release_at(place, NAME);
	ck_assert(S_ISDIR(stat_of(NAME).st_mode));
	ck_assert_int_eq(symlinkat("elsewhere", place, "link"), 0);
	gbe_reserve_keep_at(place, "link");
	ck_assert(!is_there("elsewhere"));
	/* Without the file, nothing is given back. */
	gbe_reserve_release_at(place, "none");
}
END_TEST

/* Only on a file system of known size. */
START_TEST(a_full_disk_gets_it_back)
{
	if (!place_is_known())
		return;
	gbe_reserve_keep_at(place, NAME);
	ck_assert_int_eq(syncfs(place), 0);
	fill();
	ck_assert(!can_write("record"));
	if (place_clones())
		ck_assert_int_eq(gbe_probe_clone(place, place), GBE_YES);
	else
		ck_assert_int_ne(gbe_probe_clone(place, place), GBE_YES);
	gbe_reserve_release_at(place, NAME);
	ck_assert(!is_there(NAME));
	for (guint i = 0; i < 8; i++) {
		g_autofree char *name = g_strdup_printf("record-%u", i);

		ck_assert_msg(can_write(name), "%s", name);
	}
	/* The reserve takes the remaining space, and never more. */
	gbe_reserve_keep_at(place, NAME);
	ck_assert(is_there(NAME));
	ck_assert_int_ge(stat_of(NAME).st_size, GBE_RESERVE_SIZE / 4);
	ck_assert(has_blocks(NAME));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-reserve");
	TCase *tcase = place_case(suite, "reserve");

	tcase_add_test(tcase, there_is_one);
	tcase_add_test(tcase, a_short_one_grows);
	tcase_add_test(tcase, what_is_no_file_stays);
	tcase_add_test(tcase, a_full_disk_gets_it_back);
	return gbe_unit_main(suite);
}
