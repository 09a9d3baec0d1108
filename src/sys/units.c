/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/units.h"

#include <string.h>

#include "sys/bus.h"

#define UNIT_INTERFACE "org.freedesktop.systemd1.Unit"

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

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeUnitState, gbe_unit_state_clear)

/* LoadUnit, not GetUnit: it answers for what is not running as well, with LoadState "not-found" where
 * there is no such unit. */
static bool
load_unit(sd_bus *bus, const char *unit, char **ret_path, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *path = NULL;
	int r;

	r = sd_bus_call_method(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
			       "LoadUnit", &bus_error, &reply, "s", unit);
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot ask systemd for %s", unit);
	else
		*ret_path = g_strdup(path);
	sd_bus_message_unref(reply);
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

/* "Result" belongs to the unit's type; other types than these have none that matters here. */
static const char *
result_interface(const char *unit)
{
	if (g_str_has_suffix(unit, ".service"))
		return "org.freedesktop.systemd1.Service";
	if (g_str_has_suffix(unit, ".scope"))
		return "org.freedesktop.systemd1.Scope";
	return NULL;
}

bool
gbe_unit_query(const char *unit, GbeUnitState *ret_state, GError **error)
{
	gbe_autobus sd_bus *bus = NULL;
	g_auto(GbeUnitState) state = {NULL};
	g_autofree char *path = NULL;
	const char *interface = result_interface(unit);

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, error) || !load_unit(bus, unit, &path, error))
		return false;
	if (!gbe_bus_get_string(bus, path, UNIT_INTERFACE, "LoadState", &state.load_state, error) ||
	    !gbe_bus_get_string(bus, path, UNIT_INTERFACE, "ActiveState", &state.active_state,
				error) ||
	    !gbe_bus_get_string(bus, path, UNIT_INTERFACE, "SubState", &state.sub_state, error) ||
	    !gbe_bus_get_string(bus, path, UNIT_INTERFACE, "UnitFileState", &state.unit_file_state,
				error))
		return gbe_prefix(error, "unit %s", unit);
	if (interface != NULL &&
	    !gbe_bus_get_string(bus, path, interface, "Result", &state.result, error))
		return gbe_prefix(error, "unit %s", unit);
	if (g_str_has_suffix(unit, ".service") &&
	    (!gbe_bus_get_string(bus, path, interface, "Type", &state.type, error) ||
	     !gbe_bus_get_string(bus, path, interface, "Restart", &state.restart, error)))
		return gbe_prefix(error, "unit %s", unit);

	*ret_state = state;
	state = (GbeUnitState){NULL};
	return true;
}

/* What the wait for a job has seen. JobRemoved may come before the call that made the job returns, so
 * all are remembered until the job's path is known. */
typedef struct {
	GHashTable *results; /* job path -> result */
} JobWatch;

static int
on_job_removed(sd_bus_message *message, void *data, sd_bus_error *bus_error)
{
	JobWatch *watch = data;
	const char *path = NULL;
	const char *unit = NULL;
	const char *result = NULL;
	guint32 id = 0;

	if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) >= 0)
		(void)g_hash_table_replace(watch->results, g_strdup(path), g_strdup(result));
	return 0;
}

/* Only those who subscribed are told of jobs on the bus; on the private socket everybody is. */
static bool
watch_jobs(sd_bus *bus, JobWatch *watch, sd_bus_slot **ret_slot, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int r;

	/* No sender in the match: there is none on the private socket. */
	r = sd_bus_match_signal(bus, ret_slot, NULL, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
				"JobRemoved", on_job_removed, watch);
	if (r >= 0)
		r = sd_bus_call_method(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
				       "Subscribe", &bus_error, NULL, NULL);
	if (r < 0 &&
	    sd_bus_error_has_name(&bus_error, "org.freedesktop.systemd1.AlreadySubscribed"))
		r = 0;
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot follow systemd's jobs");
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

static bool
queue_job(sd_bus *bus, const char *method, const char *verb, const char *unit, char **ret_job,
	  GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *job = NULL;
	int r;

	r = sd_bus_call_method(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER, method,
			       &bus_error, &reply, "ss", unit, "replace");
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

static bool
wait_for_job(sd_bus *bus, JobWatch *watch, const char *job, gint64 deadline,
	     const char **ret_result, int *ret_r)
{
	for (;;) {
		gint64 left;
		int r = sd_bus_process(bus, NULL);

		*ret_result = g_hash_table_lookup(watch->results, job);
		if (*ret_result != NULL)
			return true;
		*ret_r = r;
		if (r < 0)
			return false;
		if (r > 0)
			continue;
		left = deadline - g_get_monotonic_time();
		*ret_r = -ETIMEDOUT;
		if (left <= 0)
			return false;
		r = sd_bus_wait(bus, (guint64)left);
		if (r < 0 && r != -EINTR) {
			*ret_r = r;
			return false;
		}
	}
}

static bool
run_job(const char *method, const char *verb, const char *unit, guint timeout_ms, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	g_autoptr(GHashTable) results =
	    g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	JobWatch watch = {results};
	gbe_autobus sd_bus *bus = NULL;
	sd_bus_slot *slot = NULL;
	g_autofree char *job = NULL;
	const char *result = NULL;
	bool ok;
	int r = 0;

	if (!gbe_bus_open(MAX(timeout_ms, 1), &bus, error))
		return false;
	if (!watch_jobs(bus, &watch, &slot, error)) {
		sd_bus_slot_unref(slot);
		return false;
	}
	ok = queue_job(bus, method, verb, unit, &job, error);
	if (ok && !wait_for_job(bus, &watch, job, deadline, &result, &r)) {
		if (r == -ETIMEDOUT)
			ok = gbe_throw(error, GBE_ERROR_FAILED,
				       "cannot %s %s: not done after %u ms; the job goes on, see "
				       "systemctl status %s",
				       verb, unit, timeout_ms, unit);
		else
			ok = gbe_bus_throw(error, r, NULL, "lost systemd while waiting to %s %s",
					   verb, unit);
	}
	if (ok && strcmp(result, "done") != 0 && strcmp(result, "skipped") != 0)
		ok = gbe_throw(
		    error, GBE_ERROR_FAILED,
		    "cannot %s %s: systemd's job ended with \"%s\", see systemctl status %s", verb,
		    unit, result, unit);
	sd_bus_slot_unref(slot);
	return ok;
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
