/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output and exit statuses of the command. The command's objects are no part of the library. */
#include "cli/exit-status.c"
#include "cli/print.c"

#include "lib/unit.h"

#include <fcntl.h>

static GbeExitStatus
status_of(GbeErrorCode code)
{
	g_autoptr(GError) error = g_error_new_literal(GBE_ERROR, (int)code, "x");

	return gbe_exit_status_of(error);
}

START_TEST(exit_statuses)
{
	g_autoptr(GError) foreign = g_error_new_literal(G_FILE_ERROR, GBE_ERROR_REFUSED, "x");

	ck_assert_int_eq(status_of(GBE_ERROR_FAILED), 1);
	ck_assert_int_eq(status_of(GBE_ERROR_NOT_FOUND), 1);
	ck_assert_int_eq(status_of(GBE_ERROR_CORRUPT), 1);
	ck_assert_int_eq(status_of(GBE_ERROR_NO_SPACE), 1);
	ck_assert_int_eq(status_of(GBE_ERROR_UNSUPPORTED), 1);
	ck_assert_int_eq(status_of(GBE_ERROR_USAGE), 2);
	ck_assert_int_eq(status_of(GBE_ERROR_INVALID_CONFIG), 2);
	ck_assert_int_eq(status_of(GBE_ERROR_PARTIAL), 3);
	ck_assert_int_eq(status_of(GBE_ERROR_BUSY), 4);
	ck_assert_int_eq(status_of(GBE_ERROR_UNSAFE_SOURCE), 5);
	ck_assert_int_eq(status_of(GBE_ERROR_REFUSED), 5);
	ck_assert_int_eq(status_of(GBE_ERROR_VERIFY_FAILED), 6);
	ck_assert_int_eq(status_of(GBE_ERROR_CANNOT_TELL), 7);
	/* A number of somebody else's means nothing here. */
	ck_assert_int_eq(gbe_exit_status_of(foreign), 1);
}
END_TEST

START_TEST(json_reading)
{
	g_autoptr(JsonObject) object = json_object_new();

	json_object_set_null_member(object, "null");
	json_object_set_boolean_member(object, "yes", TRUE);
	json_object_set_boolean_member(object, "no", FALSE);
	json_object_set_int_member(object, "seven", 7);
	ck_assert_str_eq(gbe_text_tri(object, "null"), "unknown");
	ck_assert_str_eq(gbe_text_tri(object, "absent"), "unknown");
	ck_assert_str_eq(gbe_text_tri(object, "yes"), "yes");
	ck_assert_str_eq(gbe_text_tri(object, "no"), "no");
	ck_assert_int_eq(gbe_json_known(object, "seven"), 7);
	ck_assert_int_eq(gbe_json_known(object, "null"), -1);
	ck_assert_int_eq(gbe_json_known(object, "absent"), -1);
}
END_TEST

START_TEST(times)
{
	g_autofree char *none = gbe_text_time(0), *negative = gbe_text_time(-5);
	g_autofree char *some = gbe_text_time(1700000000);

	ck_assert_str_eq(none, "-");
	ck_assert_str_eq(negative, "-");
	ck_assert(g_str_has_prefix(some, "2023-11-1"));
	ck_assert_uint_eq(strlen(some), strlen("2023-11-14 22:13"));
}
END_TEST

/* What @print says, read back from a file that stands in for stdout. */
static char *
captured(void (*print)(void))
{
	FILE *file = tmpfile();
	int saved = dup(STDOUT_FILENO);
	char *text;
	long size;

	ck_assert_ptr_nonnull(file);
	(void)fflush(stdout);
	ck_assert_int_ge(dup2(fileno(file), STDOUT_FILENO), 0);
	print();
	ck_assert(gbe_print_done(NULL));
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	(void)close(saved);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	text = g_malloc0((gsize)size + 1);
	ck_assert_uint_eq(fread(text, 1, (gsize)size, file), (gsize)size);
	(void)fclose(file);
	return text;
}

static void
print_table(void)
{
	static const char *const titles[] = {"NAME", "SIZE", "MARKS", NULL};
	static const char *const first[] = {"größer", NULL, "pinned"};
	static const char *const second[] = {"b", "100 MiB", "-"};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	gbe_table_add(table, first);
	gbe_table_add(table, second);
	gbe_table_print(table);
}

START_TEST(tables)
{
	g_autofree char *text = captured(print_table);

	ck_assert_str_eq(text, "NAME    SIZE     MARKS\n"
			       "größer  -        pinned\n"
			       "b       100 MiB  -\n");
}
END_TEST

static void
print_fields(void)
{
	gbe_print_field("Data", "%s, %d", "there", 7);
	gbe_print_field("", "more");
}

START_TEST(fields)
{
	g_autofree char *text = captured(print_fields);

	ck_assert_str_eq(text, "        Data: there, 7\n              more\n");
}
END_TEST

/* In a child of check's: the stream keeps its failure. */
START_TEST(full_output)
{
	g_autoptr(GError) error = NULL;
	int full = open("/dev/full", O_WRONLY);

	ck_assert_int_ge(full, 0);
	(void)fflush(stdout);
	ck_assert_int_ge(dup2(full, STDOUT_FILENO), 0);
	gbe_print("text\n");
	ck_assert(!gbe_print_done(&error));
	ck_assert_int_eq(error->code, GBE_ERROR_FAILED);
	_exit(0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli-print");
	TCase *tcase = tcase_create("print");

	tcase_add_test(tcase, exit_statuses);
	tcase_add_test(tcase, json_reading);
	tcase_add_test(tcase, times);
	tcase_add_test(tcase, tables);
	tcase_add_test(tcase, fields);
	tcase_add_exit_test(tcase, full_output, 0);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
