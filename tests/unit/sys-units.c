/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process of the test plays the other end of systemd's private socket, with sd-bus. The tests check the calls,
 * the waiting, and the handling of each answer. */
#include "sys-root.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>

#include "sys/deployment/deployments.h"
#include "sys/systemd/units.h"

#define SOCKET "/run/systemd/private"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define JOB "/org/freedesktop/systemd1/job/7"

/* How the manager behaves. */
typedef struct {
	int soft_reboots; /* -1: does not know the property */
	const char *version;
	const char *state;
} Manager;

static int
job_removed(sd_bus *bus, const char *job, const char *unit, const char *result)
{
	return sd_bus_emit_signal(bus, MANAGER_PATH, MANAGER, "JobRemoved", "uoss", 7, job, unit,
				  result);
}

/* The unit's name tells what happens to its job. */
static int
answer_job(sd_bus_message *m)
{
	sd_bus *bus = sd_bus_message_get_bus(m);
	const char *unit = NULL;
	const char *mode = NULL;
	int r = sd_bus_message_read(m, "ss", &unit, &mode);

	if (r < 0)
		return r;
	if (strcmp(mode, "replace") != 0)
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_INVALID_ARGS, "mode %s", mode);
	if (strcmp(unit, "unknown.service") == 0)
		return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.NoSuchUnit",
						  "Unit %s not loaded.", unit);
	if (strcmp(unit, "masked.service") == 0)
		return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.UnitMasked",
						  "Unit %s is masked.", unit);
	if (strcmp(unit, "crash.service") == 0)
		_exit(0);
	/* Another program's job first and, for one unit, ours before the answer. */
	(void)job_removed(bus, "/org/freedesktop/systemd1/job/6", "other.service", "failed");
	if (strcmp(unit, "early.service") == 0)
		(void)job_removed(bus, JOB, unit, "done");
	r = sd_bus_reply_method_return(m, "o", JOB);
	if (r < 0 || strcmp(unit, "slow.service") == 0 || strcmp(unit, "early.service") == 0)
		return r;
	(void)sd_bus_flush(bus);
	if (strcmp(unit, "later.service") == 0)
		g_usleep(300 * 1000);
	return job_removed(bus, JOB, unit,
			   strcmp(unit, "failing.service") == 0 ? "failed"
			   : strcmp(unit, "idle.service") == 0	? "skipped"
								: "done");
}

static int
answer_property(sd_bus_message *m, const Manager *manager)
{
	static const struct {
		const char *name, *value;
	} unit[] = {
	    {"LoadState", "loaded"},	  {"ActiveState", "active"}, {"SubState", "running"},
	    {"UnitFileState", "enabled"}, {"Result", "success"},     {"Type", "notify"},
	    {"Restart", "always"},
	};
	const char *interface = NULL;
	const char *name = NULL;
	int r = sd_bus_message_read(m, "ss", &interface, &name);

	if (r < 0)
		return r;
	if (strcmp(name, "SoftRebootsCount") == 0 && manager->soft_reboots >= 0)
		return sd_bus_reply_method_return(m, "v", "u", (guint32)manager->soft_reboots);
	if (strcmp(name, "Version") == 0 && manager->version != NULL)
		return sd_bus_reply_method_return(m, "v", "s", manager->version);
	if (strcmp(name, "SystemState") == 0)
		return sd_bus_reply_method_return(m, "v", "s", manager->state);
	for (gsize i = 0; i < G_N_ELEMENTS(unit); i++)
		if (strcmp(name, unit[i].name) == 0)
			return sd_bus_reply_method_return(m, "v", "s", unit[i].value);
	return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_UNKNOWN_PROPERTY, "Unknown property %s",
					  name);
}

/* The command in it, and nothing else that could not be read. */
static int
read_properties(sd_bus_message *m, bool *ret_right)
{
	const char *key = NULL;
	const char *path = NULL;
	const char *first = NULL;
	const char *second = NULL;
	int ignore = 1;
	int r = sd_bus_message_enter_container(m, 'a', "(sv)");

	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'r', "sv")) > 0) {
		r = sd_bus_message_read(m, "s", &key);
		if (r >= 0 && strcmp(key, "ExecStart") == 0)
			r = sd_bus_message_read(m, "v", "a(sasb)", 1, &path, 2, &first, &second,
						&ignore);
		else if (r >= 0)
			r = sd_bus_message_skip(m, "v");
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	*ret_right = path != NULL && strcmp(path, "/etcd") == 0 && strcmp(first, "/etcd") == 0 &&
		     strcmp(second, "--name=a b") == 0 && ignore == 0;
	return r >= 0 ? sd_bus_message_exit_container(m) : r;
}

static int
answer_start(sd_bus_message *m)
{
	const char *unit = NULL;
	const char *mode = NULL;
	bool right = false;
	int r = sd_bus_message_read(m, "ss", &unit, &mode);

	if (r >= 0)
		r = read_properties(m, &right);
	if (r >= 0)
		r = sd_bus_message_skip(m, "a(sa(sv))");
	if (r < 0 || !right || strcmp(mode, "fail") != 0)
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_INVALID_ARGS, "%d", r);
	if (strcmp(unit, "taken.service") == 0)
		return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.UnitExists",
						  "Unit %s was already loaded.", unit);
	if (strcmp(unit, "forbidden.service") == 0)
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_ACCESS_DENIED, "not you");
	(void)job_removed(sd_bus_message_get_bus(m), JOB, unit, "dependency");
	return sd_bus_reply_method_return(m, "o", JOB);
}

static int
answer(sd_bus_message *m, void *data, sd_bus_error *error)
{
	if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "Get"))
		return answer_property(m, data);
	if (sd_bus_message_is_method_call(m, MANAGER, "Subscribe"))
		return sd_bus_reply_method_return(m, NULL);
	if (sd_bus_message_is_method_call(m, MANAGER, "LoadUnit"))
		return sd_bus_reply_method_return(m, "o", "/org/freedesktop/systemd1/unit/x");
	if (sd_bus_message_is_method_call(m, MANAGER, "StartTransientUnit"))
		return answer_start(m);
	if (sd_bus_message_is_method_call(m, MANAGER, "StopUnit") ||
	    sd_bus_message_is_method_call(m, MANAGER, "StartUnit"))
		return answer_job(m);
	return 0;
}

static void
serve(int listener, const Manager *manager)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		sd_bus *bus = NULL;
		sd_id128_t id = {{1}};

		if (fd < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
		    sd_bus_set_server(bus, 1, id) < 0 || sd_bus_set_anonymous(bus, 1) < 0 ||
		    sd_bus_set_trusted(bus, 1) < 0 ||
		    sd_bus_add_filter(bus, NULL, answer, (void *)manager) < 0 ||
		    sd_bus_start(bus) < 0)
			_exit(1);
		for (;;) {
			int r = sd_bus_process(bus, NULL);

			if (r < 0)
				break;
			if (r == 0 && sd_bus_wait(bus, G_MAXUINT64) < 0)
				break;
		}
		sd_bus_unref(bus);
	}
}

static bool
start_manager(const char *test, const Manager *manager)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	int listener;
	pid_t pid;

	if (!own_mounts(test))
		return false;
	ck_assert_int_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(g_mkdir_with_parents("/run/systemd/system", 0755), 0);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		/* Ends with the test, however that ends. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listener, manager);
		_exit(0);
	}
	(void)close(listener);
	return true;
}

static const Manager usual = {.soft_reboots = 0, .version = "257", .state = "running"};

START_TEST(query)
{
	GbeUnitState state = {NULL};
	GbeUnitState target = {NULL};
	g_autoptr(GError) error = NULL;

	if (!start_manager("query", &usual))
		return;
	if (!gbe_unit_query("etcd.service", &state, &error))
		ck_abort_msg("%s", error->message);
	ck_assert_str_eq(state.load_state, "loaded");
	ck_assert_str_eq(state.active_state, "active");
	ck_assert_str_eq(state.sub_state, "running");
	ck_assert_str_eq(state.unit_file_state, "enabled");
	ck_assert_str_eq(state.result, "success");
	ck_assert_str_eq(state.type, "notify");
	ck_assert_str_eq(state.restart, "always");
	ck_assert(gbe_unit_query("boot-complete.target", &target, NULL));
	ck_assert_ptr_null(target.result);
	ck_assert_ptr_null(target.type);
	gbe_unit_state_clear(&state);
	gbe_unit_state_clear(&target);
	ck_assert_ptr_null(state.result);
}
END_TEST

START_TEST(jobs_that_end_well)
{
	static const char *const units[] = {"good.service", "early.service", "later.service",
					    "idle.service"};

	if (!start_manager("jobs-that-end-well", &usual))
		return;
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
		g_autoptr(GError) error = NULL;

		if (!gbe_unit_stop(units[i], 5000, &error))
			ck_abort_msg("%s: %s", units[i], error->message);
		if (!gbe_unit_start(units[i], 5000, &error))
			ck_abort_msg("%s: %s", units[i], error->message);
	}
}
END_TEST

START_TEST(jobs_that_do_not)
{
	static const struct {
		const char *unit;
		GbeErrorCode code;
		const char *says;
	} cases[] = {
	    {"failing.service", GBE_ERROR_FAILED, "\"failed\""},
	    {"slow.service", GBE_ERROR_FAILED, "the job still runs"},
	    {"unknown.service", GBE_ERROR_NOT_FOUND, "not loaded"},
	    {"masked.service", GBE_ERROR_FAILED, "is masked"},
	    {"crash.service", GBE_ERROR_CANNOT_TELL, "stop crash.service"},
	};

	if (!start_manager("jobs-that-do-not", &usual))
		return;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!gbe_unit_stop(cases[i].unit, 500, &error), "%s", cases[i].unit);
		ck_assert_error(error, cases[i].code);
		ck_assert_msg(strstr(error->message, cases[i].unit) != NULL, "%s", error->message);
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
	}
}
END_TEST

START_TEST(the_deadline_is_kept)
{
	g_autoptr(GError) error = NULL;
	gint64 began;

	if (!start_manager("the-deadline-is-kept", &usual))
		return;
	began = g_get_monotonic_time();
	ck_assert(!gbe_unit_start("slow.service", 400, &error));
	ck_assert_int_ge(g_get_monotonic_time() - began, 390 * 1000);
	ck_assert_int_lt(g_get_monotonic_time() - began, 3000 * 1000);
}
END_TEST

static GVariant *
member_properties(void)
{
	static char *argv[] = {(char *)"/etcd", (char *)"--name=a b", NULL};
	static const char conf[] = "[run]\nenv-file=/a -/b\ncredentials=x:/y\nio-weight=7\n";
	const GbeMemberUnit unit = {.parent = "app.service", .argv = argv, .timeout = 1};
	g_autoptr(GbeConfig) config = gbe_config_new();
	GVariant *properties = NULL;

	ck_assert(gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
	ck_assert(gbe_member_unit_properties(&unit, config, &properties, NULL));
	return g_variant_ref_sink(properties);
}

START_TEST(transient)
{
	g_autoptr(GbeJobs) jobs = NULL;
	g_autoptr(GVariant) properties = member_properties();
	g_autoptr(GError) error = NULL;
	g_autofree char *job = NULL;
	const char *result = NULL;
	bool exists = true;

	if (!start_manager("transient", &usual))
		return;
	ck_assert(gbe_jobs_open(5000, &jobs, NULL));
	if (!gbe_transient_start(jobs, "new.service", properties, &job, &exists, &error))
		ck_abort_msg("%s", error->message);
	ck_assert_str_eq(job, JOB);
	ck_assert(!exists);
	/* The job had ended before the call returned. */
	ck_assert(gbe_jobs_wait(jobs, job, 5000, &result, NULL));
	ck_assert_str_eq(result, "dependency");
	ck_assert(gbe_jobs_wait(jobs, "/no/such/job", 50, &result, NULL));
	ck_assert_ptr_null(result);
}
END_TEST

START_TEST(transient_refused)
{
	g_autoptr(GbeJobs) jobs = NULL;
	g_autoptr(GVariant) properties = member_properties();
	g_autoptr(GError) taken = NULL;
	g_autoptr(GError) forbidden = NULL;
	char *job = NULL;
	bool exists = false;

	if (!start_manager("transient-refused", &usual))
		return;
	ck_assert(gbe_jobs_open(5000, &jobs, NULL));
	ck_assert(!gbe_transient_start(jobs, "taken.service", properties, &job, &exists, &taken));
	ck_assert_error(taken, GBE_ERROR_FAILED);
	ck_assert(exists);
	ck_assert(
	    !gbe_transient_start(jobs, "forbidden.service", properties, &job, &exists, &forbidden));
	ck_assert_error(forbidden, GBE_ERROR_FAILED);
	ck_assert_ptr_nonnull(strstr(forbidden->message, "not you"));
	ck_assert(!exists);
	ck_assert_ptr_null(job);
}
END_TEST

START_TEST(without_systemd)
{
	GbeUnitState state = {NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) gone = NULL;

	if (!own_mounts("without-systemd"))
		return;
	ck_assert_int_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
	ck_assert(!gbe_unit_stop("etcd.service", 1000, &error));
	ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
	/* systemd exists, but cannot be reached. */
	ck_assert_int_eq(g_mkdir_with_parents("/run/systemd/system", 0755), 0);
	ck_assert(!gbe_unit_query("etcd.service", &state, &gone));
	ck_assert_error(gone, GBE_ERROR_CANNOT_TELL);
	ck_assert_int_eq(gbe_system_stopping(), GBE_UNKNOWN);
}
END_TEST

static char *
read_run(GError **error)
{
	int slash = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *run = NULL;

	(void)!gbe_run_read(slash, true, &run, error);
	(void)close(slash);
	return run;
}

START_TEST(soft_reboots)
{
	static const Manager manager = {.soft_reboots = 3, .version = "257", .state = "running"};
	g_autoptr(GError) error = NULL;
	g_autofree char *run = NULL;

	if (!start_manager("soft-reboots", &manager))
		return;
	run = read_run(&error);
	ck_assert_msg(run != NULL, "%s", error != NULL ? error->message : "");
	ck_assert(g_str_has_suffix(run, "+3"));
	ck_assert_uint_eq(strlen(run), 34);
	ck_assert_int_eq(gbe_system_stopping(), GBE_NO);
}
END_TEST

START_TEST(older_than_soft_reboots)
{
	static const Manager manager = {.soft_reboots = -1,
					.version = "252.39-1~deb12u1",
					.state = "stopping"};
	g_autofree char *run = NULL;

	if (!start_manager("older-than-soft-reboots", &manager))
		return;
	run = read_run(NULL);
	ck_assert_ptr_nonnull(run);
	ck_assert_uint_eq(strlen(run), 32);
	ck_assert_int_eq(gbe_system_stopping(), GBE_YES);
}
END_TEST

START_TEST(a_count_that_should_be_there)
{
	static const Manager manager = {.soft_reboots = -1, .version = "v256~rc1", .state = ""};
	g_autoptr(GError) error = NULL;
	g_autofree char *run = NULL;

	if (!start_manager("a-count-that-should-be-there", &manager))
		return;
	run = read_run(&error);
	ck_assert_ptr_null(run);
	ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
}
END_TEST

START_TEST(a_version_that_is_not_told)
{
	static const Manager manager = {.soft_reboots = -1, .version = NULL, .state = ""};
	g_autoptr(GError) error = NULL;
	g_autofree char *run = NULL;

	if (!start_manager("a-version-that-is-not-told", &manager))
		return;
	run = read_run(&error);
	ck_assert_ptr_null(run);
	ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
}
END_TEST

START_TEST(systemd_that_cannot_be_asked)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *run = NULL;

	if (!own_mounts("systemd-that-cannot-be-asked"))
		return;
	ck_assert_int_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(g_mkdir_with_parents("/run/systemd/system", 0755), 0);
	run = read_run(&error);
	ck_assert_ptr_null(run);
	ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-units");
	TCase *units = tcase_create("units");
	TCase *runs = tcase_create("runs");

	tcase_add_test(units, query);
	tcase_add_test(units, jobs_that_end_well);
	tcase_add_test(units, jobs_that_do_not);
	tcase_add_test(units, the_deadline_is_kept);
	tcase_add_test(units, transient);
	tcase_add_test(units, transient_refused);
	tcase_add_test(units, without_systemd);
	suite_add_tcase(suite, units);
	tcase_add_test(runs, soft_reboots);
	tcase_add_test(runs, older_than_soft_reboots);
	tcase_add_test(runs, a_count_that_should_be_there);
	tcase_add_test(runs, a_version_that_is_not_told);
	tcase_add_test(runs, systemd_that_cannot_be_asked);
	suite_add_tcase(suite, runs);
	return scratch_main(suite);
}
