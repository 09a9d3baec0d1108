/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/transient.h"

#include <stdlib.h>
#include <string.h>
#include <systemd/sd-login.h>

#define UNIT_INTERFACE "org.freedesktop.systemd1.Unit"
#define SERVICE_INTERFACE "org.freedesktop.systemd1.Service"
#define JOB_INTERFACE "org.freedesktop.systemd1.Job"

char *
gbe_own_unit(void)
{
	char *unit = NULL;
	char *copy = NULL;

	if (sd_pid_get_unit(0, &unit) >= 0)
		copy = g_strdup(unit);
	free(unit);
	return copy;
}

static bool
throw_property(GError **error, int r, sd_bus_error *bus_error, const char *property)
{
	(void)gbe_bus_throw(error, r, bus_error, "cannot read %s over D-Bus", property);
	sd_bus_error_free(bus_error);
	return false;
}

static bool
get_boolean(sd_bus *bus, const char *path, const char *property, bool *ret_value, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	int value = 0;
	int r = sd_bus_get_property_trivial(bus, GBE_SYSTEMD_NAME, path, UNIT_INTERFACE, property,
					    &bus_error, 'b', &value);

	if (r < 0)
		return throw_property(error, r, &bus_error, property);
	*ret_value = value != 0;
	return true;
}

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
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	char **words = NULL;
	int r = sd_bus_get_property_strv(bus, GBE_SYSTEMD_NAME, path, interface, property,
					 &bus_error, &words);

	if (r < 0)
		return throw_property(error, r, &bus_error, property);
	*ret_words = take_words(words);
	return true;
}

/* ExecStart is a(sasbttttuii): path, arguments, and the result. Takes the first command's arguments. */
static bool
get_command(sd_bus *bus, const char *path, char ***ret_argv, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *program = NULL;
	char **argv = NULL;
	int r = sd_bus_get_property(bus, GBE_SYSTEMD_NAME, path, SERVICE_INTERFACE, "ExecStart",
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
	sd_bus_message_unref(reply);
	return r >= 0 || throw_property(error, r, &bus_error, "ExecStart");
}

/* A job that ends during the query counts as no job. */
static bool
get_job(sd_bus *bus, const char *path, GbeFoundUnit *found, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *job = NULL;
	guint32 id = 0;
	int r = sd_bus_get_property(bus, GBE_SYSTEMD_NAME, path, UNIT_INTERFACE, "Job", &bus_error,
				    &reply, "(uo)");

	if (r >= 0)
		r = sd_bus_message_read(reply, "(uo)", &id, &job);
	if (r >= 0 && id != 0 &&
	    gbe_bus_get_string(bus, job, JOB_INTERFACE, "JobType", &found->job_type, NULL))
		found->job = g_strdup(job);
	sd_bus_message_unref(reply);
	return r >= 0 || throw_property(error, r, &bus_error, "Job");
}

static bool
get_found(sd_bus *bus, const char *path, GbeFoundUnit *found, GError **error)
{
	if (!gbe_bus_get_string(bus, path, UNIT_INTERFACE, "LoadState", &found->load_state, error))
		return false;
	if (!get_boolean(bus, path, "Transient", &found->transient, error))
		return false;
	if (!get_job(bus, path, found, error))
		return false;
	if (!gbe_bus_get_string(bus, path, UNIT_INTERFACE, "ActiveState", &found->active_state,
				error))
		return false;
	if (!found->transient)
		return true;
	return get_words(bus, path, UNIT_INTERFACE, "BindsTo", &found->parents, error) &&
	       get_words(bus, path, SERVICE_INTERFACE, "Environment", &found->environment, error) &&
	       get_command(bus, path, &found->argv, error);
}

bool
gbe_transient_find(GbeJobs *jobs, const char *unit, GbeFoundUnit *ret_found, GError **error)
{
	g_auto(GbeFoundUnit) found = {NULL};
	g_autofree char *path = NULL;

	if (!gbe_bus_load_unit(jobs->bus, unit, &path, error))
		return false;
	if (!get_found(jobs->bus, path, &found, error))
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

	if (!gbe_bus_load_unit(jobs->bus, unit, &path, error))
		return false;
	if (!gbe_bus_get_string(jobs->bus, path, UNIT_INTERFACE, "LoadState", &parent.load_state,
				error) ||
	    !gbe_bus_get_string(jobs->bus, path, UNIT_INTERFACE, "ActiveState",
				&parent.active_state, error) ||
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
	guint64 number;
	guint32 small;
	gint32 signed_small;
	int truth;

	switch (*type) {
	case 'b':
		truth = g_variant_get_boolean(value);
		return sd_bus_message_append_basic(message, 'b', &truth);
	case 'u':
		small = g_variant_get_uint32(value);
		return sd_bus_message_append_basic(message, 'u', &small);
	case 'h':
		signed_small = g_variant_get_handle(value);
		return sd_bus_message_append_basic(message, 'h', &signed_small);
	case 'i':
		signed_small = g_variant_get_int32(value);
		return sd_bus_message_append_basic(message, 'i', &signed_small);
	case 't':
		number = g_variant_get_uint64(value);
		return sd_bus_message_append_basic(message, 't', &number);
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
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	sd_bus_message *call = NULL;
	sd_bus_message *reply = NULL;
	const char *job = NULL;
	int r;

	r = sd_bus_message_new_method_call(jobs->bus, &call, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH,
					   GBE_SYSTEMD_MANAGER, "StartTransientUnit");
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
		(void)gbe_bus_throw(error, r, &bus_error, "cannot start %s", unit);
	else
		*ret_job = g_strdup(job);
	sd_bus_message_unref(call);
	sd_bus_message_unref(reply);
	sd_bus_error_free(&bus_error);
	return r >= 0;
}

void
gbe_transient_forget(GbeJobs *jobs, const char *unit)
{
	/* An error means that the unit is not failed, or is gone: both are fine. */
	(void)sd_bus_call_method(jobs->bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH, GBE_SYSTEMD_MANAGER,
				 "ResetFailedUnit", NULL, NULL, "s", unit);
}
