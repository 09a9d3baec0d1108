/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The entries of a data directory that is a mount point are exchanged one by one. The exchange is interrupted after each
 * entry and repeated: no entry moves back, and an entry that was made since stays.
 */
#include "fs-place.h"

#include "app/backup/recover.h"

static char **
plan_entries(void)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int staged = openat(place, "staged", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char **entries = NULL;

	if (!gbe_entries_plan(staged, "last", &entries, &error))
		ck_abort_msg("%s", error->message);
	return entries;
}

/* The exit status, or -1: the fault point ended the process. */
static int
exchange(char *const *entries, const char *fault)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		g_autoptr(GError) error = NULL;
		int live = openat(place, "live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int staged = openat(place, "staged", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fault != NULL)
			(void)g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
		_exit(gbe_entries_exchange(live, staged, entries, &error) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
require_content(const char *path, const char *wanted)
{
	g_autofree char *bytes = content_of(path);

	ck_assert_msg(g_strcmp0(bytes, wanted) == 0, "%s has %s instead of %s", path, bytes,
		      wanted);
}

static void
put_trees(void)
{
	put_dir("live", 0700);
	put_dir("staged", 0700);
	put("live/a", "old");
	put("live/last", "old");
	put("live/other", "old");
	put("staged/a", "new");
	put("staged/b", "new");
	put("staged/last", "new");
}

static void
require_exchanged(void)
{
	require_content("live/a", "new");
	require_content("live/b", "new");
	require_content("live/last", "new");
	require_content("staged/a", "old");
	require_content("staged/last", "old");
	require_content("staged/other", "old");
	ck_assert(!is_there("live/other"));
	ck_assert(!is_there("staged/b"));
}

/* _i: the act in bit 0, and the entry above it. */
START_TEST(no_entry_moves_twice)
{
	g_autofree char *fault = g_strdup_printf("entries-one-exchanged@%d=%s", _i / 2 + 1,
						 _i % 2 == 0 ? "kill" : "EIO");
	g_auto(GStrv) entries = NULL;

	put_trees();
	entries = plan_entries();
	ck_assert_uint_eq(g_strv_length(entries), 3);
	ck_assert_int_eq(exchange(entries, fault), _i % 2 == 0 ? -1 : 1);
	ck_assert_int_eq(exchange(entries, NULL), 0);
	require_exchanged();
	ck_assert_int_eq(exchange(entries, NULL), 0);
	require_exchanged();
}
END_TEST

START_TEST(new_entries_stay)
{
	g_auto(GStrv) entries = NULL;

	put_trees();
	entries = plan_entries();
	ck_assert_int_eq(exchange(entries, NULL), 0);
	put("live/other", "newest");
	ck_assert_int_eq(exchange(entries, NULL), 0);
	require_content("live/other", "newest");
	require_content("staged/other", "old");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("entries");
	TCase *tcase = place_case(suite, "exchange");

	tcase_add_loop_test(tcase, no_entry_moves_twice, 0, 6);
	tcase_add_test(tcase, new_entries_stay);
	return gbe_unit_main(suite);
}
