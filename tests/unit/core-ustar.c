/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Archives, as tar(1) reads them. */
#include "core/ustar.h"

#include "lib/unit.h"

#include "base/auto.h"

#include <glib/gstdio.h>
#include <string.h>

/* What tar says of @archive with @options. */
static char *
ask_tar(GByteArray *archive, const char *options)
{
	g_autofree char *path = NULL, *command = NULL;
	char *said = NULL;
	g_autofree char *complaint = NULL;
	int status = -1;
	int fd = g_file_open_tmp("gbe-ustar-XXXXXX", &path, NULL);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert(g_file_set_contents(path, (const char *)archive->data, archive->len, NULL));
	command = g_strdup_printf("tar %s -f %s", options, path);
	ck_assert(g_spawn_command_line_sync(command, &said, &complaint, &status, NULL));
	(void)g_unlink(path);
	ck_assert_str_eq(complaint, "");
	ck_assert_int_eq(status, 0);
	return said;
}

START_TEST(two_files)
{
	g_autoptr(GByteArray) archive = g_byte_array_new();
	g_autofree char *large = g_strnfill(1024, 'x');
	g_autofree char *listed = NULL, *small = NULL, *content = NULL;

	ck_assert(gbe_ustar_add(archive, "d/empty", "", 0, 0, NULL));
	ck_assert(gbe_ustar_add(archive, "d/small", "text\n", 5, 1234567890, NULL));
	ck_assert(gbe_ustar_add(archive, "d/large", large, 1024, 1, NULL));
	gbe_ustar_end(archive);
	ck_assert_uint_eq(archive->len % 512, 0);
	listed = ask_tar(archive, "--utc --full-time --numeric-owner -tv");
	ck_assert_str_eq(listed, "-rw------- 0/0               0 1970-01-01 00:00:00 d/empty\n"
				 "-rw------- 0/0               5 2009-02-13 23:31:30 d/small\n"
				 "-rw------- 0/0            1024 1970-01-01 00:00:01 d/large\n");
	small = ask_tar(archive, "-xO --wildcards */small");
	ck_assert_str_eq(small, "text\n");
	content = ask_tar(archive, "-xO --wildcards */large");
	ck_assert_str_eq(content, large);
}
END_TEST

START_TEST(no_room)
{
	g_autoptr(GByteArray) archive = g_byte_array_new();
	g_autofree char *fits = g_strnfill(100, 'n');
	g_autofree char *too_long = g_strnfill(101, 'n');
	g_autofree char *listed = NULL;

	ck_assert(!gbe_ustar_add(archive, too_long, "", 0, 0, NULL));
	ck_assert(!gbe_ustar_add(archive, "", "", 0, 0, NULL));
	ck_assert(!gbe_ustar_add(archive, "n", "", G_MAXUINT, 0, NULL));
	ck_assert(!gbe_ustar_add(archive, "n", "", 0, -1, NULL));
	ck_assert(!gbe_ustar_add(archive, "n", "", 0, G_GINT64_CONSTANT(1) << 33, NULL));
	ck_assert_uint_eq(archive->len, 0);
	ck_assert(gbe_ustar_add(archive, fits, "", 0, (G_GINT64_CONSTANT(1) << 33) - 1, NULL));
	gbe_ustar_end(archive);
	listed = ask_tar(archive, "-t");
	ck_assert_int_eq(strncmp(listed, fits, 100), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-ustar");
	TCase *tcase = tcase_create("ustar");

	tcase_add_test(tcase, two_files);
	tcase_add_test(tcase, no_room);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
