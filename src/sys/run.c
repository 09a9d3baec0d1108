/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/run.h"

#include <string.h>
#include <unistd.h>

#include "fs/open.h"
#include "sys/bus.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN 36
#define SOFT_REBOOTS "/run/greenboot-etcd/soft-reboots"
#define MAX_SMALL_FILE 4096
/* Soft reboots came with this version of systemd, and the count of them with it. */
#define FIRST_WITH_SOFT_REBOOTS 254

static bool
read_boot_id(int root_fd, char **ret_id, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	g_autofree char *id = g_malloc(BOOT_ID_LEN + 1);
	gsize size = 0;
	gsize digits = 0;

	if (!gbe_read_in_root(root_fd, BOOT_ID, MAX_SMALL_FILE, &text, &size, &local))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "cannot tell which boot this is: %s",
				 local->message);
	(void)g_strchomp(text);
	for (const char *at = text; *at != '\0' && digits < BOOT_ID_LEN; at++) {
		if (*at == '-')
			continue;
		if (!g_ascii_isxdigit(*at))
			break;
		id[digits++] = g_ascii_tolower(*at);
	}
	id[digits] = '\0';
	if (digits != 32 || strlen(text) != BOOT_ID_LEN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot tell which boot this is: %s does not hold a boot id",
				 BOOT_ID);
	*ret_id = g_steal_pointer(&id);
	return true;
}

/* Below --root: what the tests, or who prepared the root, wrote down. */
static bool
read_count_file(int root_fd, guint *ret_count, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	guint64 count = 0;
	gsize size = 0;

	if (!gbe_read_in_root(root_fd, SOFT_REBOOTS, MAX_SMALL_FILE, &text, &size, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
					 "cannot tell how many soft reboots there were: %s",
					 local->message);
		*ret_count = 0;
		return true;
	}
	(void)g_strchomp(text);
	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT, &count, NULL))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot tell how many soft reboots there were: %s is not a number",
				 SOFT_REBOOTS);
	*ret_count = (guint)count;
	return true;
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

static bool
ask_count(guint *ret_count, GError **error)
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

bool
gbe_run_read(int root_fd, gboolean is_root, char **ret_run, GError **error)
{
	g_autofree char *boot = NULL;
	guint count = 0;

	if (!read_boot_id(root_fd, &boot, error))
		return false;
	if (!is_root) {
		if (!read_count_file(root_fd, &count, error))
			return false;
	} else if (access("/run/systemd/system", F_OK) == 0 && !ask_count(&count, error)) {
		return false;
	}
	*ret_run = count > 0 ? g_strdup_printf("%s+%u", boot, count) : g_steal_pointer(&boot);
	return true;
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
