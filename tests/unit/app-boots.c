/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs of a boot, of a run and of a shutdown, on a device of its own (lib/device.h). Each fault point that a
 * program passes fails in one case and kills the process in another. The next boot then finds one of the states of the
 * table. Each file that prerun reads is unreadable once: no content is lost, and the next boot has the usual state.
 *
 * A new program is a line in the table.
 */
#include "lib/device.h"
#include "lib/skipped-time.h"

/* ---- the devices; each is shut down or runs, as its program needs it ---- */

static void
require_boot(char deployment)
{
	ck_assert_int_eq(device_boots(deployment), 0);
}

static int
in_process(int (*program)(GbeApp *app), const char *fault, bool traced)
{
	g_autofree char *path = g_build_filename(scratch, "trace", NULL);
	int status = 0;
	pid_t pid = device_forks();

	if (pid == 0) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		(void)dup2(fd, STDERR_FILENO);
		if (traced)
			(void)g_setenv("GREENBOOT_ETCD_FAULT_TRACE", "1", true);
		if (fault != NULL)
			(void)g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
		_exit(program != NULL ? program(device_app()) : gbe_prerun_start(root, NULL));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
require_program(int (*program)(GbeApp *app))
{
	ck_assert_int_eq(in_process(program, NULL, false), 0);
}

/* A has run with "a" and "b". */
static void
running_device(void)
{
	device_new();
	require_boot('A');
	device_etcd_writes('b');
}

/* B has run with "c", after A. */
static void
updated_device(void)
{
	running_device();
	device_deploys('B');
	require_boot('B');
	device_etcd_writes('c');
}

/* The update B comes up. */
static void
update_comes_up(void)
{
	running_device();
	require_program(gbe_finalize_run);
	device_deploys('B');
	device_comes_up('B');
}

/* B is red, and A comes up again. */
static void
rollback_comes_up(void)
{
	updated_device();
	require_program(gbe_red_run);
	require_program(gbe_finalize_run);
	device_comes_up('A');
}

/* ---- the table ---- */

typedef struct {
	const char *name;
	void (*device)(void);
	int (*program)(GbeApp *app); /* NULL: prerun */
	char next;		     /* the deployment that boots next */
	const char *after;	     /* after the program and the next boot; device_tells() */
	const char *if_cut;	     /* also possible if the program was cut; NULL: @after alone */
	const char *if_failed[2];    /* also possible if a point failed */
} Program;

#define UPDATED "data b; backups a unproven, b unproven"
#define USED "data c; backups a unproven, b unproven"
#define ROLLED_BACK "data b; backups a unproven, b unproven, c bad"

static const Program programs[] = {
    /* on-upgrade-failure=auto, and greenboot is not there to fall back: B starts without its backup. */
    {"prerun at an update",
     update_comes_up,
     NULL,
     'B',
     UPDATED,
     NULL,
     {"data b; backups a unproven", UPDATED ", b unproven"}},
    {"prerun at a rollback", rollback_comes_up, NULL, 'A', ROLLED_BACK "; run red", NULL, {0}},
    {"finalize", updated_device, gbe_finalize_run, 'B', USED, NULL, {0}},
    /* An update without a verdict counts as failed, and B without one stays. */
    {"red", updated_device, gbe_red_run, 'A', ROLLED_BACK "; run red", ROLLED_BACK, {ROLLED_BACK}},
    {"green", updated_device, gbe_green_run, 'B', USED "; run green", USED, {USED}},
    {"used", updated_device, gbe_used_run, 'A', ROLLED_BACK, NULL, {0}},
};

/* ---- the cases ---- */

static GPtrArray *
trace(const Program *p)
{
	g_autofree char *path = g_build_filename(scratch, "trace", NULL);

	p->device();
	ck_assert_int_eq(in_process(p->program, NULL, true), 0);
	return device_points(path);
}

static void
play(const Program *p, const char *act)
{
	g_autoptr(GPtrArray) points = trace(p);

	ck_assert_uint_gt(points->len, 0);
	for (guint i = 0; i < points->len; i++) {
		g_autofree char *fault = g_strdup_printf("%s=%s", (char *)points->pdata[i], act);
		g_autofree char *state = NULL;
		int status, next;
		bool allowed;

		/* app-operations plays these for a backup and a restore. */
		if (p->program == NULL &&
		    (g_str_has_prefix(fault, "clone-") || g_str_has_prefix(fault, "write-")))
			continue;
		p->device();
		status = in_process(p->program, fault, false);
		next = device_boots(p->next);
		state = device_tells();
		ck_assert_msg(next == 0, "%s, %s: the next boot holds etcd back", p->name, fault);
		allowed = g_str_equal(state, p->after);
		if (g_str_equal(act, "kill"))
			allowed = allowed || g_strcmp0(state, p->if_cut) == 0;
		else
			allowed = allowed || g_strcmp0(state, p->if_failed[0]) == 0 ||
				  g_strcmp0(state, p->if_failed[1]) == 0;
		ck_assert_msg(allowed, "%s, %s, status %d: \"%s\"", p->name, fault, status, state);
	}
}

START_TEST(goes_well)
{
	const Program *p = &programs[_i];
	g_autofree char *state = NULL;

	p->device();
	require_program(p->program);
	require_boot(p->next);
	state = device_tells();
	ck_assert_msg(g_str_equal(state, p->after), "%s: \"%s\"", p->name, state);
}
END_TEST

START_TEST(each_point_fails)
{
	play(&programs[_i], "EIO");
}
END_TEST

START_TEST(each_point_is_cut)
{
	play(&programs[_i], "kill");
}
END_TEST

/* Names that prerun reads, and the state after the next boot, which can read them again. */
static const struct {
	const char *name;
	int status;
	const char *update, *rollback; /* NULL: not played */
} readings[] = {
    /* Rule 0: an unknown deployment changes nothing. etcd starts, and its data is A's from then on. */
    {"proc/cmdline", 0, UPDATED, USED ", c unproven; run red"},
    {"proc/sys/kernel/random/boot_id", 0, UPDATED ", b unproven", ROLLED_BACK "; run red"},
    {"run/ostree-booted", 0, UPDATED, USED ", c unproven; run red"},
    {"boot/loader.1/entries", 0, UPDATED, ROLLED_BACK "; run red"},
    {"ostree/deploy/os/deploy", 0, UPDATED, USED ", c unproven; run red"},
    {DEVICE_CONF, 0, UPDATED, ROLLED_BACK "; run red"},
    {DEVICE_STATE "/ledger", 0, UPDATED ", b unproven", USED ", c unproven, c unproven; run red"},
    {DEVICE_STORE, 5, UPDATED, ROLLED_BACK "; run red"},
    /* A rollback replaces the data together with these. */
    {DEVICE_DATA "/member", 0, UPDATED, NULL},
    {DEVICE_DATA "/member/snap/db", 0, UPDATED, NULL},
    {DEVICE_DATA "/member/wal", 5, UPDATED, NULL},
};

/* A link to itself is in the place of the name, so that each look at it fails. */
START_TEST(unreadable_once)
{
	const Program *p = &programs[_i % 2];
	const char *name = readings[_i / 2].name;
	const char *after = _i % 2 == 0 ? readings[_i / 2].update : readings[_i / 2].rollback;
	g_autofree char *aside = g_build_filename(scratch, "aside", NULL);
	g_autofree char *path = NULL, *state = NULL;
	int status;

	if (after == NULL)
		return;
	p->device();
	path = root_path(name);
	ck_assert_int_eq(rename(path, aside), 0);
	ck_assert_int_eq(symlink(path, path), 0);
	status = in_process(NULL, NULL, false);
	ck_assert_msg(status == readings[_i / 2].status, "%s, %s: status %d", p->name, name,
		      status);
	/* The ledger begins again if it is unreadable. */
	if (remove(path) != 0)
		ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(rename(aside, path), 0);
	require_boot(p->next);
	state = device_tells();
	ck_assert_msg(g_str_equal(state, after), "%s, %s: \"%s\"", p->name, name, state);
}
END_TEST

static void
add_case(Suite *suite, const char *name, const TTest *test, int n)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, test, 0, n);
	suite_add_tcase(suite, tcase);
}

int
main(void)
{
	Suite *suite = suite_create("boots");
	const int n = G_N_ELEMENTS(programs);

	add_case(suite, "goes well", goes_well, n);
	add_case(suite, "fails", each_point_fails, n);
	add_case(suite, "cut", each_point_is_cut, n);
	add_case(suite, "unreadable", unreadable_once, 2 * (int)G_N_ELEMENTS(readings));
	return device_main(suite);
}
