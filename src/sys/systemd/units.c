/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/units.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "sys/systemd/bus.h"

#define UNIT_INTERFACE "org.freedesktop.systemd1.Unit"
/* Soft reboots, and their count, came with this version of systemd. */
#define FIRST_WITH_SOFT_REBOOTS 254

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

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, error) ||
	    !gbe_bus_load_unit(bus, unit, &path, error))
		return false;
	for (gsize i = 0; i < G_N_ELEMENTS(asked); i++)
		if (asked[i].interface != NULL &&
		    !gbe_bus_get_string(bus, path, asked[i].interface, asked[i].property,
					asked[i].value, error))
			return gbe_prefix(error, "unit %s", unit);
	*ret_state = state;
	state = (GbeUnitState){NULL};
	return true;
}

GbeTri
gbe_unit_names(const char *unit, const char *property, const char *const *names)
{
	gbe_autobus sd_bus *bus = NULL;
	g_autofree char *path = NULL;
	char **list = NULL;
	GbeTri found = GBE_NO;

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, NULL) ||
	    !gbe_bus_load_unit(bus, unit, &path, NULL) ||
	    sd_bus_get_property_strv(bus, GBE_SYSTEMD_NAME, path, UNIT_INTERFACE, property, NULL,
				     &list) < 0)
		return GBE_UNKNOWN;
	for (char **at = list; at != NULL && *at != NULL; at++) {
		if (g_strv_contains(names, *at))
			found = GBE_YES;
		free(*at);
	}
	free(list);
	return found;
}

/* A number of a service, of 32 bits as @type says. */
static bool
get_number(const char *unit, const char *property, char type, gpointer ret_number)
{
	gbe_autobus sd_bus *bus = NULL;
	g_autofree char *path = NULL;

	return gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, NULL) &&
	       gbe_bus_load_unit(bus, unit, &path, NULL) &&
	       sd_bus_get_property_trivial(bus, GBE_SYSTEMD_NAME, path, result_interface(unit),
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
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	gbe_autobus sd_bus *bus = NULL;
	int r;

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, error))
		return false;
	r = sd_bus_call_method(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
			       "ResetFailedUnit", &bus_error, NULL, "s", unit);
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error, "cannot reset %s", unit);
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

/* "252.39-1~deb12u1", "v256~rc1"; 0 where it cannot be read. */
static guint64
systemd_version(sd_bus *bus)
{
	g_autofree char *text = NULL;
	const char *at;

	if (!gbe_bus_get_string(bus, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER, "Version", &text, NULL))
		return 0;
	at = *text == 'v' ? text + 1 : text;
	return g_ascii_isdigit(*at) ? g_ascii_strtoull(at, NULL, 10) : 0;
}

guint64
gbe_manager_version(void)
{
	gbe_autobus sd_bus *bus = NULL;

	return gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, NULL) ? systemd_version(bus) : 0;
}

bool
gbe_manager_soft_reboots(guint *ret_count, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	gbe_autobus sd_bus *bus = NULL;
	guint32 count = 0;
	int r;

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, error))
		return gbe_prefix(error, "cannot tell how many soft reboots there were");
	r = sd_bus_get_property_trivial(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH,
					GBE_SYSTEMD_MANAGER, "SoftRebootsCount", &bus_error, 'u',
					&count);

	if (r < 0 && sd_bus_error_has_name(&bus_error, SD_BUS_ERROR_UNKNOWN_PROPERTY)) {
		guint64 version = systemd_version(bus);

		if (version > 0 && version < FIRST_WITH_SOFT_REBOOTS)
			r = 0;
	}
	if (r < 0)
		(void)gbe_bus_throw(error, r, &bus_error,
				    "cannot tell how many soft reboots there were");
	else
		*ret_count = count;
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

GbeTri
gbe_system_stopping(void)
{
	gbe_autobus sd_bus *bus = NULL;
	g_autofree char *state = NULL;

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, NULL) ||
	    !gbe_bus_get_string(bus, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER, "SystemState", &state,
				NULL))
		return GBE_UNKNOWN;
	return gbe_tri(strcmp(state, "stopping") == 0);
}
