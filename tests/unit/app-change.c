/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The runner alone, with an operation that records its calls: "+one" with the program's lock, "-two" without it. "~one"
 * is a step that was taken back; "!" follows a failed call. */
#include "app/device/change.h"

#include <sys/wait.h>

#include "lib/app-root.h"

typedef struct {
	GbeChange change;
	GString *told;
	const char *fails, *undo_fails, *ends; /* names of steps */
	bool is_one, is_three;		       /* noted flags of steps */
	bool written_one, written_three;       /* as the intent has them */
	bool note_fails;
	bool maintained; /* the lock of maintenance was held in each step */
	guint ended;
} Story;

static bool
told(Story *story, const char *name, bool fails, GError **error)
{
	g_string_append(story->told, name);
	if (!fails)
		return true;
	g_string_append(story->told, "!");
	return gbe_throw(error, GBE_ERROR_NOT_FOUND, "no %s", name);
}

static bool
take(Story *story, const char *name, GError **error)
{
	ck_assert_ptr_nonnull(error);
	story->maintained = story->maintained && story->change.maintenance != NULL;
	story->change.ended = g_strcmp0(story->ends, name) == 0;
	g_string_append(story->told, story->change.app->lock != NULL ? "+" : "-");
	return told(story, name, g_strcmp0(story->fails, name) == 0, error);
}

/* An undo begins with the lock, and may release it. */
static bool
untake(Story *story, const char *name, GError **error)
{
	ck_assert_ptr_nonnull(story->change.app->lock);
	ck_assert_ptr_nonnull(story->change.why);
	gbe_app_unlock(story->change.app);
	g_string_append(story->told, "~");
	return told(story, name, g_strcmp0(story->undo_fails, name) == 0, error);
}

#define TAKE(name)                                                                                 \
	static bool take_##name(gpointer story, GError **error)                                    \
	{                                                                                          \
		return take(story, #name, error);                                                  \
	}
#define UNTAKE(name)                                                                               \
	static bool untake_##name(gpointer story, GError **error)                                  \
	{                                                                                          \
		return untake(story, #name, error);                                                \
	}
TAKE(look)
UNTAKE(look)
TAKE(one)
UNTAKE(one)
TAKE(two)
TAKE(three)
UNTAKE(three)
TAKE(last)
UNTAKE(last)

static const GbeStep steps[] = {
    {"looked", take_look, untake_look, GBE_STEP_LOOK, 0},
    {"one", take_one, untake_one, 0, G_STRUCT_OFFSET(Story, is_one)},
    {"two", take_two, NULL, GBE_STEP_UNLOCKED, 0},
    {"three", take_three, untake_three, GBE_STEP_UNLOCKED, G_STRUCT_OFFSET(Story, is_three)},
    {"last", take_last, untake_last, GBE_STEP_LOOK, 0},
    {NULL, NULL, NULL, 0, 0},
};

static bool
write_intent(gpointer change, GError **error)
{
	Story *story = change;

	ck_assert_ptr_nonnull(story->change.app->lock);
	if (story->note_fails)
		return gbe_throw(error, GBE_ERROR_NO_SPACE, "no room for the intent");
	story->written_one = story->is_one;
	story->written_three = story->is_three;
	g_string_append(story->told, "=");
	return true;
}

/* Before the locks are released; an undo of this test has already done that. */
static void
end_story(gpointer change)
{
	Story *story = change;

	if (!story->change.dry_run && story->change.why == NULL)
		ck_assert_ptr_nonnull(story->change.app->lock);
	story->ended++;
}

static Story
new_story(void)
{
	return (Story){.change = {.app = app,
				  .name = "tell",
				  .steps = steps,
				  .by_any_user = true,
				  .note = write_intent,
				  .end = end_story},
		       .told = g_string_new(NULL),
		       .maintained = true};
}

/* Runs @story, which must succeed (@code -1) or fail with @code, and must have told @expected. */
static void
check_story(Story *story, int code, const char *expected)
{
	g_autoptr(GError) error = NULL;
	bool ok = gbe_change_run(&story->change, &error);

	ck_assert_str_eq(story->told->str, expected);
	ck_assert_int_eq(ok, code < 0);
	ck_assert_msg(ok || g_error_matches(error, GBE_ERROR, code), "%s",
		      ok ? "" : error->message);
	ck_assert_uint_eq(story->ended, 1);
	ck_assert_ptr_null(app->lock);
	ck_assert_ptr_null(story->change.maintenance);
}

static void
story_clear(Story *story)
{
	g_string_free(story->told, true);
	gbe_change_clear(&story->change);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Story, story_clear)

START_TEST(in_order)
{
	g_auto(Story) story = new_story();

	check_story(&story, -1, "+look+one=-two-three=+last");
	ck_assert_ptr_null(story.change.failed);
	ck_assert(!story.change.taken_back);
	ck_assert(story.written_one && story.written_three);
}
END_TEST

/* The step that failed is also taken back: it may have done a part. */
START_TEST(fails_and_is_taken_back)
{
	static const struct {
		const char *name, *told;
	} at[] = {
	    {"look", "+look!~look"},
	    {"one", "+look+one!~one~look"},
	    {"two", "+look+one=-two!~one~look"},
	    {"three", "+look+one=-two-three!~three~one~look"},
	    {"last", "+look+one=-two-three=+last!~last~three~one~look"},
	};
	g_auto(Story) story = new_story();
	g_autofree char *why = g_strdup_printf("no %s", at[_i].name);

	story.fails = at[_i].name;
	check_story(&story, GBE_ERROR_NOT_FOUND, at[_i].told);
	ck_assert(story.change.taken_back);
	ck_assert_ptr_eq(story.change.failed, &steps[_i]);
	ck_assert_str_eq(story.change.why->message, why);
}
END_TEST

/* Earlier steps rely on the undo that failed: they stay. */
START_TEST(undo_fails)
{
	g_auto(Story) story = new_story();
	g_autoptr(GError) error = NULL;

	story.fails = "last";
	story.undo_fails = "three";
	ck_assert(!gbe_change_run(&story.change, &error));
	ck_assert_str_eq(story.told->str, "+look+one=-two-three=+last!~last~three!");
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_PARTIAL));
	ck_assert_str_eq(error->message, "no last. The way back failed: no three");
	ck_assert(!story.change.taken_back);
	ck_assert_ptr_null(app->lock);
}
END_TEST

START_TEST(dry_run)
{
	g_autofree char *state = g_build_filename(root, GBE_STATE_DIR, NULL);
	g_auto(Story) story = new_story();
	g_auto(Story) failing = new_story();

	story.change.dry_run = failing.change.dry_run = true;
	story.change.maintenance_wanted = true;
	check_story(&story, -1, "-look-last");
	ck_assert(!story.maintained);
	/* No step was done, so no step is undone. */
	failing.fails = "last";
	check_story(&failing, GBE_ERROR_NOT_FOUND, "-look-last!");
	ck_assert(!g_file_test(state, G_FILE_TEST_EXISTS));
}
END_TEST

START_TEST(noted_steps_are_left_out)
{
	g_auto(Story) story = new_story();
	g_auto(Story) done = new_story();

	story.is_one = true;
	check_story(&story, -1, "+look-two-three=+last");
	ck_assert(story.written_one && story.written_three);
	done.is_one = done.is_three = true;
	check_story(&done, -1, "+look-two+last");
}
END_TEST

START_TEST(intent_is_not_written)
{
	g_auto(Story) story = new_story();

	story.note_fails = true;
	check_story(&story, GBE_ERROR_NO_SPACE, "+look+one~one~look");
	ck_assert(!story.written_one);
}
END_TEST

START_TEST(ends_early)
{
	g_auto(Story) story = new_story();

	story.ends = "one";
	check_story(&story, -1, "+look+one=");
}
END_TEST

/* A point follows each step, and fails as the step would; the intent is not written then. */
START_TEST(fault_points)
{
	static const char *const expected[] = {
	    "+look~look",
	    "+look+one~one~look",
	    "+look+one=-two~one~look",
	    "+look+one=-two-three~three~one~look",
	    "+look+one=-two-three=+last~last~three~one~look",
	};
	g_autofree char *fault = g_strdup_printf("%s=ENOSPC", steps[_i].name);
	g_auto(Story) story = new_story();

	g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
	check_story(&story, GBE_ERROR_NO_SPACE, expected[_i]);
	g_unsetenv("GREENBOOT_ETCD_FAULT");
}
END_TEST

/* A step that could not begin is not taken back. */
START_TEST(lock_is_busy)
{
	g_auto(Story) story = new_story();
	g_autoptr(GbeApp) other = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert(gbe_app_new("other", root, &other, NULL));
	ck_assert(gbe_app_lock(other, "test", GBE_WAIT_NOT, NULL));
	ck_assert(!gbe_change_run(&story.change, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY));
	ck_assert_str_eq(story.told->str, "");
	ck_assert(story.change.taken_back);
}
END_TEST

START_TEST(maintenance)
{
	g_auto(Story) story = new_story();
	g_auto(Story) busy = new_story();
	g_autoptr(GbeLock) held = NULL;

	story.change.maintenance_wanted = busy.change.maintenance_wanted = true;
	check_story(&story, -1, "+look+one=-two-three=+last");
	ck_assert(story.maintained);
	ck_assert(gbe_maintenance_lock(app, "test", &held, NULL));
	ck_assert(!gbe_change_run(&busy.change, NULL));
	ck_assert_str_eq(busy.told->str, "");
}
END_TEST

START_TEST(needs_root)
{
	g_auto(Story) story = new_story();
	g_autoptr(GError) error = NULL;

	story.change.by_any_user = false;
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert(!gbe_change_run(&story.change, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_FAILED));
	ck_assert_str_eq(error->message, "tell needs root: sudo");
	ck_assert_str_eq(story.told->str, "");
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* GREENBOOT_ETCD_FAULT=steps prints the names, in order, and takes no step. */
START_TEST(prints_its_steps)
{
	char text[64] = "";
	int fds[2], status = -1;
	pid_t child;

	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		Story story = new_story();

		g_setenv("GREENBOOT_ETCD_FAULT", "steps", true);
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)!gbe_change_run(&story.change, NULL);
		_exit(1);
	}
	(void)close(fds[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(read(fds[0], text, sizeof text - 1), 0);
	ck_assert_str_eq(text, "looked\none\ntwo\nthree\nlast\n");
	(void)close(fds[0]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-change");
	TCase *runner = tcase_create("runner");
	const int count = G_N_ELEMENTS(steps) - 1;

	tcase_add_checked_fixture(runner, app_setup, app_teardown);
	tcase_add_test(runner, in_order);
	tcase_add_loop_test(runner, fails_and_is_taken_back, 0, count);
	tcase_add_test(runner, undo_fails);
	tcase_add_test(runner, dry_run);
	tcase_add_test(runner, noted_steps_are_left_out);
	tcase_add_test(runner, intent_is_not_written);
	tcase_add_test(runner, ends_early);
	tcase_add_loop_test(runner, fault_points, 0, count);
	tcase_add_test(runner, lock_is_busy);
	tcase_add_test(runner, maintenance);
	tcase_add_test(runner, needs_root);
	tcase_add_test(runner, prints_its_steps);
	suite_add_tcase(suite, runner);
	return gbe_unit_main(suite);
}
