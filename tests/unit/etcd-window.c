/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/window.h"
#include "sys-root.h"

#include "base/alive.h"

#include <fcntl.h>

#define SIZE ((guint64)16 * 1024 * 1024)
#define PIECE ((gsize)64 * 1024)

/* A file of @size bytes, the first @data of them on the disk (@byte each), the rest a hole. */
static int
new_file(guint64 data, guint8 byte, guint64 size)
{
	g_autofree guint8 *bytes = g_malloc(PIECE);
	FILE *file = tmpfile();
	int fd = file != NULL ? dup(fileno(file)) : -1;

	ck_assert_int_ge(fd, 0);
	(void)fclose(file);
	memset(bytes, byte, PIECE);
	for (guint64 at = 0; at < data; at += PIECE)
		ck_assert_int_eq(pwrite(fd, bytes, PIECE, (off_t)at), (ssize_t)PIECE);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	/* Data that is not on the disk yet may not count in st_blocks. */
	ck_assert_int_eq(fsync(fd), 0);
	return fd;
}

static bool
read_through(int fd, guint64 size, GbeLook *look, GError **error)
{
	GbeWindow window = gbe_window_begin(fd, "the file", PIECE, look);
	bool good = true;

	for (guint64 at = 0; good && at < size; at += PIECE) {
		const guint8 *bytes = NULL;
		gsize got = 0;

		good = gbe_window_at(&window, at, PIECE, &bytes, &got, error);
		ck_assert(!good || got == PIECE);
	}
	gbe_window_clear(&window);
	return good;
}

#define CHECK_ENDED(call, error, wanted, text)                                                     \
	do {                                                                                       \
		ck_assert(!(call));                                                                \
		ck_assert_int_eq((error)->code, wanted);                                           \
		ck_assert_msg(strstr((error)->message, text) != NULL, "%s", (error)->message);     \
	} while (0)

/* Data, zeros on the disk, and a few holes are all read. */
START_TEST(what_is_there_is_read)
{
	int data = new_file(SIZE, 7, SIZE);
	int zeros = new_file(SIZE, 0, SIZE);
	int both = new_file(SIZE, 7, 2 * SIZE);
	g_autoptr(GError) error = NULL;
	GbeLook look = gbe_look_begin(0);

	ck_assert_int_eq(look.holes, GBE_LOOK_HOLES);
	look.holes = 0;
	ck_assert(read_through(data, SIZE, &look, &error));
	ck_assert(read_through(zeros, SIZE, &look, &error));
	ck_assert_uint_eq(look.read, 2 * SIZE);
	look.holes = (gint64)SIZE;
	ck_assert(read_through(both, 2 * SIZE, &look, &error));
	ck_assert_int_eq(look.holes, 0);
	ck_assert(read_through(both, 2 * SIZE, NULL, &error));
	(void)close(data);
	(void)close(zeros);
	(void)close(both);
}
END_TEST

START_TEST(holes_have_an_end)
{
	guint64 size = (guint64)1 << 40;
	int fd = new_file(PIECE, 7, size);
	g_autoptr(GError) error = NULL;
	GbeLook look = gbe_look_begin(0);
	gint64 begin = g_get_monotonic_time();

	CHECK_ENDED(read_through(fd, size, &look, &error), error, GBE_ERROR_CANNOT_TELL,
		    "of the file the 1024 MiB of holes that are read were used up");
	ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_USEC_PER_SEC);
	g_clear_error(&error);
	/* Another file within the same look. */
	CHECK_ENDED(read_through(fd, size, &look, &error), error, GBE_ERROR_CANNOT_TELL, "holes");
	(void)close(fd);
}
END_TEST

START_TEST(time_has_an_end)
{
	int fd = new_file(SIZE, 7, SIZE);
	g_autoptr(GError) error = NULL;
	GbeLook look = gbe_look_begin(3600);

	ck_assert(read_through(fd, SIZE, &look, &error));
	look.deadline = g_get_monotonic_time() - 1;
	CHECK_ENDED(read_through(fd, SIZE, &look, &error), error, GBE_ERROR_CANNOT_TELL,
		    "of the file the time for reading was up");
	(void)close(fd);
}
END_TEST

static void
add(guint64 amount, gpointer data)
{
	*(guint64 *)data += amount;
}

static bool
not_beyond(guint64 bytes, gpointer data)
{
	return bytes < *(guint64 *)data;
}

START_TEST(reading_is_a_sign_of_life)
{
	int fd = new_file(SIZE, 7, SIZE);
	g_autoptr(GError) error = NULL;
	GbeLook look = gbe_look_begin(0);
	guint64 end = SIZE;
	guint64 sum = 0;

	gbe_alive_set(add, &sum);
	ck_assert(read_through(fd, SIZE, NULL, &error));
	ck_assert_uint_eq(sum, SIZE);
	look.progress = not_beyond;
	look.progress_data = &end;
	CHECK_ENDED(read_through(fd, SIZE, &look, &error), error, GBE_ERROR_FAILED, "cancelled");
	ck_assert_uint_eq(look.read, SIZE);
	gbe_alive_set(NULL, NULL);
	(void)close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-window");
	TCase *tcase = tcase_create("window");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, what_is_there_is_read);
	tcase_add_test(tcase, holes_have_an_end);
	tcase_add_test(tcase, time_has_an_end);
	tcase_add_test(tcase, reading_is_a_sign_of_life);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
