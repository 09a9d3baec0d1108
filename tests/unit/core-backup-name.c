/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/backup-name.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "my_root-" C64 ".10"

START_TEST(run_ids)
{
	static const char *const good[] = {RUN, RUN "+1", RUN "+10", RUN "+9007199254740991"};
	static const char *const bad[] = {NULL,
					  "",
					  RUN "0",
					  RUN "+",
					  RUN "+0",
					  RUN "+01",
					  RUN "+1 ",
					  RUN "+-1",
					  RUN "\n",
					  "0123456789abcdef0123456789abcde",
					  RUN "+9007199254740992",
					  "0123456789ABCDEF0123456789abcdef",
					  "01234567-89ab-cdef-0123-456789abcdef"};

	for (guint i = 0; i < G_N_ELEMENTS(good); i++)
		ck_assert_msg(gbe_run_id_valid(good[i]), "refused: %s", good[i]);
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(!gbe_run_id_valid(bad[i]), "taken: %s", bad[i]);
}
END_TEST

START_TEST(automatic_names)
{
	for (guint64 ordinal = 1; ordinal < 4; ordinal++) {
		g_autofree char *name = gbe_backup_name_format(ID, RUN "+2", ordinal);
		g_autofree char *deployment = NULL, *run = NULL;
		guint64 read = 0;

		ck_assert_int_eq(gbe_backup_name_parse(name, &deployment, &run, &read),
				 GBE_NAME_AUTOMATIC);
		ck_assert_str_eq(deployment, ID);
		ck_assert_str_eq(run, RUN "+2");
		ck_assert_uint_eq(read, ordinal);
		ck_assert_int_eq(strchr(name, '~') != NULL, ordinal > 1);
	}
	/* A stateroot that looks like other parts of a name. */
	ck_assert_int_eq(gbe_backup_name_parse("a~2_b-" C64 ".0_" RUN, NULL, NULL, NULL),
			 GBE_NAME_AUTOMATIC);
}
END_TEST

START_TEST(kinds)
{
	static const struct {
		const char *name;
		GbeNameKind kind;
	} cases[] = {
	    {ID "_" RUN, GBE_NAME_AUTOMATIC},
	    {ID "_" RUN "~2", GBE_NAME_AUTOMATIC},
	    {ID "_" RUN "~1", GBE_NAME_INVALID},
	    {ID "_" RUN "~02", GBE_NAME_INVALID},
	    {ID "_" RUN "~", GBE_NAME_INVALID},
	    {".partial-" ID "_" RUN, GBE_NAME_INVALID},
	    {".pending-before-update", GBE_NAME_INVALID},
	    {"adopted-1", GBE_NAME_ADOPTED},
	    {"adopted-42", GBE_NAME_ADOPTED},
	    {"adopted-0", GBE_NAME_INVALID},
	    {"adopted-042", GBE_NAME_INVALID},
	    {"adopted-99999999999999999999999999", GBE_NAME_INVALID},
	    {"adopted-", GBE_NAME_MANUAL},
	    {"adopted-x", GBE_NAME_MANUAL},
	    {"before_update-4.2+x", GBE_NAME_MANUAL},
	    {"a", GBE_NAME_MANUAL},
	    {"last-good", GBE_NAME_INVALID},
	    {"undo", GBE_NAME_INVALID},
	    {"undo2", GBE_NAME_MANUAL},
	    {"", GBE_NAME_INVALID},
	    {".", GBE_NAME_INVALID},
	    {"..", GBE_NAME_INVALID},
	    {"-n", GBE_NAME_INVALID},
	    {"a/b", GBE_NAME_INVALID},
	    {"a b", GBE_NAME_INVALID},
	    {"a\nb", GBE_NAME_INVALID},
	    {"ü", GBE_NAME_INVALID},
	    {NULL, GBE_NAME_INVALID},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(gbe_backup_name_parse(cases[i].name, NULL, NULL, NULL) ==
				  cases[i].kind,
			      "%s", cases[i].name);
}
END_TEST

START_TEST(adopted_names)
{
	g_autofree char *name = gbe_backup_name_adopted(9007199254740991);
	char *untouched = NULL;
	guint64 sequence = 0;

	ck_assert_int_eq(gbe_backup_name_parse(name, &untouched, &untouched, &sequence),
			 GBE_NAME_ADOPTED);
	ck_assert_uint_eq(sequence, 9007199254740991);
	ck_assert_ptr_null(untouched);
}
END_TEST

START_TEST(manual_says_what_is_allowed)
{
	static const struct {
		const char *name, *says;
	} cases[] = {
	    {"", "empty"},
	    {"a/../b", "A-Z a-z 0-9"},
	    {"a\x01", "a\\001"},
	    {".hidden", "start with \".\""},
	    {"-n", "start with \"-\""},
	    {"last-good", "choose another"},
	    {"undo", "choose another"},
	    {"adopted-7", "the program itself"},
	    {"root-" C64 ".1_" RUN, "the program itself"},
	};
	g_autofree char *longest = g_strnfill(200, 'x');
	g_autofree char *too_long = g_strnfill(201, 'x');
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		ck_assert(!gbe_backup_name_check_manual(cases[i].name, &error));
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
		ck_assert_ptr_null(strchr(error->message, '\n'));
		g_clear_error(&error);
	}
	ck_assert(gbe_backup_name_check_manual(longest, &error));
	ck_assert(!gbe_backup_name_check_manual(too_long, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "200"));
}
END_TEST

/* Every accepted name can be a file's name, and gives back its parts. */
static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_autofree char *name = g_strndup(bytes, size), *again = NULL;
	g_autofree char *deployment = NULL, *run = NULL;
	guint64 number = 0;
	GbeNameKind kind = gbe_backup_name_parse(name, &deployment, &run, &number);

	if (kind == GBE_NAME_INVALID)
		return;
	ck_assert(name[0] != '.' && strchr(name, '/') == NULL);
	if (kind == GBE_NAME_AUTOMATIC)
		again = gbe_backup_name_format(deployment, run, number);
	else if (kind == GBE_NAME_ADOPTED)
		again = gbe_backup_name_adopted(number);
	else
		ck_assert(gbe_backup_name_check_manual(name, NULL));
	if (again != NULL)
		ck_assert_str_eq(again, name);
}

START_TEST(any_bytes)
{
	gbe_mangle(ID "_" RUN "+3~12", mangled);
	gbe_mangle("adopted-123", mangled);
}
END_TEST

#define OTHER "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4"
#define LONG "before-the-great-experiment-with-the-new-operator"

static const char *const listed[] = {LONG "-2", LONG,	      ID "_" RUN "~2", ID "_" RUN,
				     "before",	ID "_" OTHER, "adopted-7",     "undo-of-friday",
				     NULL};

START_TEST(short_names_mean_one_or_several)
{
	static const struct {
		const char *text;
		guint matches;
		const char *first;
	} cases[] = {
	    {"before", 1, "before"}, /* exact, although others begin so */
	    {"befor", 3, LONG "-2"},
	    {LONG, 1, LONG},
	    {"ad", 1, "adopted-7"},
	    {"a1b2", 1, ID "_" OTHER},	  /* the run */
	    {"35d7", 3, ID "_" RUN "~2"}, /* the checksum */
	    {"0123", 2, ID "_" RUN "~2"},
	    {"0123~2", 1, ID "_" RUN "~2"},
	    {"0123~1", 1, ID "_" RUN},
	    {"0123~3", 0, NULL},
	    {"my_root", 3, ID "_" RUN "~2"}, /* the name */
	    {ID "_" RUN, 1, ID "_" RUN},
	    {"@1", 1, LONG "-2"},
	    {"@7", 1, "adopted-7"},
	    {"@8", 1, "undo-of-friday"},
	    {"@9", 0, NULL},
	    {"@0", 0, NULL},
	    {"@", 0, NULL},
	    {"@1x", 0, NULL},
	    {"", 0, NULL},
	    {"nobody", 0, NULL},
	    {"undo-", 1, "undo-of-friday"},
	    {"undo", 0, NULL}, /* has a meaning of its own */
	    {"~", 0, NULL},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) matches = gbe_backup_name_match(cases[i].text, listed);

		ck_assert_msg(matches->len == cases[i].matches, "%s matches %u", cases[i].text,
			      matches->len);
		if (matches->len > 0)
			ck_assert_str_eq(matches->pdata[0], cases[i].first);
	}
}
END_TEST

START_TEST(what_is_shown_short_is_understood)
{
	static const char *const shown[] = {LONG "-2", LONG,	   "01234567~2", "01234567~1",
					    "before",  "a1b2c3d4", "adopted-7",	 "undo-of-friday"};

	for (guint i = 0; listed[i] != NULL; i++) {
		g_autofree char *text = gbe_backup_name_short(listed[i], listed);
		g_autoptr(GPtrArray) matches = gbe_backup_name_match(text, listed);

		ck_assert_str_eq(text, shown[i]);
		ck_assert_uint_eq(matches->len, 1);
		ck_assert_str_eq(matches->pdata[0], listed[i]);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-backup-name");
	TCase *names = tcase_create("names");

	tcase_add_test(names, run_ids);
	tcase_add_test(names, automatic_names);
	tcase_add_test(names, kinds);
	tcase_add_test(names, adopted_names);
	tcase_add_test(names, manual_says_what_is_allowed);
	tcase_add_test(names, any_bytes);
	tcase_add_test(names, short_names_mean_one_or_several);
	tcase_add_test(names, what_is_shown_short_is_understood);
	suite_add_tcase(suite, names);
	return gbe_unit_main(suite);
}
