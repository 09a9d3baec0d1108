/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/part.h"
#include "unit/fs-place.h"

static void
save(const char *text, bool replace)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbePart) part = {.fd = -1};

	assert_ok(gbe_part_begin(place, "file", replace, &part, &error), error);
	assert_ok(gbe_part_reserve(&part, MIB, &error), error);
	assert_ok(gbe_part_write(&part, text, strlen(text), &error), error);
	ck_assert(is_there("file.part"));
	assert_ok(gbe_part_publish(&part, &error), error);
}

static void
refused(bool replace, GbeErrorCode code)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbePart) part = {.fd = -1};

	ck_assert(!gbe_part_begin(place, "file", replace, &part, &error));
	ck_assert_msg(g_error_matches(error, GBE_ERROR, (gint)code), "%s", error->message);
}

START_TEST(new_and_again)
{
	g_autofree char *bytes = NULL;

	save("one", false);
	refused(false, GBE_ERROR_FAILED);
	bytes = content_of("file");
	ck_assert_str_eq(bytes, "one");
	save("another", true);
	g_free(bytes);
	bytes = content_of("file");
	ck_assert_str_eq(bytes, "another");
	ck_assert_uint_eq(stat_of("file").st_mode, S_IFREG | 0600);
	/* Unused reserved blocks are freed. */
	ck_assert_int_lt(stat_of("file").st_blocks, 2 * 64);
	ck_assert(!is_there("file.part"));
}
END_TEST

/* More than the disk is told to write at once, in pieces of another size. */
START_TEST(large)
{
	const gsize pieces[] = {7 * MIB + 1, 3 * MIB - 1, 20 * MIB, 1, 9 * MIB + 3};
	g_autofree guint8 *bytes = g_malloc(64 * MIB);
	g_autoptr(GError) error = NULL;
	g_auto(GbePart) part = {.fd = -1};
	g_autofree char *got = NULL;
	gsize size = 0;

	for (gsize i = 0; i < 64 * MIB / 4; i++)
		((guint32 *)(gpointer)bytes)[i] = (guint32)i * 2654435761u;
	assert_ok(gbe_part_begin(place, "file", false, &part, &error), error);
	for (gsize i = 0; i < G_N_ELEMENTS(pieces); size += pieces[i], i++)
		assert_ok(gbe_part_write(&part, bytes + size, pieces[i], &error), error);
	assert_ok(gbe_part_publish(&part, &error), error);
	ck_assert_int_eq(stat_of("file").st_size, (off_t)size);
	got = content_of("file");
	ck_assert_mem_eq(got, bytes, size);
}
END_TEST

START_TEST(nothing_is_left)
{
	g_autoptr(GError) error = NULL;
	GbePart part = {.fd = -1};

	put("file", "old");
	assert_ok(gbe_part_begin(place, "file", true, &part, &error), error);
	assert_ok(gbe_part_write(&part, "new", 3, &error), error);
	gbe_part_clear(&part);
	ck_assert(!is_there("file.part"));
	ck_assert_int_eq(stat_of("file").st_size, 3);
}
END_TEST

START_TEST(one_writer)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbePart) part = {.fd = -1};

	/* A power cut left it. The next writer takes it over, and none of its bytes are in the new file. */
	put("file.part", "left over, and longer than the new content");
	assert_ok(gbe_part_begin(place, "file", false, &part, &error), error);
	refused(false, GBE_ERROR_BUSY);
	ck_assert(is_there("file.part"));
	assert_ok(gbe_part_write(&part, "x", 1, &error), error);
	assert_ok(gbe_part_publish(&part, &error), error);
	ck_assert_int_eq(stat_of("file").st_size, 1);
}
END_TEST

START_TEST(links_are_not_followed)
{
	put("victim", "precious");
	if (_i == 0)
		ck_assert_int_eq(symlinkat("victim", place, "file.part"), 0);
	else if (_i == 1)
		ck_assert_int_eq(linkat(place, "victim", place, "file.part", 0), 0);
	else if (_i == 2)
		ck_assert_int_eq(mkfifoat(place, "file.part", 0600), 0);
	else
		put_dir("file.part", 0700);
	refused(true, _i == 1 || _i == 2 ? GBE_ERROR_UNSAFE_SOURCE : GBE_ERROR_FAILED);
	ck_assert_int_eq(stat_of("victim").st_size, 8);
}
END_TEST

START_TEST(a_directory_stays)
{
	put_dir("file", 0700);
	refused(true, GBE_ERROR_FAILED);
	ck_assert(!is_there("file.part"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-part");
	TCase *tcase = place_case(suite, "part");

	tcase_add_test(tcase, new_and_again);
	tcase_add_test(tcase, large);
	tcase_add_test(tcase, nothing_is_left);
	tcase_add_test(tcase, one_writer);
	tcase_add_loop_test(tcase, links_are_not_followed, 0, 4);
	tcase_add_test(tcase, a_directory_stays);
	return gbe_unit_main(suite);
}
