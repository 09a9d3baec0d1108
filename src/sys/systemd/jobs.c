/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/jobs.h"

#include <string.h>

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

/* On the bus systemd sends signals about jobs only to subscribers; on the private socket to everybody. */
static bool
watch(GbeJobs *jobs, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int r;

	/* The match has no sender, because the private socket has none. */
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
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

bool
gbe_jobs_open(guint timeout_ms, GbeJobs **ret_jobs, GError **error)
{
	g_autoptr(GbeJobs) jobs = g_new0(GbeJobs, 1);

	jobs->results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (!gbe_bus_open(timeout_ms, &jobs->bus, error) || !watch(jobs, error))
		return false;
	*ret_jobs = g_steal_pointer(&jobs);
	return true;
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

static bool
queue_job(GbeJobs *jobs, const char *method, const char *verb, const char *unit, char **ret_job,
	  GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *job = NULL;
	int r;

	r = sd_bus_call_method(jobs->bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
			       method, &bus_error, &reply, "ss", unit, "replace");
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &job);
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot %s %s", verb, unit);
	else
		*ret_job = g_strdup(job);
	sd_bus_message_unref(reply);
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

bool
gbe_jobs_run(GbeJobs *jobs, const char *method, const char *verb, const char *unit,
	     guint timeout_ms, GError **error)
{
	g_autofree char *job = NULL;
	const char *result = NULL;

	if (!queue_job(jobs, method, verb, unit, &job, error))
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
