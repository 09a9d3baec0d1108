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

static int
open_private(sd_bus **ret_bus)
{
	gbe_autobus sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_address(bus, PRIVATE_SOCKET);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret_bus = bus;
	bus = NULL;
	return 0;
}

bool
gbe_bus_open(guint timeout_ms, sd_bus **ret_bus, GError **error)
{
	gbe_autobus sd_bus *bus = NULL;
	int r;

	if (access(SYSTEMD_RUNS, F_OK) < 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "systemd does not run here (there is no %s)", SYSTEMD_RUNS);
	r = geteuid() == 0 ? open_private(&bus) : -EACCES;
	if (r < 0)
		r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, (guint64)timeout_ms * 1000);
	if (r < 0)
		return gbe_bus_throw(error, r, NULL, "cannot reach systemd over D-Bus");
	*ret_bus = bus;
	bus = NULL;
	return true;
}

/* Only an error that systemd itself sent is an answer. */
static GbeErrorCode
code_of(const sd_bus_error *bus_error)
{
	if (bus_error == NULL || bus_error->name == NULL)
		return GBE_ERROR_CANNOT_TELL;
	if (strcmp(bus_error->name, "org.freedesktop.systemd1.NoSuchUnit") == 0)
		return GBE_ERROR_NOT_FOUND;
	if (g_str_has_prefix(bus_error->name, "org.freedesktop.systemd1.") ||
	    strcmp(bus_error->name, SD_BUS_ERROR_ACCESS_DENIED) == 0 ||
	    strcmp(bus_error->name, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) == 0)
		return GBE_ERROR_FAILED;
	return GBE_ERROR_CANNOT_TELL;
}

bool
gbe_bus_throw(GError **error, int r, const sd_bus_error *bus_error, const char *format, ...)
{
	GbeErrorCode code = code_of(bus_error);
	g_autofree char *text = GBE_VFORMAT(format);
	const char *why = g_strerror(-r);

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

bool
gbe_bus_load_unit(sd_bus *bus, const char *unit, char **ret_path, GError **error)
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
