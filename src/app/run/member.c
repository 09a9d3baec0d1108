/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/run/member.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/boot/boot.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "base/format.h"
#include "core/config/lists.h"
#include "core/json/parse.h"
#include "core/unit-name.h"
#include "fs/open.h"
#include "sys/process.h"
#include "sys/systemd/events.h"
#include "sys/systemd/journal.h"
#include "sys/systemd/units.h"

#define FILE_MAX (64 * 1024)
#define QUOTA "ETCD_QUOTA_BACKEND_BYTES"
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

/* As in prerun, a typo in a file must not leave a device without etcd. */
static bool
configure(GbeMember *member, GError **error)
{
	GbeApp *app = member->app;
	GbeDeployment booted = {0};
	g_autofree char *complaint = NULL;

	if (app->config_file != NULL)
		return gbe_configuration_load(app, error) ||
		       gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_USAGE);
	(void)!gbe_booted_from_cmdline(app, &booted, NULL);
	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, booted.id, &complaint);
	gbe_deployment_clear(&booted);
	if (complaint != NULL) {
		gbe_event_config_bad(&(GbeEventFields){.reason = complaint});
		g_ptr_array_add(member->notes, g_steal_pointer(&complaint));
	}
	return true;
}

/* Newly allocated; NULL: no such program. */
static char *
program_at(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	if (!g_file_test(path, G_FILE_TEST_IS_EXECUTABLE) || g_file_test(path, G_FILE_TEST_IS_DIR))
		return NULL;
	return g_steal_pointer(&path);
}

/* The program of that name: the configured etcd, which is the one whose version prerun uses; next to the caller; on the
 * path. */
static bool
find_program(const GbeConfig *config, const char *name, char **ret_path, GError **error)
{
	bool has_path = strchr(name, '/') != NULL;
	g_autofree char *base = g_path_get_basename(config->etcd.binary);
	g_autofree char *path = NULL;
	g_autofree char *found = NULL;

	if (has_path) {
		found = g_canonicalize_filename(name, NULL);
		path = program_at("/", found);
	} else if (g_hash_table_lookup(config->origins, "etcd.binary") != NULL &&
		   g_str_equal(base, name)) {
		path = program_at("/", config->etcd.binary);
	}
	if (!has_path && path == NULL) {
		g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)getppid());
		g_autofree char *caller = g_file_read_link(link, NULL);
		g_autofree char *directory = caller != NULL ? g_path_get_dirname(caller) : NULL;

		path = directory != NULL ? program_at(directory, name) : NULL;
	}
	if (!has_path && path == NULL) {
		found = g_find_program_in_path(name);
		path = found != NULL ? g_canonicalize_filename(found, NULL) : NULL;
	}
	if (path == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "program %s is missing%s; install it, or give its path", name,
				 has_path ? "" : " next to the caller and on the path");
	*ret_path = g_steal_pointer(&path);
	return true;
}

/* Sets those of the variables @from that @is_wanted (NULL: all) names. Takes @environment and returns it. */
static char **
with_variables(char **environment, char **from, bool (*is_wanted)(const char *name))
{
	for (guint i = 0; from[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(from[i], "=", 2);

		if (parts[1] != NULL && (is_wanted == NULL || is_wanted(parts[0])))
			environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	return environment;
}

static bool
has_prefix_of_etcd(const char *name)
{
	return g_str_has_prefix(name, "ETCD_");
}

/* The quota is a variable and not an argument, so that the value of a file goes before ours. etcd ends when an argument
 * and a variable set the same option. */
static bool
make_environment(GbeMember *member, GError **error)
{
	const GbeConfig *config = member->app->config;
	g_autofree char *here = g_get_current_dir();
	g_auto(GStrv) own = g_get_environ();
	g_auto(GStrv) names = NULL;
	g_auto(GStrv) files = g_new0(char *, 1);

	if (!gbe_run_files(config->run.env_file, &names, error))
		return false;
	for (guint i = 0; names[i] != NULL; i++) {
		bool optional = names[i][0] == '-';
		g_autoptr(GError) local = NULL;
		g_autofree char *text = NULL;
		gsize size;

		if (gbe_read_in_root(member->app->root_fd, names[i] + (optional ? 1 : 0), FILE_MAX,
				     &text, &size, &local)) {
			files = gbe_run_environment(files, text);
		} else if (!optional || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			(void)gbe_pass(error, &local);
			return gbe_prefix(error, "[run] env-file");
		}
	}
	/* A unit gets etcd's variables from the caller's environment. systemd reads the other variables from the files
	 * when it starts etcd. The values that identify an etcd are noted in the unit, as they are now. */
	if (member->parent != NULL) {
		member->environment = with_variables(g_new0(char *, 1), own, has_prefix_of_etcd);
		member->environment =
		    with_variables(member->environment, files, gbe_etcd_command_knows);
	} else {
		member->environment = with_variables(g_strdupv(own), files, NULL);
	}
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
	g_autoptr(GStrvBuilder) argv = g_strv_builder_new();
	g_autofree char *own = NULL;
	g_autofree char *program = NULL;
	g_auto(GStrv) more = NULL;

	member->app = app;
	member->options = options;
	member->notes = g_ptr_array_new_with_free_func(g_free);
	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd is not started below --root: start it there yourself");
	if (!configure(member, error))
		return false;
	own = gbe_process_unit(getpid());
	if (options->parent != NULL)
		member->parent = g_strdup(options->parent);
	else if (gbe_unit_is_parent(own))
		member->parent = g_steal_pointer(&own);
	if (!gbe_run_args(app->config->run.args, &more, error) ||
	    !find_program(app->config, options->command[0], &program, error))
		return false;
	g_strv_builder_add(argv, program);
	for (guint i = 1; options->command[i] != NULL; i++)
		g_strv_builder_add(argv, options->command[i]);
	for (guint i = 0; more[i] != NULL; i++)
		g_strv_builder_add(argv, more[i]);
	member->argv = g_strv_builder_end(argv);
	if (!make_environment(member, error))
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

G_GNUC_PRINTF(2, 3)
static void
note(GbeMember *member, const char *format, ...)
{
	g_ptr_array_add(member->notes, GBE_VFORMAT(format));
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
prepare_unit(Start *start, GError **error)
{
	static const char *const running[] = {"active", "activating", "reloading", "refreshing",
					      NULL};
	GbeMember *member = start->member;
	const char *name = member->parent;
	g_auto(GbeParentUnit) parent = {NULL};
	GbeMemberUnit unit = {.parent = name,
			      .argv = member->argv,
			      .environment = member->environment,
			      .timeout = member->options->timeout};

	if (!gbe_jobs_open(CALL_TIMEOUT_MS, &start->jobs, error))
		return false;
	if (g_str_equal(name, member->options->unit))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s cannot be its own parent: choose another --name", name);
	if (!gbe_transient_parent(start->jobs, name, &parent, error))
		return false;
	if (g_str_equal(parent.load_state, "not-found"))
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no unit %s", name);
	/* If etcd's unit were bound to a unit that is down, etcd would start that unit, or be stopped at once. */
	if (!g_strv_contains(running, parent.active_state))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is %s, and etcd would be started for it: start it first", name,
				 parent.active_state);
	if (!look_at_prerun(start, error))
		return false;
	unit.parent_by_default = parent.by_default;
	unit.protect = member->protected;
	if (!gbe_member_unit_properties(&unit, member->app->config, &start->properties, error))
		return false;
	(void)g_variant_ref_sink(start->properties);
	return true;
}

/* Looks at the present state and does one step, until a job starts the unit or the unit serves. */
static bool
queue_start(Start *start, GError **error)
{
	GbeMember *member = start->member;
	const char *name = member->options->unit;
	gint64 settled = g_get_monotonic_time() + SETTLE_MS * 1000 + STOP_TIMEOUT_MS * 1000;

	for (guint round = 0;; round++) {
		g_auto(GbeFoundUnit) found = {NULL};
		g_autoptr(GError) local = NULL;
		const char *why = NULL;
		bool exists = false;

		if (round > 0)
			g_usleep(SETTLE_STEP_USEC);
		if (g_get_monotonic_time() > settled)
			return gbe_throw(error, GBE_ERROR_BUSY,
					 "%s comes and goes: another program starts and stops it",
					 name);
		if (!gbe_transient_find(start->jobs, name, &found, error))
			return false;
		switch (gbe_leftover_judge(&found, member->parent, &member->command, &why)) {
		case GBE_LEFTOVER_NONE:
			if (gbe_transient_start(start->jobs, name, start->properties, &start->job,
						&exists, &local))
				return true;
			/* If it exists, another process was faster. */
			if (!exists)
				return gbe_pass(error, &local);
			break;
		case GBE_LEFTOVER_SERVES:
			member->result = GBE_MEMBER_ADOPTED;
			start->job = g_steal_pointer(&found.job);
			return true;
		case GBE_LEFTOVER_OTHER:
			g_free(member->replaced);
			member->replaced = g_strdup(why);
			if (!gbe_jobs_run(start->jobs, "StopUnit", "stop", name, STOP_TIMEOUT_MS,
					  error))
				return false;
			break;
		case GBE_LEFTOVER_ENDED:
			gbe_transient_forget(start->jobs, name);
			break;
		case GBE_LEFTOVER_FOREIGN:
		default:
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "unit %s already exists (%s); choose another --name", name,
					 found.load_state);
		}
	}
}

/* Says why etcd did not start; always false. A failed start must leave nothing: no later attempt may start etcd without
 * its caller's knowledge. */
static bool
give_up(Start *start, const char *result, GError **error)
{
	GbeMember *member = start->member;
	const char *name = member->options->unit;
	bool canceled = g_str_equal(result, "canceled");
	g_autoptr(JsonObject) done = NULL;
	g_autoptr(GPtrArray) lines = NULL;
	g_autoptr(GError) local = NULL;

	if (g_str_equal(result, "dependency")) {
		/* Either prerun has reported a hold since this start began, or another unit that etcd needs has failed. */
		done = gbe_prerun_done_read(member->app);
		if (done != NULL && gbe_json_bool(done, "held", false) &&
		    gbe_json_int(done, "monotonic_usec", 0) >= start->began)
			return gbe_throw(
			    error, GBE_ERROR_REFUSED, "prerun holds etcd back: %s",
			    gbe_json_string(done, "reason", "see greenboot-etcd status"));
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "what %s needs did not start: see systemctl status %s", name,
				 member->protected ? GBE_PRERUN_UNIT : member->parent);
	}
	if (!canceled &&
	    !gbe_jobs_run(start->jobs, "StopUnit", "stop", name, STOP_TIMEOUT_MS, &local) &&
	    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		note(member, "%s", local->message);
	/* etcd's last lines may reach the journal after its end is known. */
	gbe_journal_sync(LAST_SECONDS);
	if (gbe_journal_tail(name, start->since, LAST_LINES, &lines, NULL)) {
		g_clear_pointer(&member->last, g_ptr_array_unref);
		member->last = g_steal_pointer(&lines);
	}
	if (canceled)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s was stopped while it started", name);
	return gbe_throw(error, GBE_ERROR_FAILED,
			 "%s did not get ready (systemd's job: %s): see journalctl -u %s", name,
			 result, name);
}

static bool
wait_until_ready(Start *start, GError **error)
{
	const char *name = start->member->options->unit;
	guint64 seconds = start->member->options->timeout + GRACE_SECONDS;
	const char *result = NULL;

	for (bool prerun_works = true; result == NULL && prerun_works;) {
		g_auto(GbeParentUnit) prerun = {NULL};

		if (!gbe_jobs_wait(start->jobs, start->job, (guint)(seconds * 1000), &result,
				   error))
			return gbe_prefix(error, "while %s starts", name);
		/* prerun has its own limit for missing progress. */
		prerun_works = result == NULL && start->member->protected &&
			       gbe_transient_parent(start->jobs, GBE_PRERUN_UNIT, &prerun, NULL) &&
			       g_str_equal(prerun.active_state, "activating");
	}
	if (result == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s is not ready after %" G_GUINT64_FORMAT
				 " s, and still starts; see systemctl status %s",
				 name, seconds, name);
	return g_str_equal(result, "done") || g_str_equal(result, "skipped") ||
	       give_up(start, result, error);
}

bool
gbe_member_start(GbeMember *member, GError **error)
{
	g_auto(Start) start = {.member = member,
			       .began = g_get_monotonic_time(),
			       .since = (guint64)g_get_real_time()};

	if (!prepare_unit(&start, error) || !queue_start(&start, error))
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

bool
gbe_member_execute(GbeMember *member, GError **error)
{
	const GbeConfig *config = member->app->config;
	g_autoptr(JsonObject) done = NULL;

	/* prerun does not know a developer's data in another place. */
	member->protected =
	    !gbe_config_is_off(config) && gbe_etcd_command_check(&member->command, config, NULL);
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
