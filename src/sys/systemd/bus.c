/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/bus.h"

#include <string.h>
#include <unistd.h>

#include "base/format.h"

#define PRIVATE_SOCKET "unix:path=/run/systemd/private"
#define SYSTEMD_RUNS "/run/systemd/system"

void
gbe_bus_close(sd_bus **bus)
{
	*bus = sd_bus_flush_close_unref(*bus);
}

bool
gbe_bus_open(guint timeout_ms, sd_bus **ret_bus, GError **error)
{
	gbe_autobus sd_bus *bus = NULL;
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
			gbe_bus_close(&bus);
	}
	if (r < 0)
		r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, (guint64)timeout_ms * 1000);
	if (r < 0)
		return gbe_bus_throw(error, r, NULL, "cannot reach systemd over D-Bus");
	*ret_bus = g_steal_pointer(&bus);
	return true;
}

bool
gbe_bus_throw(GError **error, int r, const sd_bus_error *bus_error, const char *format, ...)
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

bool
gbe_bus_get_string(sd_bus *bus, const char *path, const char *interface, const char *property,
		   char **ret_value, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	char *value = NULL;
	int r;

	r = sd_bus_get_property_string(bus, GBE_SYSTEMD_NAME, path, interface, property, &bus_error,
				       &value);
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot read %s of %s over D-Bus",
				    property, path);
	else
		*ret_value = g_strdup(value);
	sd_bus_error_free(&bus_error);
	free(value);
	return r >= 0;
}

/* Calls a method of systemd's manager with one string or two, which answers with a path of D-Bus. */
static bool
call_for_path(sd_bus *bus, const char *method, const char *verb, const char *unit, const char *mode,
	      char **ret_path, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *path = NULL;
	int r;

	r = sd_bus_call_method(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER, method,
			       &bus_error, &reply, mode != NULL ? "ss" : "s", unit, mode);
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot %s %s", verb, unit);
	else
		*ret_path = g_strdup(path);
	sd_bus_message_unref(reply);
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

bool
gbe_bus_load_unit(sd_bus *bus, const char *unit, char **ret_path, GError **error)
{
	return call_for_path(bus, "LoadUnit", "ask systemd for", unit, NULL, ret_path, error);
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
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int r;

	jobs->results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (!gbe_bus_open(timeout_ms, &jobs->bus, error))
		return false;
	/* The match has no sender, because the private socket has none. On the bus systemd sends signals about jobs
	 * only to subscribers; on the private socket to everybody. */
	r = sd_bus_match_signal(jobs->bus, &jobs->slot, NULL, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
				"JobRemoved", on_job_removed, jobs);
	if (r >= 0)
		r = sd_bus_call_method(jobs->bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH,
				       GBE_SYSTEMD_MANAGER, "Subscribe", &bus_error, NULL, NULL);
	if (r < 0 &&
	    sd_bus_error_has_name(&bus_error, "org.freedesktop.systemd1.AlreadySubscribed"))
		r = 0;
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot follow systemd's jobs");
	else
		*ret_jobs = g_steal_pointer(&jobs);
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

void
gbe_jobs_free(GbeJobs *jobs)
{
	if (jobs == NULL)
		return;
	jobs->slot = sd_bus_slot_unref(jobs->slot);
	gbe_bus_close(&jobs->bus);
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
			return gbe_bus_throw(error, r, NULL, "lost systemd");
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
				 "cannot %s %s: not done after %u ms; the job goes on, see "
				 "systemctl status %s",
				 verb, unit, timeout_ms, unit);
	if (strcmp(result, "done") != 0 && strcmp(result, "skipped") != 0)
		return gbe_throw(
		    error, GBE_ERROR_FAILED,
		    "cannot %s %s: systemd's job ended with \"%s\", see systemctl status %s", verb,
		    unit, result, unit);
	return true;
}
