/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/run/member.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/boot/prerun.h"
#include "app/device/booted.h"
#include "app/state/configuration.h"
#include "app/state/prerun-done.h"
#include "base/format.h"
#include "core/config/run-words.h"
#include "core/json/parse.h"
#include "core/unit-name.h"
#include "fs/open.h"
#include "sys/systemd/events.h"
#include "sys/systemd/journal-read.h"
#include "sys/systemd/journal.h"
#include "sys/systemd/transient.h"

#define FILE_MAX (64 * 1024)
#define QUOTA "ETCD_QUOTA_BACKEND_BYTES"

/* As in prerun, a typo in a file must not leave a device without etcd. */
static bool
configure(GbeMember *member, GError **error)
{
	GbeApp *app = member->app;
	GbeDeployment booted = {0};
	g_autofree char *complaint = NULL;

	if (app->config_file != NULL)
		return gbe_configuration_load(app, false, error) ||
		       gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_USAGE);
	(void)!gbe_booted_from_cmdline(app, &booted, NULL);
	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, booted.id, &complaint);
	gbe_deployment_clear(&booted);
	if (complaint != NULL) {
		GbeEventFields fields = {.reason = complaint};

		gbe_event_config_bad(&fields);
		g_ptr_array_add(member->notes, g_steal_pointer(&complaint));
	}
	return true;
}

/* Newly allocated; NULL: there is none. */
static char *
program_at(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	if (!g_file_test(path, G_FILE_TEST_IS_EXECUTABLE) || g_file_test(path, G_FILE_TEST_IS_DIR))
		return NULL;
	return g_steal_pointer(&path);
}

static char *
beside_the_caller(const char *name)
{
	g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)getppid());
	g_autofree char *caller = g_file_read_link(link, NULL);
	g_autofree char *directory = caller != NULL ? g_path_get_dirname(caller) : NULL;

	return directory != NULL ? program_at(directory, name) : NULL;
}

/* The configured etcd is the one whose version prerun uses. */
static char *
configured(const GbeConfig *config, const char *name)
{
	g_autofree char *base = NULL;

	if (g_hash_table_lookup(config->origins, "etcd.binary") == NULL)
		return NULL;
	base = g_path_get_basename(config->etcd.binary);
	return g_str_equal(base, name) ? program_at("/", config->etcd.binary) : NULL;
}

static bool
find_program(const GbeConfig *config, const char *name, char **ret_path, GError **error)
{
	g_autofree char *path = NULL;

	if (strchr(name, '/') != NULL) {
		g_autofree char *given = g_canonicalize_filename(name, NULL);

		path = program_at("/", given);
	} else {
		path = configured(config, name);
		if (path == NULL)
			path = beside_the_caller(name);
		if (path == NULL) {
			g_autofree char *found = g_find_program_in_path(name);

			path = found != NULL ? g_canonicalize_filename(found, NULL) : NULL;
		}
	}
	if (path == NULL)
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND,
		    "there is no program %s%s: install it, or name it with its path", name,
		    strchr(name, '/') != NULL ? ""
					      : " beside the one that calls, and none on the path");
	*ret_path = g_steal_pointer(&path);
	return true;
}

static bool
make_argv(GbeMember *member, GError **error)
{
	const GbeConfig *config = member->app->config;
	char **command = member->options->command;
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) more = NULL;
	char *program = NULL;

	if (!gbe_run_args(config->run.args, &more, error) ||
	    !find_program(config, command[0], &program, error))
		return false;
	g_ptr_array_add(argv, program);
	for (guint i = 1; command[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(command[i]));
	for (guint i = 0; more[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(more[i]));
	g_ptr_array_add(argv, NULL);
	member->argv = (char **)g_ptr_array_free(g_steal_pointer(&argv), false);
	return true;
}

/* Adds the variables in the files of env-file=. */
static bool
read_files(const GbeApp *app, char ***environment, GError **error)
{
	g_auto(GStrv) files = NULL;

	if (!gbe_run_files(app->config->run.env_file, &files, error))
		return false;
	for (guint i = 0; files[i] != NULL; i++) {
		bool optional = files[i][0] == '-';
		g_autoptr(GError) local = NULL;
		g_autofree char *text = NULL;
		gsize size;

		if (gbe_read_in_root(app->root_fd, files[i] + (optional ? 1 : 0), FILE_MAX, &text,
				     &size, &local)) {
			*environment = gbe_run_environment(*environment, text);
		} else if (!optional || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return gbe_prefix(error, "[run] env-file");
		}
	}
	return true;
}

/* A unit gets etcd's variables from the caller's environment. systemd reads the other variables from the files
 * when it starts etcd; the values that identify an etcd are noted in the unit, as they are now. */
static char **
for_a_unit(char **own, char **files)
{
	char **environment = g_new0(char *, 1);

	for (guint i = 0; own[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(own[i], "=", 2);

		if (g_str_has_prefix(own[i], "ETCD_") && parts[1] != NULL)
			environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	for (guint i = 0; files[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(files[i], "=", 2);

		if (gbe_etcd_command_knows(parts[0]) && parts[1] != NULL)
			environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	return environment;
}

static char **
for_our_place(char **own, char **files)
{
	char **environment = g_strdupv(own);

	for (guint i = 0; files[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(files[i], "=", 2);

		environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	return environment;
}

/* The quota is a variable and not an argument: etcd ends when an argument and a variable set the same option, and
 * here the value of a file goes before ours. */
static bool
make_environment(GbeMember *member, GError **error)
{
	const GbeConfig *config = member->app->config;
	g_autofree char *here = g_get_current_dir();
	g_auto(GStrv) own = g_get_environ();
	g_auto(GStrv) files = g_new0(char *, 1);

	if (!read_files(member->app, &files, error))
		return false;
	member->environment =
	    member->parent != NULL ? for_a_unit(own, files) : for_our_place(own, files);
	gbe_etcd_command_parse(member->argv + 1, member->environment,
			       member->parent != NULL ? "/" : here, &member->command);
	if (!member->command.has_quota && member->command.config_file == NULL) {
		g_autofree char *quota =
		    g_strdup_printf("%" G_GUINT64_FORMAT, config->run.quota_backend_bytes);

		member->environment = g_environ_setenv(member->environment, QUOTA, quota, true);
	}
	return true;
}

bool
gbe_member_prepare(GbeApp *app, const GbeMemberOptions *options, GbeMember **ret_member,
		   GError **error)
{
	g_autoptr(GbeMember) member = g_new0(GbeMember, 1);
	g_autofree char *own = NULL;

	member->app = app;
	member->options = options;
	member->notes = g_ptr_array_new_with_free_func(g_free);
	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd is not started below --root: start it there yourself");
	if (!configure(member, error))
		return false;
	own = gbe_own_unit();
	if (options->parent != NULL)
		member->parent = g_strdup(options->parent);
	else if (gbe_unit_is_parent(own))
		member->parent = g_steal_pointer(&own);
	if (!make_argv(member, error) || !make_environment(member, error))
		return false;
	*ret_member = g_steal_pointer(&member);
	return true;
}

void
gbe_member_free(GbeMember *member)
{
	if (member == NULL)
		return;
	gbe_etcd_command_clear(&member->command);
	g_free(member->parent);
	g_strfreev(member->argv);
	g_strfreev(member->environment);
	g_free(member->replaced);
	g_ptr_array_unref(member->notes);
	g_clear_pointer(&member->last, g_ptr_array_unref);
	g_free(member);
}

/* A manager that loads units at boot answers late. */
#define CALL_TIMEOUT_MS 30000
/* systemd has its own limit for etcd's start; this is the additional time that systemd gets to enforce it. */
#define GRACE_SECONDS 10
#define STOP_TIMEOUT_MS (120 * 1000)
/* The time until a unit that is down is collected, or until a second process that starts it is done. */
#define SETTLE_MS 30000
#define SETTLE_STEP_USEC 20000
#define LAST_LINES 20
#define LAST_SECONDS 2

typedef struct {
	GbeMember *member;
	GbeJobs *jobs;
	GVariant *properties;
	char *job;     /* the job that starts it; NULL: it is ready */
	gint64 began;  /* monotonic, microseconds */
	guint64 since; /* the same, since the epoch */
} Start;

static void
start_clear(Start *start)
{
	g_clear_pointer(&start->properties, g_variant_unref);
	g_clear_pointer(&start->jobs, gbe_jobs_free);
	g_clear_pointer(&start->job, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Start, start_clear)

static void note(GbeMember *member, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
note(GbeMember *member, const char *format, ...)
{
	g_ptr_array_add(member->notes, GBE_VFORMAT(format));
}

static bool
is_running(const GbeParentUnit *parent)
{
	static const char *const running[] = {"active", "activating", "reloading", "refreshing",
					      NULL};

	return g_strv_contains(running, parent->active_state);
}

/* If etcd's unit were bound to a unit that is down, etcd would start that unit, or be stopped at once. */
static bool
look_at_parent(Start *start, GbeParentUnit *ret_parent, GError **error)
{
	const char *name = start->member->parent;
	g_auto(GbeParentUnit) parent = {NULL};

	if (g_str_equal(name, start->member->options->unit))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s cannot be its own parent: choose another --name", name);
	if (!gbe_transient_parent(start->jobs, name, &parent, error))
		return false;
	if (g_str_equal(parent.load_state, "not-found"))
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no unit %s", name);
	if (!is_running(&parent))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is %s, and etcd would be started for it: start it first", name,
				 parent.active_state);
	*ret_parent = parent;
	parent = (GbeParentUnit){NULL};
	return true;
}

/* With prerun switched off, etcd can still start. */
static bool
look_at_prerun(Start *start, GError **error)
{
	GbeMember *member = start->member;
	const char *service = member->app->config->etcd.service;
	g_auto(GbeParentUnit) prerun = {NULL};

	if (service == NULL) {
		note(member, "etcd starts without prerun: [etcd] service is empty");
		return true;
	}
	if (!gbe_transient_parent(start->jobs, GBE_PRERUN_UNIT, &prerun, error))
		return false;
	if (!g_str_equal(prerun.load_state, "loaded")) {
		note(member, "etcd starts without prerun: %s is %s", GBE_PRERUN_UNIT,
		     prerun.load_state);
		return true;
	}
	if (!gbe_etcd_command_check(&member->command, member->app->config, error))
		return false;
	member->protected = true;
	if (!g_str_equal(service, member->parent))
		note(member,
		     "[etcd] service is %s, and etcd is started by %s: with the latter there, "
		     "--stop and the health check find it",
		     service, member->parent);
	return true;
}

static bool
prepare(Start *start, GError **error)
{
	GbeMember *member = start->member;
	g_auto(GbeParentUnit) parent = {NULL};
	GbeMemberUnit unit = {.parent = member->parent,
			      .argv = member->argv,
			      .environment = member->environment,
			      .timeout = member->options->timeout};

	if (!gbe_jobs_open(CALL_TIMEOUT_MS, &start->jobs, error) ||
	    !look_at_parent(start, &parent, error) || !look_at_prerun(start, error))
		return false;
	unit.parent_by_default = parent.by_default;
	unit.protect = member->protected;
	if (!gbe_member_unit_properties(&unit, member->app->config, &start->properties, error))
		return false;
	(void)g_variant_ref_sink(start->properties);
	return true;
}

/* *ret_again: another process was faster. */
static bool
queue(Start *start, bool *ret_again, GError **error)
{
	GbeMember *member = start->member;
	g_autoptr(GError) local = NULL;

	if (gbe_transient_start(start->jobs, member->options->unit, start->properties, &start->job,
				ret_again, &local))
		return true;
	return *ret_again || gbe_pass(error, &local);
}

/* Looks once at the present state and does one step. *ret_again: more steps remain. */
static bool
step(Start *start, bool *ret_again, GError **error)
{
	GbeMember *member = start->member;
	const char *name = member->options->unit;
	g_auto(GbeFoundUnit) found = {NULL};
	const char *why = NULL;

	*ret_again = false;
	if (!gbe_transient_find(start->jobs, name, &found, error))
		return false;
	switch (gbe_leftover_judge(&found, member->parent, &member->command, &why)) {
	case GBE_LEFTOVER_NONE:
		return queue(start, ret_again, error);
	case GBE_LEFTOVER_SERVES:
		member->result = GBE_MEMBER_ADOPTED;
		start->job = g_steal_pointer(&found.job);
		return true;
	case GBE_LEFTOVER_OTHER:
		g_free(member->replaced);
		member->replaced = g_strdup(why);
		*ret_again = true;
		return gbe_jobs_run(start->jobs, "StopUnit", "stop", name, STOP_TIMEOUT_MS, error);
	case GBE_LEFTOVER_ENDED:
		gbe_transient_forget(start->jobs, name);
		*ret_again = true;
		return true;
	case GBE_LEFTOVER_FOREIGN:
	default:
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is a unit of somebody else's (%s): choose another --name",
				 name, found.load_state);
	}
}

static bool
begin(Start *start, GError **error)
{
	gint64 settled = g_get_monotonic_time() + SETTLE_MS * 1000 + STOP_TIMEOUT_MS * 1000;
	bool again = true;

	for (guint round = 0; again; round++) {
		if (round > 0)
			g_usleep(SETTLE_STEP_USEC);
		if (g_get_monotonic_time() > settled)
			return gbe_throw(error, GBE_ERROR_BUSY,
					 "%s comes and goes: somebody else starts and stops it",
					 start->member->options->unit);
		if (!step(start, &again, error))
			return false;
	}
	return true;
}

/* prerun has its own limit for missing progress. */
static bool
prerun_works(Start *start)
{
	g_auto(GbeParentUnit) prerun = {NULL};

	return start->member->protected &&
	       gbe_transient_parent(start->jobs, GBE_PRERUN_UNIT, &prerun, NULL) &&
	       g_str_equal(prerun.active_state, "activating");
}

static void
read_last(Start *start)
{
	GbeMember *member = start->member;
	g_autoptr(GPtrArray) lines = NULL;

	/* etcd's last lines may reach the journal after its end is known. */
	gbe_journal_sync(LAST_SECONDS);
	if (!gbe_journal_tail(member->options->unit, start->since, LAST_LINES, &lines, NULL))
		return;
	g_clear_pointer(&member->last, g_ptr_array_unref);
	member->last = g_steal_pointer(&lines);
}

/* True: prerun has reported a hold since this start began, or another unit that etcd needs has failed. */
static bool
held_back(Start *start, GError **error)
{
	g_autoptr(JsonObject) done = gbe_prerun_done_read(start->member->app);

	if (done != NULL && gbe_json_bool(done, "held", false) &&
	    gbe_json_int(done, "monotonic_usec", 0) >= start->began)
		return gbe_throw(error, GBE_ERROR_REFUSED, "prerun holds etcd back: %s",
				 gbe_json_string(done, "reason", "see greenboot-etcd status"));
	return gbe_throw(error, GBE_ERROR_FAILED,
			 "what %s needs did not start: see systemctl status %s",
			 start->member->options->unit,
			 start->member->protected ? GBE_PRERUN_UNIT : start->member->parent);
}

/* A failed start must leave nothing: no later attempt may start etcd without its caller's knowledge. */
static bool
give_up(Start *start, const char *result, GError **error)
{
	const char *name = start->member->options->unit;
	g_autoptr(GError) local = NULL;

	if (g_str_equal(result, "dependency"))
		return held_back(start, error);
	if (!g_str_equal(result, "canceled") &&
	    !gbe_jobs_run(start->jobs, "StopUnit", "stop", name, STOP_TIMEOUT_MS, &local) &&
	    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		note(start->member, "%s", local->message);
	read_last(start);
	if (g_str_equal(result, "canceled"))
		return gbe_throw(error, GBE_ERROR_FAILED, "somebody stopped %s while it started",
				 name);
	return gbe_throw(error, GBE_ERROR_FAILED,
			 "%s did not get ready (systemd's job: %s): see journalctl -u %s", name,
			 result, name);
}

static bool
wait_until_ready(Start *start, GError **error)
{
	guint64 seconds = start->member->options->timeout + GRACE_SECONDS;
	const char *result = NULL;

	do
		if (!gbe_jobs_wait(start->jobs, start->job, (guint)(seconds * 1000), &result,
				   error))
			return gbe_prefix(error, "while %s starts", start->member->options->unit);
	while (result == NULL && prerun_works(start));
	if (result == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s is not ready after %" G_GUINT64_FORMAT
				 " s; its start goes on, see systemctl status %s",
				 start->member->options->unit, seconds,
				 start->member->options->unit);
	if (g_str_equal(result, "done") || g_str_equal(result, "skipped"))
		return true;
	return give_up(start, result, error);
}

bool
gbe_member_start(GbeMember *member, GError **error)
{
	g_auto(Start) start = {.member = member,
			       .began = g_get_monotonic_time(),
			       .since = (guint64)g_get_real_time()};

	if (!prepare(&start, error) || !begin(&start, error))
		return false;
	if (start.job == NULL)
		return true;
	if (member->options->no_block) {
		if (member->result != GBE_MEMBER_ADOPTED)
			member->result = GBE_MEMBER_QUEUED;
		return true;
	}
	return wait_until_ready(&start, error);
}

/* prerun does not know a developer's data in another place. */
static bool
is_protected(const GbeMember *member)
{
	const GbeConfig *config = member->app->config;

	return !gbe_config_is_off(config) && gbe_etcd_command_check(&member->command, config, NULL);
}

bool
gbe_member_execute(GbeMember *member, GError **error)
{
	g_autoptr(JsonObject) done = NULL;

	member->protected = is_protected(member);
	if (member->protected) {
		gbe_events_init("prerun", false, false, 0);
		if (gbe_prerun_start(NULL, member->app->config_file) != 0) {
			done = gbe_prerun_done_read(member->app);
			return gbe_throw(error, GBE_ERROR_REFUSED, "prerun holds etcd back: %s",
					 done != NULL ? gbe_json_string(done, "reason", "see above")
						      : "see above");
		}
	}
	(void)fflush(NULL);
	(void)execve(member->argv[0], member->argv, member->environment);
	return gbe_throw_errno(error, errno, "cannot start %s", member->argv[0]);
}
