/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/enabled.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/list.h"
#include "fs/open.h"

#define TEXT_MAX (1024 * 1024)

/* The directories where systemd looks for units; the first with the name wins. /etc is above /run; above both is
 * what a generator makes of systemd.mask= on the kernel command line. */
static const char *const unit_dirs[] = {
    "/run/systemd/generator.early",  "/etc/systemd/system",	"/run/systemd/system",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
};

/* Looks at @name below @dir_fd. @path: the directory, for messages. */
static bool
look_at(int dir_fd, const char *path, const char *name, GbeUnitFile *ret_found, GError **error)
{
	char target[sizeof("/dev/null") + 1] = "";
	struct stat st;
	ssize_t length;

	*ret_found = GBE_UNIT_ABSENT;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ||
		       gbe_throw_errno(error, errno, "cannot look at %s/%s", path, name);
	*ret_found = GBE_UNIT_PRESENT;
	if (S_ISREG(st.st_mode)) {
		if (st.st_size == 0)
			*ret_found = GBE_UNIT_MASKED;
		return true;
	}
	length = readlinkat(dir_fd, name, target, sizeof(target) - 1);
	if (length == (ssize_t)strlen("/dev/null") && memcmp(target, "/dev/null", 9) == 0)
		*ret_found = GBE_UNIT_MASKED;
	return true;
}

/* The kind of @unit's entry in the .wants or .requires directory @name. An entry that is no directory is ignored. */
static bool
look_at_link(int dir_fd, const char *path, const char *name, const char *unit,
	     GbeUnitFile *ret_found, GError **error)
{
	gbe_autofd int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	g_autofree char *links = NULL;

	*ret_found = GBE_UNIT_ABSENT;
	if (fd >= 0) {
		links = g_build_filename(path, name, NULL);
		return look_at(fd, links, unit, ret_found, error);
	}
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
	       gbe_throw_errno(error, errno, "cannot open %s/%s", path, name);
}

/* Does a unit in this directory want ours? A link in a higher directory overrides the one of the same path in a
 * lower directory, so that a vendor's link can be masked, too. */
static bool
find_wants(int dir_fd, const char *path, const char *unit, GHashTable *decided, bool *wanted,
	   GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (!gbe_list_at(dir_fd, path, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];
		GbeUnitFile found;

		if (!g_str_has_suffix(name, ".wants") && !g_str_has_suffix(name, ".requires"))
			continue;
		if (!look_at_link(dir_fd, path, name, unit, &found, error))
			return false;
		if (found != GBE_UNIT_ABSENT && g_hash_table_add(decided, g_strdup(name)))
			*wanted = *wanted || found == GBE_UNIT_PRESENT;
	}
	return true;
}

static void
keep_first(char **text, const GError *error)
{
	if (*text == NULL)
		*text = g_strdup(error->message);
}

GbeTri
gbe_unit_enabled(int root_fd, const char *unit, char **ret_why)
{
	g_autoptr(GHashTable) decided =
	    g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *unreadable = NULL;
	bool placed = false;
	bool wanted = false;

	*ret_why = NULL;
	for (gsize i = 0; i < G_N_ELEMENTS(unit_dirs); i++) {
		g_autoptr(GError) local = NULL;
		gbe_autofd int fd = -1;
		GbeUnitFile found = GBE_UNIT_ABSENT;

		if (!gbe_open_in_root(root_fd, unit_dirs[i], O_RDONLY | O_DIRECTORY, &fd, &local)) {
			if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
				keep_first(&unreadable, local);
			continue;
		}
		if (!placed && !look_at(fd, unit_dirs[i], unit, &found, &local)) {
			keep_first(&unreadable, local);
			continue;
		}
		if (found == GBE_UNIT_MASKED && unreadable == NULL) {
			*ret_why = g_strdup("masked");
			return GBE_NO;
		}
		placed = placed || found == GBE_UNIT_PRESENT;
		if (!find_wants(fd, unit_dirs[i], unit, decided, &wanted, &local))
			keep_first(&unreadable, local);
	}
	if (unreadable != NULL) {
		*ret_why = g_steal_pointer(&unreadable);
		return GBE_UNKNOWN;
	}
	if (wanted && placed)
		return GBE_YES;
	*ret_why = g_strdup(placed ? "not enabled" : "not installed");
	return GBE_NO;
}

/* *ret_dir: where the first of that name is; untouched where there is none. */
static GbeUnitFile
find_file(int root_fd, const char *unit, const char **ret_dir)
{
	for (gsize i = 0; i < G_N_ELEMENTS(unit_dirs); i++) {
		gbe_autofd int fd = -1;
		GbeUnitFile found;

		if (!gbe_open_in_root(root_fd, unit_dirs[i], O_RDONLY | O_DIRECTORY, &fd, NULL) ||
		    !look_at(fd, unit_dirs[i], unit, &found, NULL))
			continue;
		if (found != GBE_UNIT_ABSENT) {
			*ret_dir = unit_dirs[i];
			return found;
		}
	}
	return GBE_UNIT_ABSENT;
}

GbeUnitFile
gbe_unit_file(int root_fd, const char *unit)
{
	const char *at = strchr(unit, '@');
	const char *dot = strrchr(unit, '.');
	const char *dir = NULL;
	g_autofree char *template = NULL;
	GbeUnitFile found = find_file(root_fd, unit, &dir);

	if (found != GBE_UNIT_ABSENT || at == NULL || dot == NULL || dot <= at + 1)
		return found;
	template = g_strdup_printf("%.*s%s", (int)(at + 1 - unit), unit, dot);
	return find_file(root_fd, template, &dir);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
append_file(int root_fd, const char *path, GString *text)
{
	g_autofree char *bytes = NULL;
	gsize size;

	if (gbe_read_in_root(root_fd, path, TEXT_MAX, &bytes, &size, NULL))
		g_string_append_printf(text, "%s\n", bytes);
}

void
gbe_text_append(int root_fd, const char *path, GString *text)
{
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_open_in_root(root_fd, path, O_RDONLY | O_DIRECTORY, &fd, NULL)) {
		append_file(root_fd, path, text);
		return;
	}
	if (!gbe_list_at(fd, path, &names, NULL))
		return;
	g_ptr_array_sort(names, compare_names);
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *file = g_build_filename(path, names->pdata[i], NULL);

		append_file(root_fd, file, text);
	}
}

void
gbe_unit_append_text(int root_fd, const char *unit, GString *text)
{
	const char *dir = NULL;
	g_autofree char *file = NULL;

	if (find_file(root_fd, unit, &dir) == GBE_UNIT_PRESENT) {
		file = g_build_filename(dir, unit, NULL);
		append_file(root_fd, file, text);
	}
	/* The highest directory has the last word. */
	for (gsize i = G_N_ELEMENTS(unit_dirs); i-- > 0;) {
		g_autofree char *dropins = g_strdup_printf("%s/%s.d", unit_dirs[i], unit);

		gbe_text_append(root_fd, dropins, text);
	}
}

/* Looks for the sources: at boot the generators run at the same time. */
bool
gbe_unit_is_generated(int root_fd, const char *service)
{
	static const char *const sources[] = {
	    "/etc/containers/systemd/%.*s.container",
	    "/run/containers/systemd/%.*s.container",
	    "/usr/share/containers/systemd/%.*s.container",
	    "/etc/containers/systemd/%.*s.kube",
	    "/run/containers/systemd/%.*s.kube",
	    "/usr/share/containers/systemd/%.*s.kube",
	    "/etc/init.d/%.*s",
	};
	int length = (int)(strlen(service) - strlen(".service"));

	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++) {
		g_autofree char *path = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		path = g_strdup_printf(sources[i], length, service);
#pragma GCC diagnostic pop
		if (gbe_is_in_root(root_fd, path) == GBE_YES)
			return true;
	}
	return false;
}

bool
gbe_unit_is_known(int root_fd, const char *service)
{
	static const char *const made[] = {
	    "/run/systemd/transient",
	    "/run/systemd/generator",
	    "/run/systemd/generator.late",
	};

	if (gbe_unit_file(root_fd, service) != GBE_UNIT_ABSENT)
		return true;
	for (gsize i = 0; i < G_N_ELEMENTS(made); i++) {
		gbe_autofd int fd = -1;
		GbeUnitFile found;

		if (gbe_open_in_root(root_fd, made[i], O_RDONLY | O_DIRECTORY, &fd, NULL) &&
		    look_at(fd, made[i], service, &found, NULL) && found != GBE_UNIT_ABSENT)
			return true;
	}
	return gbe_unit_is_generated(root_fd, service);
}
