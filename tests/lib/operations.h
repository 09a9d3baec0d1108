/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cases that every operation has, on a device of its own (lib/device.h):
 *
 *   it goes well
 *   a dry run changes nothing
 *   each fault point fails once, and the process is killed at each fault point once
 *
 * After a failure or a kill, the next program finds the device as before or as afterwards, and the operation still goes
 * well. All operations meet a lock that another one holds.
 *
 * A test has a table of Operation, and calls operations_add() for each list of cases. A new operation is a line in the
 * table. The fault points come from a trace: the steps of the operation, and the points in the functions that they call.
 */
#pragma once

#include "lib/device.h"

typedef enum {
	OPERATION_DRY_RUN = 1, /* reads `dry` */
	OPERATION_LIKE = 2,    /* its steps are those of an earlier line: both loops leave it out */
	/* Also plays the points within a clone and within the writing of a file, which are the same for all. */
	OPERATION_WRITES = 4,
} OperationFlags;

typedef struct {
	const char *name;
	void (*device)(void); /* makes the device */
	DeviceOperation run;
	guint flags;
	const char *before, *after; /* Operations.tells() */
} Operation;

typedef struct {
	const Operation *all;
	int n;
	char *(*tells)(
	    void); /* describes the device in one line, newly allocated: device_tells() */
	/* Finishes or undoes what a cut left, as the next program does first; NULL: device_recovers(). */
	DeviceOperation mends;
	/* Each step in these files and directories, below src/, is passed by a line of the table, or stands in
	 * ->elsewhere. Both lists end with NULL. */
	const char *const *sources, *const *elsewhere;
	guint steps; /* which the sources have at least */
} Operations;

static bool dry; /* a dry run, where an operation has one */
static Operations operations_of;

static inline void
operations_require(const char *name, const char *wanted)
{
	g_autofree char *state = operations_of.tells();

	ck_assert_msg(g_str_equal(state, wanted), "%s: \"%s\" instead of \"%s\"", name, state,
		      wanted);
}

START_TEST(operation_goes_well)
{
	const Operation *o = &operations_of.all[_i];

	o->device();
	operations_require(o->name, o->before);
	device_does(o->run);
	operations_require(o->name, o->after);
}
END_TEST

START_TEST(operation_dry_run)
{
	const Operation *o = &operations_of.all[_i];
	g_autofree char *before = NULL, *after = NULL;

	if ((o->flags & OPERATION_DRY_RUN) == 0)
		return;
	o->device();
	before = device_dumps();
	dry = true;
	device_does(o->run);
	after = device_dumps();
	device_same(before, after);
}
END_TEST

static inline void
operation_plays_one(const Operation *o, const char *point, const char *act, bool *as_before)
{
	g_autofree char *fault = g_strdup_printf("%s=%s", point, act);
	g_autofree char *state = NULL;
	DeviceEnd end;

	/* A device that is as it was before serves again: what an attempt leaves would add up. */
	if (!*as_before)
		o->device();
	end = device_plays(o->run, fault);
	ck_assert_msg(end.killed == g_str_equal(act, "kill"), "%s: %s was not passed", o->name,
		      fault);
	device_does(operations_of.mends != NULL ? operations_of.mends : device_recovers);
	state = operations_of.tells();
	*as_before = g_str_equal(state, o->before);
	ck_assert_msg(*as_before || g_str_equal(state, o->after), "%s, %s: \"%s\"", o->name, fault,
		      state);
	/* Any other failure may come after the effect, from the flush that makes it durable. */
	if (!end.killed && (end.code < 0 || end.code == GBE_ERROR_PARTIAL))
		ck_assert_msg(g_str_equal(state, o->after), "%s, %s: %s, but \"%s\"", o->name,
			      fault, end.code < 0 ? "went well" : end.message, state);
}

/* Plays @o once for each fault point that it passes. */
static inline void
operation_plays(const Operation *o, const char *act)
{
	g_autoptr(GPtrArray) points = NULL;
	bool as_before = false;

	if ((o->flags & OPERATION_LIKE) != 0)
		return;
	o->device();
	points = device_traces(o->run);
	ck_assert_uint_gt(points->len, 0);
	for (guint i = 0; i < points->len; i++) {
		const char *point = points->pdata[i];

		if ((o->flags & OPERATION_WRITES) != 0 ||
		    (!g_str_has_prefix(point, "clone-") && !g_str_has_prefix(point, "write-")))
			operation_plays_one(o, point, act, &as_before);
	}
	if (!as_before)
		o->device();
	device_does(o->run);
	operations_require(o->name, o->after);
}

START_TEST(operation_fails)
{
	operation_plays(&operations_of.all[_i], "EIO");
}
END_TEST

START_TEST(operation_is_cut)
{
	operation_plays(&operations_of.all[_i], "kill");
}
END_TEST

/* All operations meet the lock @path of another program, at the same time and on the present device, which stays in the
 * state @state. */
static inline void
operations_meet_lock(const char *path, const char *state)
{
	g_autofree pid_t *pids = g_new0(pid_t, (gsize)operations_of.n);
	g_autofree int *fds = g_new0(int, (gsize)operations_of.n);

	(void)device_locks(path);
	for (int i = 0; i < operations_of.n; i++)
		pids[i] = device_starts(operations_of.all[i].run, NULL, &fds[i]);
	for (int i = 0; i < operations_of.n; i++) {
		DeviceEnd end = device_awaits(pids[i], fds[i]);

		ck_assert_msg(end.code == GBE_ERROR_BUSY &&
				  strstr(end.message, "holds the lock") != NULL,
			      "%s: %d %s", operations_of.all[i].name, end.code, end.message);
	}
	operations_require("a held lock", state);
}

static inline void
operations_require_steps(const char *file, GHashTable *passed, guint *found)
{
	g_autoptr(GRegex) steps =
	    g_regex_new("(?:\\{|gbe_session_do\\([^\"]*)\"([a-z]+-[a-z-]+)\",", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autofree char *text = NULL;

	ck_assert(g_file_get_contents(file, &text, NULL, NULL));
	for (g_regex_match(steps, text, 0, &match); g_match_info_matches(match);
	     g_match_info_next(match, NULL)) {
		g_autofree char *step = g_match_info_fetch(match, 1);

		(*found)++;
		ck_assert_msg(g_hash_table_contains(passed, step) ||
				  g_strv_contains(operations_of.elsewhere, step),
			      "%s: no operation of the table passes the step %s", file, step);
	}
}

/* The sources of the operations are searched, so that a new operation cannot be forgotten. */
START_TEST(operation_steps)
{
	g_autoptr(GHashTable) passed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint found = 0;

	for (int i = 0; i < operations_of.n; i++) {
		g_autoptr(GPtrArray) points = NULL;

		operations_of.all[i].device();
		points = device_traces(operations_of.all[i].run);
		for (guint k = 0; k < points->len; k++)
			g_hash_table_add(passed, g_strdelimit(g_strdup(points->pdata[k]), "@", 0));
	}
	for (guint i = 0; operations_of.sources[i] != NULL; i++) {
		g_autofree char *path = g_build_filename(g_getenv("GBE_TEST_DATA"), "../../src",
							 operations_of.sources[i], NULL);
		g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

		if (dir == NULL)
			operations_require_steps(path, passed, &found);
		for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
			g_autofree char *file = g_build_filename(path, name, NULL);

			if (g_str_has_suffix(name, ".c"))
				operations_require_steps(file, passed, &found);
		}
	}
	ck_assert_uint_ge(found, operations_of.steps);
}
END_TEST

static inline void
operations_add_case(Suite *suite, const char *name, const TTest *test, int n)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test, 0, n);
	suite_add_tcase(suite, tcase);
}

/* Adds the cases of @operations to @suite. A program has one table. */
static inline void
operations_add(Suite *suite, const Operations *operations)
{
	operations_of = *operations;
	operations_add_case(suite, "goes well", operation_goes_well, operations->n);
	operations_add_case(suite, "dry run", operation_dry_run, operations->n);
	operations_add_case(suite, "fails", operation_fails, operations->n);
	operations_add_case(suite, "cut", operation_is_cut, operations->n);
	operations_add_case(suite, "steps", operation_steps, 1);
}
