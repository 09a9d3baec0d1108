/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/enabled.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config/systems.h"
#include "fs/list.h"
#include "fs/open.h"

#define TEXT_MAX (1024 * 1024)

/* The directories where systemd looks for units; the first with the name wins. /etc is above /run; above both is
 * what a generator makes of systemd.mask= on the kernel command line. */
static const char *const unit_dirs[] = {
    "/run/systemd/generator.early",  "/etc/systemd/system",	"/run/systemd/system",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
};
#define UNIT_DIRS unit_dirs, G_N_ELEMENTS(unit_dirs)

/* Looks at @name below @dir_fd. @path: the directory, for messages. */
static bool
look_at_entry(int dir_fd, const char *path, const char *name, GbeUnitFile *ret_found,
	      GError **error)
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

/* Does a unit in this directory want ours, by an entry of its .wants or .requires directory? A link in a higher
 * directory overrides the one of the same path in a lower directory, so that a vendor's link can be masked. */
static bool
find_wants(int dir_fd, const char *path, const char *unit, GHashTable *decided, bool *wanted,
	   GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (!gbe_list_at(dir_fd, path, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];
		g_autofree char *links = NULL;
		gbe_autofd int fd = -1;
		GbeUnitFile found;

		if (!g_str_has_suffix(name, ".wants") && !g_str_has_suffix(name, ".requires"))
			continue;
		links = g_build_filename(path, name, NULL);
		fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0) {
			if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
				continue;
			return gbe_throw_errno(error, errno, "cannot open %s", links);
		}
		if (!look_at_entry(fd, links, unit, &found, error))
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
		if (!placed && !look_at_entry(fd, unit_dirs[i], unit, &found, &local)) {
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

/* Looks in @count of @dirs. *ret_dir: the directory of the first file of that name; untouched without one. */
static GbeUnitFile
find_file(int root_fd, const char *const *dirs, gsize count, const char *unit, const char **ret_dir)
{
	for (gsize i = 0; i < count; i++) {
		gbe_autofd int fd = -1;
		GbeUnitFile found;

		if (!gbe_open_in_root(root_fd, dirs[i], O_RDONLY | O_DIRECTORY, &fd, NULL) ||
		    !look_at_entry(fd, dirs[i], unit, &found, NULL))
			continue;
		if (found != GBE_UNIT_ABSENT) {
			*ret_dir = dirs[i];
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
	GbeUnitFile found = find_file(root_fd, UNIT_DIRS, unit, &dir);

	if (found != GBE_UNIT_ABSENT || at == NULL || dot == NULL || dot <= at + 1)
		return found;
	template = g_strdup_printf("%.*s%s", (int)(at + 1 - unit), unit, dot);
	return find_file(root_fd, UNIT_DIRS, template, &dir);
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

	if (find_file(root_fd, UNIT_DIRS, unit, &dir) == GBE_UNIT_PRESENT) {
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
	static const struct {
		const char *dir, *suffix;
	} sources[] = {
	    {"/etc/containers/systemd", ".container"},
	    {"/run/containers/systemd", ".container"},
	    {"/usr/share/containers/systemd", ".container"},
	    {"/etc/containers/systemd", ".kube"},
	    {"/run/containers/systemd", ".kube"},
	    {"/usr/share/containers/systemd", ".kube"},
	    {"/etc/init.d", ""},
	};
	int length = (int)(strlen(service) - strlen(".service"));

	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++) {
		g_autofree char *path = g_strdup_printf("%s/%.*s%s", sources[i].dir, length,
							service, sources[i].suffix);

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
	const char *dir = NULL;

	return gbe_unit_file(root_fd, service) != GBE_UNIT_ABSENT ||
	       find_file(root_fd, made, G_N_ELEMENTS(made), service, &dir) != GBE_UNIT_ABSENT ||
	       gbe_unit_is_generated(root_fd, service);
}

static bool
parse_id(const char *text, guint32 *ret_id)
{
	guint64 id;

	if (text == NULL || !g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &id, NULL))
		return false;
	*ret_id = (guint32)id;
	return true;
}

/* The fields of @name's line in passwd(5) or group(5). An image may have its own below /usr/lib (nss-altfiles). */
static char **
look_up_account(int root_fd, const char *file, const char *name)
{
	static const char *const dirs[] = {"/etc/", "/usr/lib/"};

	for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autoptr(GString) text = g_string_new(NULL);
		g_autofree char *path = g_strconcat(dirs[i], file, NULL);
		g_auto(GStrv) lines = NULL;

		gbe_text_append(root_fd, path, text);
		lines = g_strsplit(text->str, "\n", -1);
		for (guint n = 0; lines[n] != NULL; n++) {
			g_auto(GStrv) fields = g_strsplit(lines[n], ":", -1);

			if (g_strcmp0(fields[0], name) == 0 && g_strv_length(fields) >= 4)
				return g_steal_pointer(&fields);
		}
	}
	return NULL;
}

/* The last value of @key; NULL: the key is missing. */
static char *
last_value(const char *text, const char *key)
{
	g_auto(GStrv) values = gbe_unit_values(text, key);
	guint count = g_strv_length(values);

	return count > 0 ? g_strdup(values[count - 1]) : NULL;
}

bool
gbe_unit_owner(int root_fd, const char *unit, uid_t *ret_uid, gid_t *ret_gid)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *user = NULL;
	g_autofree char *group = NULL;
	g_auto(GStrv) of_user = NULL;
	g_auto(GStrv) of_group = NULL;
	guint32 uid, gid;

	gbe_unit_append_text(root_fd, unit, text);
	user = last_value(text->str, "User");
	group = last_value(text->str, "Group");
	if (user == NULL)
		return false;
	of_user = look_up_account(root_fd, "passwd", user);
	of_group = group != NULL ? look_up_account(root_fd, "group", group) : NULL;
	if (!parse_id(of_user != NULL ? of_user[2] : user, &uid))
		return false;
	if (group != NULL ? !parse_id(of_group != NULL ? of_group[2] : group, &gid)
			  : !parse_id(of_user != NULL ? of_user[3] : NULL, &gid))
		gid = uid;
	*ret_uid = uid;
	*ret_gid = gid;
	return true;
}
