/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/greenboot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/deployment.h"
#include "fs/open.h"
#include "sys/enabled.h"

#define HEALTHCHECK "greenboot-healthcheck.service"
#define CONFIG "/etc/greenboot/greenboot.conf"
#define MAX_CONFIG (64 * 1024)
#define DEFAULT_ATTEMPTS 3
#define MOST_ATTEMPTS 1000

#define HEADER "# GRUB Environment Block\n"
/* GRUB makes 1024 bytes; larger files are legal. */
#define MAX_GRUBENV (64 * 1024)
static const char *const grubenvs[] = {"/boot/grub2/grubenv", "/boot/grub/grubenv"};

/* Copies the bytes from @from to @to without escapes: the byte after a backslash, also a newline or a backslash,
 * belongs to the value. NULL where a byte cannot be in a C string. */
static char *
unescape_value(const char *from, const char *to)
{
	GString *value = g_string_sized_new((gsize)(to - from));

	for (; from < to; from++) {
		if (*from == '\\' && from + 1 < to)
			from++;
		if (*from == '\0') {
			(void)g_string_free(value, true);
			return NULL;
		}
		g_string_append_c(value, *from);
	}
	return g_string_free(value, false);
}

bool
gbe_grubenv_parse(const char *bytes, gsize size, GHashTable **ret_table, GError **error)
{
	g_autoptr(GHashTable) table = NULL;
	const char *end = bytes + size;
	const char *at = bytes + strlen(HEADER);

	if (size < strlen(HEADER) || memcmp(bytes, HEADER, strlen(HEADER)) != 0)
		return gbe_throw(
		    error, GBE_ERROR_CORRUPT,
		    "this is no GRUB environment block: its first line is not \"%.*s\"",
		    (int)strlen(HEADER) - 1, HEADER);
	table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	while (at < end) {
		const char *stop = at, *equals;
		char *value;

		/* The first newline without a backslash before it ends a line, the first newline a comment. */
		if (*at == '#')
			stop = memchr(at, '\n', (gsize)(end - at));
		else
			while (stop < end && *stop != '\n')
				stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
		/* Padding, or a line that was cut off, which GRUB does not take either. */
		if (stop == NULL || stop >= end)
			break;
		equals = *at == '#' ? NULL : memchr(at, '=', (gsize)(stop - at));
		if (equals != NULL && equals > at &&
		    memchr(at, '\0', (gsize)(equals - at)) == NULL) {
			value = unescape_value(equals + 1, stop);
			if (value != NULL)
				(void)g_hash_table_replace(
				    table, g_strndup(at, (gsize)(equals - at)), value);
		}
		at = stop + 1;
	}
	*ret_table = g_steal_pointer(&table);
	return true;
}

bool
gbe_grubenv_read(int root_fd, GHashTable **ret_table, GError **error)
{
	for (gsize i = 0; i < G_N_ELEMENTS(grubenvs); i++) {
		g_autoptr(GError) local = NULL;
		g_autofree char *bytes = NULL;
		gsize size = 0;

		if (!gbe_read_in_root(root_fd, grubenvs[i], MAX_GRUBENV, &bytes, &size, &local)) {
			if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
				continue;
			return gbe_pass(error, &local);
		}
		if (!gbe_grubenv_parse(bytes, size, ret_table, error))
			return gbe_prefix(error, "%s", grubenvs[i]);
		return true;
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no GRUB environment block (%s)",
			 grubenvs[0]);
}

#define MAX_GRUB_CONFIG ((gsize)1024 * 1024)

/* Every version of the snippet counts with COUNTER. A configuration with a menu is no mere pointer to another file. */
#define COUNTER "boot_counter"
static const char *const menus[] = {"blscfg", "menuentry"};

static bool
mentions(const char *bytes, gsize size, const char *word)
{
	return memmem(bytes, size, word, strlen(word)) != NULL;
}

GbeTri
gbe_grub_counts(int root_fd)
{
	/* The generated file, and the files that it reads for people. */
	static const char *const paths[] = {
	    "/boot/grub2/grub.cfg", "/boot/grub2/custom.cfg", "/boot/grub2/user.cfg",
	    "/boot/grub/grub.cfg",  "/boot/grub/custom.cfg",
	};
	GbeTri counts = GBE_UNKNOWN;

	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree char *bytes = NULL;
		gsize size = 0;

		if (!gbe_read_in_root(root_fd, paths[i], MAX_GRUB_CONFIG, &bytes, &size, NULL))
			continue;
		if (mentions(bytes, size, COUNTER))
			return GBE_YES;
		for (gsize j = 0; j < G_N_ELEMENTS(menus); j++)
			if (mentions(bytes, size, menus[j]))
				counts = GBE_NO;
	}
	return counts;
}

/* The shell version is recognized by files that the Rust version lacks. *ret_known is false where one of them cannot be
 * looked at. */
static GbeGreenbootFlavour
find_flavour(int root_fd, bool *ret_known)
{
	static const struct {
		const char *path;
		GbeGreenbootFlavour flavour;
	} marks[] = {
	    {"/usr/libexec/greenboot/redboot-auto-reboot", GBE_GREENBOOT_SHELL},
	    {"/usr/lib/systemd/system/redboot.target", GBE_GREENBOOT_SHELL},
	    {"/etc/systemd/system/redboot.target", GBE_GREENBOOT_SHELL},
	    {"/usr/libexec/greenboot/greenboot", GBE_GREENBOOT_RUST},
	};

	*ret_known = true;
	for (gsize i = 0; i < G_N_ELEMENTS(marks); i++) {
		GbeTri there = gbe_is_in_root(root_fd, marks[i].path);

		if (there == GBE_YES)
			return marks[i].flavour;
		*ret_known = *ret_known && there == GBE_NO;
	}
	return GBE_GREENBOOT_NONE;
}

/* The last GREENBOOT_MAX_BOOT_ATTEMPTS=N. bash or an INI reader reads the file; both take a plain assignment, with
 * or without quotes. */
static guint
read_max_attempts(int root_fd)
{
	static const char key[] = "GREENBOOT_MAX_BOOT_ATTEMPTS";
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint attempts = DEFAULT_ATTEMPTS;
	gsize size = 0;

	if (!gbe_read_in_root(root_fd, CONFIG, MAX_CONFIG, &text, &size, NULL))
		return attempts;
	lines = g_strsplit(text, "\n", -1);
	for (gsize i = 0; lines[i] != NULL; i++) {
		char *line = g_strstrip(lines[i]);
		guint64 number = 0;
		char *value;
		gsize length;

		if (!g_str_has_prefix(line, key))
			continue;
		value = line + strlen(key);
		value += strspn(value, " \t");
		if (*value != '=')
			continue;
		value = g_strstrip(value + 1);
		length = strlen(value);
		if (length >= 2 && (*value == '"' || *value == '\'') &&
		    value[length - 1] == *value) {
			value[length - 1] = '\0';
			value++;
		}
		if (g_ascii_string_to_unsigned(value, 10, 0, MOST_ATTEMPTS, &number, NULL))
			attempts = (guint)number;
	}
	return attempts;
}

/* GRUB cannot write to a file on btrfs: there it boots the same entry for ever. */
static GbeTri
boot_can_be_written_by_grub(int root_fd)
{
	for (gsize i = 0; i < G_N_ELEMENTS(grubenvs); i++) {
		gbe_autofd int fd = -1;
		struct statfs fs;

		if (!gbe_open_in_root(root_fd, grubenvs[i], O_RDONLY | O_NONBLOCK, &fd, NULL))
			continue;
		if (fstatfs(fd, &fs) < 0)
			return GBE_UNKNOWN;
		return gbe_tri(fs.f_type != BTRFS_SUPER_MAGIC);
	}
	return GBE_UNKNOWN;
}

static void
cannot_count(GbeGreenboot *greenboot, const char *why)
{
	greenboot->can_count = GBE_NO;
	greenboot->count_why = why;
}

static void
read_variables(GbeGreenboot *greenboot, int root_fd)
{
	g_autoptr(GHashTable) table = NULL;
	g_autoptr(GError) local = NULL;
	const char *counter, *trigger, *next;

	if (!gbe_grubenv_read(root_fd, &table, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			greenboot->grubenv = GBE_NO;
			cannot_count(greenboot,
				     "GRUB's environment block (/boot/grub2/grubenv) is missing");
		} else if (g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT)) {
			/* Its content is unknown, and GRUB cannot use it, either. */
			cannot_count(greenboot,
				     "GRUB's environment block (/boot/grub2/grubenv) is damaged");
		}
		return;
	}
	greenboot->grubenv = GBE_YES;
	greenboot->can_count = boot_can_be_written_by_grub(root_fd);
	if (greenboot->can_count == GBE_NO)
		greenboot->count_why = "GRUB cannot write its environment block on btrfs";
	else if (gbe_grub_counts(root_fd) == GBE_NO)
		greenboot->count_why = "grub.cfg does not have greenboot's snippet";
	counter = g_hash_table_lookup(table, "boot_counter");
	trigger = g_hash_table_lookup(table, "greenboot_rollback_trigger");
	next = g_hash_table_lookup(table, "greenboot_next_deployment_id");
	/* GRUB does not count with a counter that is no number. */
	greenboot->has_counter =
	    counter != NULL && g_ascii_string_to_signed(counter, 10, G_MININT32, G_MAXINT32,
							&greenboot->boot_counter, NULL);
	if (!greenboot->has_counter)
		greenboot->boot_counter = 0;
	if (next != NULL && *next != '\0' && g_str_is_ascii(next))
		greenboot->next_deployment = g_strdup(next);
	greenboot->trigger = g_strcmp0(trigger, "1") == 0 || greenboot->next_deployment != NULL;
}

/* The shell version sets the counter at staging, so that GRUB has counted once when the trial's first boot reads
 * it. The Rust version sets it in the first boot that failed: that boot sees no counter, or, once it has failed,
 * the full one. */
static guint
count_attempt(const GbeGreenboot *greenboot)
{
	gint64 max = greenboot->max_attempts;
	gint64 counter = greenboot->boot_counter;

	if (greenboot->flavour == GBE_GREENBOOT_SHELL)
		return greenboot->has_counter && counter >= 0 && counter < max
			   ? (guint)(max - counter)
			   : 0;
	if (greenboot->flavour != GBE_GREENBOOT_RUST)
		return 0;
	if (!greenboot->has_counter)
		return greenboot->trigger ? 1 : 0;
	return counter >= 0 && counter <= max ? (guint)(max - counter + 1) : 0;
}

static GbeTri
is_rollback_imminent(const GbeGreenboot *greenboot)
{
	if (greenboot->flavour == GBE_GREENBOOT_NONE)
		return greenboot->enabled; /* no, or unknown */
	if (greenboot->grubenv == GBE_UNKNOWN)
		return GBE_UNKNOWN;
	if (!greenboot->has_counter)
		return GBE_NO;
	if (greenboot->flavour == GBE_GREENBOOT_SHELL)
		return gbe_tri(greenboot->boot_counter == 0);
	return gbe_tri(greenboot->boot_counter <= 0 && greenboot->trigger);
}

/* Without a counter, the Rust version begins to count in the boot that fails. */
static GbeTri
counts_boots(const GbeGreenboot *greenboot)
{
	if (greenboot->flavour == GBE_GREENBOOT_NONE)
		return greenboot->enabled;
	if (greenboot->can_count == GBE_NO)
		return GBE_NO;
	if (greenboot->grubenv == GBE_UNKNOWN)
		return GBE_UNKNOWN;
	if (greenboot->has_counter)
		return gbe_tri(greenboot->boot_counter >= 0);
	return gbe_tri(greenboot->flavour == GBE_GREENBOOT_RUST && greenboot->trigger);
}

/* The units without which a failed boot brings no other system back, though greenboot judges it. */
static void
look_at_units(GbeGreenboot *greenboot, int root_fd)
{
	static const struct {
		GbeGreenbootFlavour flavour;
		const char *unit, *why;
	} needed[] = {
	    {GBE_GREENBOOT_SHELL, "greenboot-grub2-set-counter.service",
	     "greenboot-grub2-set-counter.service is not enabled"},
	    {GBE_GREENBOOT_SHELL, "redboot-auto-reboot.service",
	     "redboot-auto-reboot.service is not enabled"},
	    {GBE_GREENBOOT_RUST, "greenboot-set-rollback-trigger.service",
	     "greenboot-set-rollback-trigger.service is not enabled"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(needed); i++) {
		g_autofree char *why = NULL;
		GbeTri enabled;

		if (needed[i].flavour != greenboot->flavour || greenboot->can_count == GBE_NO)
			continue;
		enabled = gbe_unit_enabled(root_fd, needed[i].unit, &why);
		if (enabled == GBE_NO)
			cannot_count(greenboot, needed[i].why);
		else if (enabled == GBE_UNKNOWN)
			greenboot->can_count = GBE_UNKNOWN;
	}
}

GbeGreenboot *
gbe_greenboot_load(int root_fd)
{
	GbeGreenboot *greenboot = g_new0(GbeGreenboot, 1);
	bool known, ended;

	greenboot->flavour = find_flavour(root_fd, &known);
	if (greenboot->flavour != GBE_GREENBOOT_NONE) {
		greenboot->enabled =
		    gbe_unit_enabled(root_fd, HEALTHCHECK, &greenboot->enabled_why);
	} else {
		greenboot->enabled = known ? GBE_NO : GBE_UNKNOWN;
		greenboot->enabled_why = g_strdup(known ? "not installed" : "cannot be read");
	}
	read_variables(greenboot, root_fd);
	greenboot->max_attempts = read_max_attempts(root_fd);
	greenboot->attempt = count_attempt(greenboot);
	greenboot->rollback_imminent = is_rollback_imminent(greenboot);
	ended = greenboot->has_counter && greenboot->boot_counter == -1;
	greenboot->becomes_default = ended && greenboot->flavour == GBE_GREENBOOT_SHELL;
	greenboot->ends_countdown = (greenboot->has_counter && greenboot->boot_counter == 0 &&
				     greenboot->flavour != GBE_GREENBOOT_NONE) ||
				    (ended && greenboot->flavour == GBE_GREENBOOT_RUST);
	greenboot->counts = counts_boots(greenboot);
	look_at_units(greenboot, root_fd);
	return greenboot;
}

void
gbe_greenboot_free(GbeGreenboot *greenboot)
{
	if (greenboot == NULL)
		return;
	g_free(greenboot->enabled_why);
	g_free(greenboot->next_deployment);
	g_free(greenboot);
}

const char *
gbe_greenboot_flavour_to_string(GbeGreenbootFlavour flavour)
{
	switch (flavour) {
	case GBE_GREENBOOT_SHELL:
		return "shell";
	case GBE_GREENBOOT_RUST:
		return "rust";
	case GBE_GREENBOOT_NONE:
		break;
	}
	return "none";
}

GbeTri
gbe_greenboot_next_is(const GbeGreenboot *greenboot, const char *deployment_id)
{
	const char *next = greenboot->next_deployment;
	const char *checksum = NULL;

	if (next == NULL || deployment_id == NULL ||
	    !gbe_deployment_id_parse(deployment_id, NULL, &checksum, NULL))
		return GBE_UNKNOWN;
	if (strlen(next) == GBE_CHECKSUM_LEN &&
	    strspn(next, "0123456789abcdef") == GBE_CHECKSUM_LEN)
		return gbe_tri(strncmp(checksum, next, GBE_CHECKSUM_LEN) == 0);
	if (gbe_deployment_id_parse(next, NULL, NULL, NULL))
		return gbe_tri(strcmp(next, deployment_id) == 0);
	return GBE_UNKNOWN;
}
