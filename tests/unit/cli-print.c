/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output and exit statuses of the command. Its objects are not in the library. */
#include "base/error.h"
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
	/* A code of another error domain has no meaning here. */
	ck_assert_int_eq(gbe_exit_status_of(foreign), 1);
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

/* The output of @print, read back from a file in the place of stdout. */
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

static void
print_labels(void)
{
	static const GbeLabel labels[] = {
	    {"b", "Beta", GBE_LABEL_PLAIN},    {"a", "Alpha", GBE_LABEL_PLAIN},
	    {"none", "None", GBE_LABEL_PLAIN}, {"absent", "Absent", GBE_LABEL_PLAIN},
	    {"off", "Off", GBE_LABEL_PLAIN},   {"on", "On", GBE_LABEL_PLAIN},
	    {"size", "Size", GBE_LABEL_SIZE},  {"hidden", NULL, GBE_LABEL_PLAIN},
	};
	g_autoptr(JsonObject) object = json_object_new();

	json_object_set_string_member(object, "a", "of a");
	json_object_set_null_member(object, "none");
	json_object_set_boolean_member(object, "off", false);
	json_object_set_boolean_member(object, "on", true);
	json_object_set_int_member(object, "size", 1048576);
	json_object_set_string_member(object, "b", "of b");
	json_object_set_string_member(object, "hidden", "not shown");
	for (guint i = 0; i < G_N_ELEMENTS(labels); i++)
		gbe_print_label(&labels[i], object);
}

/* The order of the members does not matter, and a missing one moves no other value. */
START_TEST(each_value_has_its_own_label)
{
	g_autofree char *text = captured(print_labels);

	ck_assert_str_eq(text, "        Beta: of b\n       Alpha: of a\n          On: yes\n"
			       "        Size: 1.0 MiB\n");
}
END_TEST

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define NAME "iot-" C64 ".0_0123456789abcdef0123456789abcdef"

static void
print_fitting(void)
{
	static const char *const titles[] = {"NAME", "GRADE", "MARKS", "DESCRIPTION", NULL};
	static const char *const one[] = {NAME, "good", NULL, "from before the great experiment"};
	static const char *const two[] = {"mine", "unproven", NULL, NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	gbe_print_field("Next", "iot-" C64 ".0: restores " NAME " at the next boot");
	gbe_print("  1. keep " NAME ", not " NAME "~2\n");
	gbe_table_add(table, one);
	gbe_table_add(table, two);
	gbe_table_print(table);
}

START_TEST(what_fits_a_terminal)
{
	g_autofree char *text = NULL;

	width = 40;
	short_names = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(short_names, (gpointer)NAME, (gpointer) "01234567");
	text = captured(print_fitting);
	ck_assert_str_eq(text, "        Next: iot-35d7aa0c9fe3.0:\n"
			       "              restores 01234567 at the\n"
			       "              next boot\n"
			       "  1. keep 01234567, not\n"
			       "    iot-35d7aa0c9fe3.0_01234567~2\n"
			       "NAME      GRADE\n"
			       "    DESCRIPTION\n"
			       "01234567  good\n"
			       "    from before the great experiment\n"
			       "mine      unproven\n");
}
END_TEST

static void
print_number(void)
{
	g_autoptr(JsonObject) object = json_object_new();

	json_object_set_double_member(object, "a", 0.1);
	json_object_set_string_member(object, "b", "0.10000000000000001 \"\x1f");
	json_object_set_int_member(object, "c", 9007199254740991);
	json_object_set_double_member(object, "d", 0.30000000000000004); /* not 0.3 */
	gbe_print_object(object);
}

START_TEST(numbers_without_noise)
{
	g_autofree char *text = captured(print_number);

	ck_assert_str_eq(text, "{\n  \"a\" : 0.1,\n  \"b\" : \"0.10000000000000001 \\\"\\u001f\",\n"
			       "  \"c\" : 9007199254740991,\n  \"d\" : 0.30000000000000004\n}\n");
	ck_assert(gbe_print_has_json());
}
END_TEST

/* Runs in a child of check's, because the stream keeps its failure. */
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
	tcase_add_test(tcase, times);
	tcase_add_test(tcase, tables);
	tcase_add_test(tcase, fields);
	tcase_add_test(tcase, each_value_has_its_own_label);
	tcase_add_test(tcase, what_fits_a_terminal);
	tcase_add_test(tcase, numbers_without_noise);
	tcase_add_exit_test(tcase, full_output, 0);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
