/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every operation by hand, on a device of its own (lib/device.h). A test compares the result, and finds that a dry run
 * changes nothing. Each fault point that the operation passes fails in one case and kills the process in another. The next
 * program then finds the device as before or as afterwards, and the operation still goes well. All of them meet a lock that
 * another operation holds.
 *
 * A new operation is a line in the table. The fault points come from a trace: the steps of the operation, and the points
 * in the functions that they call. So both loops have them from the first day.
 */
#include "lib/device.h"

/* ---- the operations ---- */

static bool dry; /* a dry run, where an operation has one */

static bool
take_backup(GbeApp *app, GError **error)
{
	const GbeByHandBackup options = {.dry_run = dry};
	g_auto(GbeByHandResult) result = {0};

	return gbe_by_hand_backup(app, &options, &result, error);
}

static bool
take_kept(GbeApp *app, GError **error)
{
	const GbeByHandBackup options = {.name = "kept"};
	g_auto(GbeByHandResult) result = {0};

	return gbe_by_hand_backup(app, &options, &result, error);
}

static bool
restore(GbeApp *app, GbeByHandRestore options, GError **error)
{
	g_auto(GbeByHandResult) result = {0};

	options.dry_run = dry;
	return gbe_by_hand_restore(app, &options, &result, error);
}

static bool
restore_kept(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.name = "kept"}, error);
}

static bool
restore_last_good(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.target = GBE_BY_HAND_LAST_GOOD}, error);
}

static bool
restore_and_discard(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.name = "kept", .skip_backup = true}, error);
}

static bool
restore_and_keep(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.name = "kept", .keep_existing = "/var/lib/.old"},
		       error);
}

static bool
undo(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.target = GBE_BY_HAND_UNDO}, error);
}

static bool
set_aside(GbeApp *app, GError **error)
{
	GbeBackupRef backup = {0};
	bool ok = gbe_by_hand_set_aside(app, "set aside", false, &backup, error);

	gbe_backup_ref_clear(&backup);
	return ok;
}

static bool
request(GbeApp *app, GError **error)
{
	const GbeByHandRestore options = {.name = "kept", .dry_run = dry};
	g_autofree char *name = NULL;

	return gbe_by_hand_request(app, &options, &name, error);
}

static bool
cancel(GbeApp *app, GError **error)
{
	bool had = false;

	return gbe_by_hand_cancel(app, dry, &had, error);
}

static char *const kept[] = {(char *)"kept", NULL};

static bool
pin(GbeApp *app, GError **error)
{
	return gbe_by_hand_pin(app, kept, true, dry, error);
}

static bool
unpin(GbeApp *app, GError **error)
{
	return gbe_by_hand_pin(app, kept, false, dry, error);
}

static bool
mark_good(GbeApp *app, GError **error)
{
	return gbe_by_hand_mark(app, "kept", true, "seen", dry, error);
}

static bool
mark_bad(GbeApp *app, GError **error)
{
	g_autofree char *name = device_backup_of('a');

	return gbe_by_hand_mark(app, name, false, "seen", dry, error);
}

static bool
mark_run_bad(GbeApp *app, GError **error)
{
	return gbe_by_hand_mark(app, NULL, false, "seen", dry, error);
}

static bool
delete_kept(GbeApp *app, GError **error)
{
	return gbe_by_hand_delete(app, kept, false, dry, error);
}

static bool
discard_displaced(GbeApp *app, GError **error)
{
	g_autofree char *name = device_backup_of('c');

	return gbe_by_hand_discard(app, name, "kept", error);
}

static bool
prune(GbeApp *app, GError **error)
{
	g_autoptr(GPtrArray) removed = NULL;

	return gbe_by_hand_prune(app, dry, &removed, error);
}

/* ---- the devices ---- */

/* A run of A that has backups of "a" and "b", and "c" as its data. */
static void
used_device(void)
{
	device_new();
	ck_assert_int_eq(device_boots('A'), 0);
	device_etcd_writes('b');
	device_does(take_kept);
	device_etcd_writes('c');
}

static void
restored_device(void)
{
	used_device();
	device_does(restore_kept);
}

static void
discarding_device(void)
{
	used_device();
	device_does(restore_and_discard);
}

static void
pinned_device(void)
{
	used_device();
	device_does(pin);
}

static void
good_device(void)
{
	used_device();
	device_does(mark_good);
}

/* Two restores have set data aside. Only the newer one is needed. */
static void
untidy_device(void)
{
	restored_device();
	device_etcd_writes('d');
	device_does(restore_kept);
}

static void
requesting_device(void)
{
	used_device();
	device_does(request);
}

/* ---- the table ---- */

typedef struct {
	const char *name;
	void (*device)(void);
	DeviceOperation run;
	bool has_dry_run;
	bool like; /* its steps are those of an earlier line: both loops leave it out */
	const char *before, *after; /* device_tells() */
} Operation;

#define USED "data c; backups a unproven, b unproven"
#define RESTORED "data b; backups a unproven, b unproven, c unproven"

static const Operation operations[] = {
    {"backup", used_device, take_backup, true, false, USED, USED ", c unproven"},
    {"restore", used_device, restore_kept, true, false, USED, RESTORED},
    {"restore --last-good", good_device, restore_last_good, true, true,
     "data c; backups a unproven, b good", "data b; backups a unproven, b good, c unproven"},
    {"restore --skip-backup", used_device, restore_and_discard, true, true, USED,
     RESTORED " discard"},
    {"restore --keep-existing", used_device, restore_and_keep, true, false, USED,
     "data b; backups a unproven, b unproven; left .old"},
    {"undo", restored_device, undo, true, false, RESTORED,
     "data c; backups a unproven, b unproven, b unproven, c unproven"},
    {"set aside", used_device, set_aside, false, false, USED,
     "data -; backups a unproven, b unproven, c unproven"},
    {"restore --next-boot", used_device, request, true, false, USED, USED "; request restore"},
    {"restore --cancel", requesting_device, cancel, true, false, USED "; request restore", USED},
    {"pin", used_device, pin, true, false, USED, USED " pinned"},
    {"unpin", pinned_device, unpin, true, false, USED " pinned", USED},
    {"mark good", used_device, mark_good, true, false, USED, "data c; backups a unproven, b good"},
    {"mark bad", used_device, mark_bad, true, false, USED, "data c; backups a bad, b unproven"},
    {"mark bad, of the run", used_device, mark_run_bad, true, false, USED, USED "; run red"},
    {"delete", used_device, delete_kept, true, false, USED, "data c; backups a unproven"},
    {"discard", discarding_device, discard_displaced, false, false, RESTORED " discard",
     "data b; backups a unproven, b unproven"},
    {"prune", untidy_device, prune, true, false, RESTORED ", d unproven",
     "data b; backups a unproven, b unproven, d unproven"},
};

/* ---- the cases ---- */

static void
require_state(const char *name, const char *wanted)
{
	g_autofree char *state = device_tells();

	ck_assert_msg(g_str_equal(state, wanted), "%s: \"%s\" instead of \"%s\"", name, state,
		      wanted);
}

START_TEST(goes_well)
{
	const Operation *o = &operations[_i];

	o->device();
	require_state(o->name, o->before);
	device_does(o->run);
	require_state(o->name, o->after);
}
END_TEST

START_TEST(dry_run)
{
	const Operation *o = &operations[_i];
	g_autofree char *before = NULL, *after = NULL;

	if (!o->has_dry_run)
		return;
	o->device();
	before = device_dumps();
	dry = true;
	device_does(o->run);
	after = device_dumps();
	device_same(before, after);
}
END_TEST

/* A clone or a file is written in the same way for every operation, so that these points are played for two of them. */
static bool
is_played(const Operation *o, const char *point)
{
	return o->run == take_backup || o->run == restore_kept ||
	       (!g_str_has_prefix(point, "clone-") && !g_str_has_prefix(point, "write-"));
}

/* Plays @o once for each fault point that it passes. A device that is as it was before serves again: what an attempt leaves
 * would add up. */
static void
play_points(const Operation *o, const char *act)
{
	g_autoptr(GPtrArray) points = NULL;
	bool as_before = false;

	if (o->like)
		return;
	o->device();
	points = device_traces(o->run);
	ck_assert_uint_gt(points->len, 0);
	for (guint i = 0; i < points->len; i++) {
		g_autofree char *fault = g_strdup_printf("%s=%s", (char *)points->pdata[i], act);
		g_autofree char *state = NULL;
		DeviceEnd end;

		if (!is_played(o, points->pdata[i]))
			continue;
		if (!as_before)
			o->device();
		end = device_plays(o->run, fault);
		ck_assert_msg(end.killed == g_str_equal(act, "kill"), "%s: %s was not passed",
			      o->name, fault);
		device_does(device_recovers);
		state = device_tells();
		as_before = g_str_equal(state, o->before);
		ck_assert_msg(as_before || g_str_equal(state, o->after), "%s, %s: \"%s\"", o->name,
			      fault, state);
		/* Any other failure may come after the effect, from the flush that makes it durable. */
		if (!end.killed && (end.code < 0 || end.code == GBE_ERROR_PARTIAL))
			ck_assert_msg(g_str_equal(state, o->after), "%s, %s: %s, but \"%s\"",
				      o->name, fault, end.code < 0 ? "went well" : end.message,
				      state);
	}
	if (!as_before)
		o->device();
	device_does(o->run);
	require_state(o->name, o->after);
}

START_TEST(each_point_fails)
{
	play_points(&operations[_i], "EIO");
}
END_TEST

START_TEST(each_point_is_cut)
{
	play_points(&operations[_i], "kill");
}
END_TEST

/* Each operation meets the lock of another one. */
START_TEST(lock_is_held)
{
	pid_t pids[G_N_ELEMENTS(operations)];
	int fds[G_N_ELEMENTS(operations)];

	used_device();
	device_does(restore_and_discard);
	(void)device_locks(DEVICE_STATE "/lock");
	for (guint i = 0; i < G_N_ELEMENTS(operations); i++)
		pids[i] = device_starts(operations[i].run, NULL, &fds[i]);
	for (guint i = 0; i < G_N_ELEMENTS(operations); i++) {
		DeviceEnd end = device_awaits(pids[i], fds[i]);

		ck_assert_msg(end.code == GBE_ERROR_BUSY &&
				  strstr(end.message, "holds the lock") != NULL,
			      "%s: %d %s", operations[i].name, end.code, end.message);
	}
	require_state("a held lock", RESTORED " discard");
}
END_TEST

/* An operation that needs a stopped etcd meets a running one. */
START_TEST(etcd_runs)
{
	static const DeviceOperation need_stop[] = {take_backup, restore_kept, undo, set_aside};
	pid_t etcd;

	restored_device();
	etcd = device_runs_etcd();
	for (guint i = 0; i < G_N_ELEMENTS(need_stop); i++) {
		DeviceEnd end = device_plays(need_stop[i], NULL);

		ck_assert_msg(end.code == GBE_ERROR_BUSY &&
				  strstr(end.message, "stop it first") != NULL,
			      "operation %u: %d %s", i, end.code, end.message);
	}
	require_state("a running etcd", RESTORED);
	device_stops(etcd);
	device_does(undo);
}
END_TEST

/* A step of an operation by hand, and why no line of the table passes it. */
static const char *const elsewhere[] = {
    "settings-aside",	 /* the settings of a member of a cluster */
    "settings-followed", /* the same */
};

static void
require_steps(const char *file, GHashTable *passed, guint *found)
{
	g_autoptr(GRegex) steps =
	    g_regex_new("(?:\\{|gbe_session_do\\([^\"]*)\"([a-z]+-[a-z-]+)\",", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autofree char *text = NULL;

	ck_assert(g_file_get_contents(file, &text, NULL, NULL));
	for (g_regex_match(steps, text, 0, &match); g_match_info_matches(match);
	     g_match_info_next(match, NULL)) {
		g_autofree char *step = g_match_info_fetch(match, 1);
		bool known = g_hash_table_contains(passed, step);

		(*found)++;
		for (gsize i = 0; i < G_N_ELEMENTS(elsewhere); i++)
			known = known || g_str_equal(step, elsewhere[i]);
		ck_assert_msg(known, "%s: no operation of the table passes the step %s", file,
			      step);
	}
}

/* The sources of the operations are searched, so that a new operation cannot be forgotten. */
START_TEST(each_step_is_passed)
{
	g_autoptr(GHashTable) passed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *path =
	    g_build_filename(g_getenv("GBE_TEST_DATA"), "../../src/app/by-hand", NULL);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint found = 0;

	for (gsize i = 0; i < G_N_ELEMENTS(operations); i++) {
		g_autoptr(GPtrArray) points = NULL;

		operations[i].device();
		points = device_traces(operations[i].run);
		for (guint k = 0; k < points->len; k++)
			g_hash_table_add(passed, g_strdelimit(g_strdup(points->pdata[k]), "@", 0));
	}
	ck_assert_ptr_nonnull(dir);
	for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		if (g_str_has_suffix(name, ".c"))
			require_steps(file, passed, &found);
	}
	ck_assert_uint_ge(found, 15);
}
END_TEST

static void
add_case(Suite *suite, const char *name, const TTest *test, int n)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test, 0, n);
	suite_add_tcase(suite, tcase);
}

int
main(void)
{
	Suite *suite = suite_create("operations");
	const int n = G_N_ELEMENTS(operations);

	add_case(suite, "goes well", goes_well, n);
	add_case(suite, "dry run", dry_run, n);
	add_case(suite, "fails", each_point_fails, n);
	add_case(suite, "cut", each_point_is_cut, n);
	add_case(suite, "lock is held", lock_is_held, 1);
	add_case(suite, "etcd runs", etcd_runs, 1);
	add_case(suite, "steps", each_step_is_passed, 1);
	return device_main(suite);
}
