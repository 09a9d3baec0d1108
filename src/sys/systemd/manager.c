/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/manager.h"

#include <string.h>

#include "sys/systemd/bus.h"

/* Soft reboots, and their count, came with this version of systemd. */
#define FIRST_WITH_SOFT_REBOOTS 254

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
	guint64 version;
	guint32 count = 0;
	bool unknown;
	int r;

	if (!gbe_bus_open(GBE_BUS_TIMEOUT_MS, &bus, error))
		return gbe_prefix(error, "cannot tell how many soft reboots there were");
	r = sd_bus_get_property_trivial(bus, GBE_SYSTEMD_NAME, GBE_SYSTEMD_PATH,
					GBE_SYSTEMD_MANAGER, "SoftRebootsCount", &bus_error, 'u',
					&count);
	unknown = sd_bus_error_has_name(&bus_error, SD_BUS_ERROR_UNKNOWN_PROPERTY);
	if (r < 0 && unknown) {
		version = systemd_version(bus);
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
