/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/units.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/format.h"

#define BUS_TIMEOUT_MS 5000
#define PRIVATE_SOCKET "unix:path=/run/systemd/private"
#define SYSTEMD_RUNS "/run/systemd/system"
#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define UNIT_INTERFACE "org.freedesktop.systemd1.Unit"
#define SERVICE_INTERFACE "org.freedesktop.systemd1.Service"
#define JOB_INTERFACE "org.freedesktop.systemd1.Job"
/* Soft reboots, and their count, came with this version of systemd. */
#define FIRST_WITH_SOFT_REBOOTS 254

struct GbeJobs {
	sd_bus *bus;
	sd_bus_slot *slot;
	GHashTable *results; /* job path -> result, of all jobs that ended since */
};

/* ---- the bus ---- */

static void
close_bus(sd_bus **bus)
{
	*bus = sd_bus_flush_close_unref(*bus);
}
#define autobus __attribute__((cleanup(close_bus)))
#define autoerror __attribute__((cleanup(sd_bus_error_free)))
#define autoreply __attribute__((cleanup(sd_bus_message_unrefp)))

/* @bus_error may be unset. An unknown unit is GBE_ERROR_NOT_FOUND, a refusal by systemd GBE_ERROR_FAILED, no answer
 * GBE_ERROR_CANNOT_TELL. Always false. */
G_GNUC_PRINTF(4, 5)
static bool
throw_bus(GError **error, int r, const sd_bus_error *bus_error, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);
	const char *why = g_strerror(-r);
	GbeErrorCode code = GBE_ERROR_CANNOT_TELL;

	/* Only an error that systemd itself sent is an answer. */
	if (bus_error != NULL && bus_error->name != NULL) {
		if (strcmp(bus_error->name, "org.freedesktop.systemd1.NoSuchUnit") == 0)
			code = GBE_ERROR_NOT_FOUND;
		else if (g_str_has_prefix(bus_error->name, "org.freedesktop.systemd1.") ||
			 strcmp(bus_error->name, SD_BUS_ERROR_ACCESS_DENIED) == 0 ||
			 strcmp(bus_error->name, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) ==
			     0)
			code = GBE_ERROR_FAILED;
	}
	if (bus_error != NULL && bus_error->message != NULL)
		why = bus_error->message;
	return gbe_throw(error, code, "%s: %s", text, why);
}

static bool
open_bus(guint timeout_ms, sd_bus **ret_bus, GError **error)
{
	autobus sd_bus *bus = NULL;
	int r = -EACCES;

	if (access(SYSTEMD_RUNS, F_OK) < 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "systemd does not run here (there is no %s)", SYSTEMD_RUNS);
	if (geteuid() == 0) {
		r = sd_bus_new(&bus);
		if (r >= 0)
			r = sd_bus_set_address(bus, PRIVATE_SOCKET);
		if (r >= 0)
			r = sd_bus_start(bus);
		if (r < 0)
			close_bus(&bus);
	}
	if (r < 0)
		r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, (guint64)timeout_ms * 1000);
	if (r < 0)
		return throw_bus(error, r, NULL, "cannot reach systemd over D-Bus");
	*ret_bus = g_steal_pointer(&bus);
	return true;
}

/* A string property, newly allocated. */
static bool
get_string(sd_bus *bus, const char *path, const char *interface, const char *property,
	   char **ret_value, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	char *value = NULL;
	int r = sd_bus_get_property_string(bus, SYSTEMD_NAME, path, interface, property, &bus_error,
					   &value);

	if (r < 0)
		return throw_bus(error, r, &bus_error, "cannot read %s of %s over D-Bus", property,
				 path);
	*ret_value = g_strdup(value);
	free(value);
	return true;
}

/* Calls a method of systemd's manager with one string or two, which answers with a path of D-Bus. */
static bool
call_for_path(sd_bus *bus, const char *method, const char *verb, const char *unit, const char *mode,
	      char **ret_path, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	autoreply sd_bus_message *reply = NULL;
	const char *path = NULL;
	int r;

	r = sd_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, method, &bus_error,
			       &reply, mode != NULL ? "ss" : "s", unit, mode);
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return throw_bus(error, r, &bus_error, "cannot %s %s", verb, unit);
	*ret_path = g_strdup(path);
	return true;
}

/* The object of a unit, loaded or not: GetUnit fails for a unit that is not in memory. LoadState is "not-found" where
 * there is no such unit. */
static bool
load_unit(sd_bus *bus, const char *unit, char **ret_path, GError **error)
{
	return call_for_path(bus, "LoadUnit", "ask systemd for", unit, NULL, ret_path, error);
}

#define UNREADABLE "cannot read %s over D-Bus"

/* sd-bus allocates with malloc() and returns NULL for an empty list. */
static char **
take_words(char **words)
{
	char **copy = words != NULL ? g_strdupv(words) : g_new0(char *, 1);

	for (guint i = 0; words != NULL && words[i] != NULL; i++)
		free(words[i]);
	free(words);
	return copy;
}

static bool
get_words(sd_bus *bus, const char *path, const char *interface, const char *property,
	  char ***ret_words, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	char **words = NULL;
	int r = sd_bus_get_property_strv(bus, SYSTEMD_NAME, path, interface, property, &bus_error,
					 &words);

	if (r < 0)
		return throw_bus(error, r, &bus_error, UNREADABLE, property);
	*ret_words = take_words(words);
	return true;
}

/* ---- units ---- */

void
gbe_unit_state_clear(GbeUnitState *state)
{
	g_clear_pointer(&state->load_state, g_free);
	g_clear_pointer(&state->active_state, g_free);
	g_clear_pointer(&state->sub_state, g_free);
	g_clear_pointer(&state->unit_file_state, g_free);
	g_clear_pointer(&state->result, g_free);
	g_clear_pointer(&state->type, g_free);
	g_clear_pointer(&state->restart, g_free);
}

/* "Result" belongs to the unit's type. For types other than these it does not matter here. */
static const char *
result_interface(const char *unit)
{
	if (g_str_has_suffix(unit, ".service"))
		return SERVICE_INTERFACE;
	if (g_str_has_suffix(unit, ".scope"))
		return "org.freedesktop.systemd1.Scope";
	return NULL;
}

bool
gbe_unit_query(const char *unit, GbeUnitState *ret_state, GError **error)
{
	autobus sd_bus *bus = NULL;
	g_auto(GbeUnitState) state = {NULL};
	g_autofree char *path = NULL;
	const char *interface = result_interface(unit);
	const char *service = g_str_has_suffix(unit, ".service") ? interface : NULL;
	const struct {
		const char *interface, *property;
		char **value;
	} asked[] = {
	    {UNIT_INTERFACE, "LoadState", &state.load_state},
	    {UNIT_INTERFACE, "ActiveState", &state.active_state},
	    {UNIT_INTERFACE, "SubState", &state.sub_state},
	    {UNIT_INTERFACE, "UnitFileState", &state.unit_file_state},
	    {interface, "Result", &state.result},
	    {service, "Type", &state.type},
	    {service, "Restart", &state.restart},
	};

	if (!open_bus(BUS_TIMEOUT_MS, &bus, error) || !load_unit(bus, unit, &path, error))
		return false;
	for (gsize i = 0; i < G_N_ELEMENTS(asked); i++)
		if (asked[i].interface != NULL &&
		    !get_string(bus, path, asked[i].interface, asked[i].property, asked[i].value,
				error))
			return gbe_prefix(error, "unit %s", unit);
	/* An old systemd does not count. */
	if (service != NULL &&
	    sd_bus_get_property_trivial(bus, SYSTEMD_NAME, path, service, "NRestarts", NULL, 'u',
					&state.restarts) < 0)
		state.restarts = 0;
	*ret_state = state;
	state = (GbeUnitState){NULL};
	return true;
}

GbeTri
gbe_unit_names(const char *unit, const char *property, const char *const *names)
{
	autobus sd_bus *bus = NULL;
	g_autofree char *path = NULL;
	g_auto(GStrv) words = NULL;

	if (!open_bus(BUS_TIMEOUT_MS, &bus, NULL) || !load_unit(bus, unit, &path, NULL) ||
	    !get_words(bus, path, UNIT_INTERFACE, property, &words, NULL))
		return GBE_UNKNOWN;
	for (char **at = words; *at != NULL; at++)
		if (g_strv_contains(names, *at))
			return GBE_YES;
	return GBE_NO;
}

/* A number of a service, of 32 bits as @type says. */
static bool
get_number(const char *unit, const char *property, char type, gpointer ret_number)
{
	autobus sd_bus *bus = NULL;
	g_autofree char *path = NULL;

	return open_bus(BUS_TIMEOUT_MS, &bus, NULL) && load_unit(bus, unit, &path, NULL) &&
	       sd_bus_get_property_trivial(bus, SYSTEMD_NAME, path, result_interface(unit),
					   property, NULL, type, ret_number) >= 0;
}

pid_t
gbe_unit_main_pid(const char *unit)
{
	guint32 pid = 0;

	return get_number(unit, "MainPID", 'u', &pid) ? (pid_t)pid : 0;
}

int
gbe_unit_exit_status(const char *unit)
{
	gint32 code = 0, status = 0;

	return get_number(unit, "ExecMainCode", 'i', &code) && code == CLD_EXITED &&
		       get_number(unit, "ExecMainStatus", 'i', &status)
		   ? status
		   : -1;
}

static bool
run_job(const char *method, const char *verb, const char *unit, guint timeout_ms, GError **error)
{
	g_autoptr(GbeJobs) jobs = NULL;

	return gbe_jobs_open(MAX(timeout_ms, 1), &jobs, error) &&
	       gbe_jobs_run(jobs, method, verb, unit, timeout_ms, error);
}

bool
gbe_unit_stop(const char *unit, guint timeout_ms, GError **error)
{
	return run_job("StopUnit", "stop", unit, timeout_ms, error);
}

bool
gbe_unit_start(const char *unit, guint timeout_ms, GError **error)
{
	return run_job("StartUnit", "start", unit, timeout_ms, error);
}

bool
gbe_unit_reset_failed(const char *unit, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	autobus sd_bus *bus = NULL;
	int r;

	if (!open_bus(BUS_TIMEOUT_MS, &bus, error))
		return false;
	r = sd_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "ResetFailedUnit",
			       &bus_error, NULL, "s", unit);
	return r >= 0 || throw_bus(error, r, &bus_error, "cannot reset %s", unit);
}

/* "252.39-1~deb12u1", "v256~rc1"; 0 where it cannot be read. */
static guint64
systemd_version(sd_bus *bus)
{
	g_autofree char *text = NULL;
	const char *at;

	if (!get_string(bus, SYSTEMD_PATH, SYSTEMD_MANAGER, "Version", &text, NULL))
		return 0;
	at = *text == 'v' ? text + 1 : text;
	return g_ascii_isdigit(*at) ? g_ascii_strtoull(at, NULL, 10) : 0;
}

guint64
gbe_manager_version(void)
{
	autobus sd_bus *bus = NULL;

	return open_bus(BUS_TIMEOUT_MS, &bus, NULL) ? systemd_version(bus) : 0;
}

bool
gbe_manager_soft_reboots(guint *ret_count, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	autobus sd_bus *bus = NULL;
	guint32 count = 0;
	int r;

	if (!open_bus(BUS_TIMEOUT_MS, &bus, error))
		return gbe_prefix(error, "cannot determine the number of soft reboots");
	r = sd_bus_get_property_trivial(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
					"SoftRebootsCount", &bus_error, 'u', &count);

	if (r < 0 && sd_bus_error_has_name(&bus_error, SD_BUS_ERROR_UNKNOWN_PROPERTY)) {
		guint64 version = systemd_version(bus);

		if (version > 0 && version < FIRST_WITH_SOFT_REBOOTS)
			r = 0;
	}
	if (r < 0)
		return throw_bus(error, r, &bus_error,
				 "cannot determine the number of soft reboots");
	*ret_count = count;
	return true;
}

GbeTri
gbe_system_stopping(void)
{
	autobus sd_bus *bus = NULL;
	g_autofree char *state = NULL;

	if (!open_bus(BUS_TIMEOUT_MS, &bus, NULL) ||
	    !get_string(bus, SYSTEMD_PATH, SYSTEMD_MANAGER, "SystemState", &state, NULL))
		return GBE_UNKNOWN;
	return gbe_tri(strcmp(state, "stopping") == 0);
}

/* ---- jobs ---- */

/* JobRemoved may come before the call that made the job returns, so that all results are kept. */
static int
on_job_removed(sd_bus_message *message, void *data, sd_bus_error *bus_error)
{
	GbeJobs *jobs = data;
	const char *path = NULL;
	const char *unit = NULL;
	const char *result = NULL;
	guint32 id = 0;

	if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) >= 0)
		(void)g_hash_table_replace(jobs->results, g_strdup(path), g_strdup(result));
	return 0;
}

bool
gbe_jobs_open(guint timeout_ms, GbeJobs **ret_jobs, GError **error)
{
	g_autoptr(GbeJobs) jobs = g_new0(GbeJobs, 1);
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int r;

	jobs->results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (!open_bus(timeout_ms, &jobs->bus, error))
		return false;
	/* The match has no sender, because the private socket has none. On the bus systemd sends signals about jobs
	 * only to subscribers; on the private socket to everybody. */
	r = sd_bus_match_signal(jobs->bus, &jobs->slot, NULL, SYSTEMD_PATH, SYSTEMD_MANAGER,
				"JobRemoved", on_job_removed, jobs);
	if (r >= 0)
		r = sd_bus_call_method(jobs->bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
				       "Subscribe", &bus_error, NULL, NULL);
	if (r < 0 &&
	    sd_bus_error_has_name(&bus_error, "org.freedesktop.systemd1.AlreadySubscribed"))
		r = 0;
	if (r < 0)
		return throw_bus(error, r, &bus_error, "cannot follow systemd's jobs");
	*ret_jobs = g_steal_pointer(&jobs);
	return true;
}

void
gbe_jobs_free(GbeJobs *jobs)
{
	if (jobs == NULL)
		return;
	jobs->slot = sd_bus_slot_unref(jobs->slot);
	close_bus(&jobs->bus);
	g_hash_table_unref(jobs->results);
	g_free(jobs);
}

bool
gbe_jobs_wait(GbeJobs *jobs, const char *job, guint timeout_ms, const char **ret_result,
	      GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;

	for (;;) {
		int r = sd_bus_process(jobs->bus, NULL);
		gint64 left = deadline - g_get_monotonic_time();

		*ret_result = g_hash_table_lookup(jobs->results, job);
		if (*ret_result != NULL || (r == 0 && left <= 0))
			return true;
		if (r == 0)
			r = sd_bus_wait(jobs->bus, (guint64)left);
		if (r < 0 && r != -EINTR)
			return throw_bus(error, r, NULL, "lost systemd");
	}
}

bool
gbe_jobs_run(GbeJobs *jobs, const char *method, const char *verb, const char *unit,
	     guint timeout_ms, GError **error)
{
	g_autofree char *job = NULL;
	const char *result = NULL;

	if (!call_for_path(jobs->bus, method, verb, unit, "replace", &job, error))
		return false;
	if (!gbe_jobs_wait(jobs, job, timeout_ms, &result, error))
		return gbe_prefix(error, "while waiting to %s %s", verb, unit);
	if (result == NULL)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "cannot %s %s: not done after %u ms, and the job still runs; see "
				 "systemctl status %s",
				 verb, unit, timeout_ms, unit);
	if (strcmp(result, "done") != 0 && strcmp(result, "skipped") != 0)
		return gbe_throw(
		    error, GBE_ERROR_FAILED,
		    "cannot %s %s: systemd's job ended with \"%s\", see systemctl status %s", verb,
		    unit, result, unit);
	return true;
}

/* ---- transient units ---- */

static bool
get_boolean(sd_bus *bus, const char *path, const char *property, bool *ret_value, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int value = 0;
	int r = sd_bus_get_property_trivial(bus, SYSTEMD_NAME, path, UNIT_INTERFACE, property,
					    &bus_error, 'b', &value);

	if (r < 0)
		return throw_bus(error, r, &bus_error, UNREADABLE, property);
	*ret_value = value != 0;
	return true;
}

/* ExecStart is a(sasbttttuii): path, arguments, and the result. Takes the first command's arguments. */
static bool
get_command(sd_bus *bus, const char *path, char ***ret_argv, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	autoreply sd_bus_message *reply = NULL;
	const char *program = NULL;
	char **argv = NULL;
	int r = sd_bus_get_property(bus, SYSTEMD_NAME, path, SERVICE_INTERFACE, "ExecStart",
				    &bus_error, &reply, "a(sasbttttuii)");

	if (r >= 0)
		r = sd_bus_message_enter_container(reply, 'a', "(sasbttttuii)");
	if (r >= 0)
		r = sd_bus_message_enter_container(reply, 'r', "sasbttttuii");
	if (r > 0) {
		r = sd_bus_message_read(reply, "s", &program);
		if (r >= 0)
			r = sd_bus_message_read_strv(reply, &argv);
		if (r >= 0)
			*ret_argv = take_words(argv);
	}
	return r >= 0 || throw_bus(error, r, &bus_error, UNREADABLE, "ExecStart");
}

/* A job that ends during the query counts as no job. */
static bool
get_job(sd_bus *bus, const char *path, GbeFoundUnit *found, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	autoreply sd_bus_message *reply = NULL;
	const char *job = NULL;
	guint32 id = 0;
	int r = sd_bus_get_property(bus, SYSTEMD_NAME, path, UNIT_INTERFACE, "Job", &bus_error,
				    &reply, "(uo)");

	if (r >= 0)
		r = sd_bus_message_read(reply, "(uo)", &id, &job);
	if (r >= 0 && id != 0 &&
	    get_string(bus, job, JOB_INTERFACE, "JobType", &found->job_type, NULL))
		found->job = g_strdup(job);
	return r >= 0 || throw_bus(error, r, &bus_error, UNREADABLE, "Job");
}

bool
gbe_transient_find(GbeJobs *jobs, const char *unit, GbeFoundUnit *ret_found, GError **error)
{
	g_auto(GbeFoundUnit) found = {NULL};
	g_autofree char *path = NULL;
	sd_bus *bus = jobs->bus;
	bool ok;

	if (!load_unit(bus, unit, &path, error))
		return false;
	ok = get_string(bus, path, UNIT_INTERFACE, "LoadState", &found.load_state, error) &&
	     get_boolean(bus, path, "Transient", &found.transient, error);
	ok = ok && get_job(bus, path, &found, error);
	ok = ok && get_string(bus, path, UNIT_INTERFACE, "ActiveState", &found.active_state, error);
	if (ok && found.transient)
		ok = get_words(bus, path, UNIT_INTERFACE, "BindsTo", &found.parents, error) &&
		     get_words(bus, path, SERVICE_INTERFACE, "Environment", &found.environment,
			       error) &&
		     get_command(bus, path, &found.argv, error);
	if (!ok)
		return gbe_prefix(error, "unit %s", unit);
	*ret_found = found;
	found = (GbeFoundUnit){NULL};
	return true;
}

bool
gbe_transient_parent(GbeJobs *jobs, const char *unit, GbeParentUnit *ret_parent, GError **error)
{
	g_auto(GbeParentUnit) parent = {NULL};
	g_autofree char *path = NULL;

	if (!load_unit(jobs->bus, unit, &path, error))
		return false;
	if (!get_string(jobs->bus, path, UNIT_INTERFACE, "LoadState", &parent.load_state, error) ||
	    !get_string(jobs->bus, path, UNIT_INTERFACE, "ActiveState", &parent.active_state,
			error) ||
	    !get_boolean(jobs->bus, path, "DefaultDependencies", &parent.by_default, error))
		return gbe_prefix(error, "unit %s", unit);
	*ret_parent = parent;
	parent = (GbeParentUnit){NULL};
	return true;
}

void
gbe_parent_unit_clear(GbeParentUnit *parent)
{
	g_clear_pointer(&parent->load_state, g_free);
	g_clear_pointer(&parent->active_state, g_free);
}

static int append_value(sd_bus_message *message, GVariant *value);
static int
append_children(sd_bus_message *message, GVariant *value, char kind, const char *contents)
{
	int r = sd_bus_message_open_container(message, kind, contents);

	for (gsize i = 0; r >= 0 && i < g_variant_n_children(value); i++) {
		g_autoptr(GVariant) child = g_variant_get_child_value(value, i);

		r = append_value(message, child);
	}
	return r >= 0 ? sd_bus_message_close_container(message) : r;
}

static int
append_value(sd_bus_message *message, GVariant *value)
{
	const char *type = g_variant_get_type_string(value);
	g_autoptr(GVariant) inner = NULL;
	g_autofree char *contents = NULL;
	int truth;

	switch (*type) {
	case 'b':
		truth = g_variant_get_boolean(value);
		return sd_bus_message_append_basic(message, 'b', &truth);
	case 'u':
	case 'h':
	case 'i':
	case 't':
		return sd_bus_message_append_basic(message, *type, g_variant_get_data(value));
	case 's':
		return sd_bus_message_append_basic(message, 's', g_variant_get_string(value, NULL));
	case 'v':
		inner = g_variant_get_variant(value);
		return append_children(message, value, 'v', g_variant_get_type_string(inner));
	case 'a':
		return append_children(message, value, 'a', type + 1);
	case '(':
		/* A "(sv)" holds "sv". */
		contents = g_strndup(type + 1, strlen(type) - 2);
		return append_children(message, value, 'r', contents);
	default:
		return -EINVAL;
	}
}

bool
gbe_transient_start(GbeJobs *jobs, const char *unit, GVariant *properties, char **ret_job,
		    bool *ret_exists, GError **error)
{
	autoerror sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	autoreply sd_bus_message *call = NULL;
	autoreply sd_bus_message *reply = NULL;
	const char *job = NULL;
	int r;

	r = sd_bus_message_new_method_call(jobs->bus, &call, SYSTEMD_NAME, SYSTEMD_PATH,
					   SYSTEMD_MANAGER, "StartTransientUnit");
	/* "fail": an existing job is kept (a shutdown, or a stop of the parent). */
	if (r >= 0)
		r = sd_bus_message_append(call, "ss", unit, "fail");
	if (r >= 0)
		r = append_value(call, properties);
	if (r >= 0)
		r = sd_bus_message_append(call, "a(sa(sv))", 0);
	if (r >= 0)
		r = sd_bus_call(jobs->bus, call, 0, &bus_error, &reply);
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &job);
	*ret_exists =
	    r < 0 && sd_bus_error_has_name(&bus_error, "org.freedesktop.systemd1.UnitExists");
	if (r < 0)
		return throw_bus(error, r, &bus_error, "cannot start %s", unit);
	*ret_job = g_strdup(job);
	return true;
}

void
gbe_transient_forget(GbeJobs *jobs, const char *unit)
{
	/* An error means that the unit is not failed, or is gone: both are fine. */
	(void)sd_bus_call_method(jobs->bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
				 "ResetFailedUnit", NULL, NULL, "s", unit);
}
