/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/run.h"

#include <string.h>
#include <unistd.h>

#include "fs/open.h"
#include "sys/systemd/units.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN 36
#define SOFT_REBOOTS "/run/greenboot-etcd/soft-reboots"
#define MAX_SMALL_FILE 4096

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

/* Below --root: reads the count that the tests, or whoever prepared the root, wrote. */
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

bool
gbe_run_read(int root_fd, bool is_root, char **ret_run, GError **error)
{
	g_autofree char *boot = NULL;
	guint count = 0;

	if (!read_boot_id(root_fd, &boot, error))
		return false;
	if (!is_root) {
		if (!read_count_file(root_fd, &count, error))
			return false;
	} else if (access("/run/systemd/system", F_OK) == 0 &&
		   !gbe_manager_soft_reboots(&count, error)) {
		return false;
	}
	*ret_run = count > 0 ? g_strdup_printf("%s+%u", boot, count) : g_steal_pointer(&boot);
	return true;
}
