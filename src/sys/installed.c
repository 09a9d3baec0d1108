/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/installed.h"

#include <fcntl.h>
#include <string.h>

#include "fs/list.h"
#include "fs/open.h"
#include "sys/enabled.h"
#include "sys/yaml.h"

static bool
is_there(int root_fd, const GbeSystem *system)
{
	GbeUnitFile file = gbe_unit_file(root_fd, system->service);

	return (file == GBE_UNIT_PRESENT ||
		(file == GBE_UNIT_ABSENT && gbe_unit_is_generated(root_fd, system->service))) &&
	       (system->marker == NULL || gbe_is_in_root(root_fd, system->marker) == GBE_YES);
}

/* Adds a value as the argument that the program makes of it. k3s: "key+" adds to a list. */
static void
add_argument(const char *path, const char *value, gpointer data)
{
	gsize length = strlen(path);

	if (g_str_has_suffix(path, "+"))
		length--;
	g_ptr_array_add(
	    data, g_strdup_printf("%s%.*s=%s", length == 1 ? "-" : "--", (int)length, path, value));
}

/* A file that is not there says nothing. */
static bool
read_yaml(int root_fd, const char *path, GPtrArray *arguments, GError **error)
{
	g_autofree char *bytes = NULL;
	g_autoptr(GError) local = NULL;
	gsize size;

	if (!gbe_read_in_root(root_fd, path, GBE_YAML_MAX, &bytes, &size, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	return gbe_yaml_read(bytes, size, path, add_argument, arguments, error);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The file, then those of FILE.d, each of which has the last word on what it sets. */
static bool
read_yamls(int root_fd, const char *path, GPtrArray *arguments, GError **error)
{
	g_autofree char *dir = g_strconcat(path, ".d", NULL);
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int fd = -1;

	if (!read_yaml(root_fd, path, arguments, error))
		return false;
	if (!gbe_open_in_root(root_fd, dir, O_RDONLY | O_DIRECTORY, &fd, NULL))
		return true;
	if (!gbe_list_at(fd, dir, &names, error))
		return false;
	g_ptr_array_sort(names, compare_names);
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *lower = g_ascii_strdown(names->pdata[i], -1);
		g_autofree char *file = g_build_filename(dir, names->pdata[i], NULL);

		if ((g_str_has_suffix(lower, ".yaml") || g_str_has_suffix(lower, ".yml")) &&
		    !read_yaml(root_fd, file, arguments, error))
			return false;
	}
	return true;
}

/* Puts what the configuration file says before the arguments of the command line, as the programs do. */
static bool
read_file(int root_fd, const GbeSystemFile *file, GbeTold *told, GError **error)
{
	g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
	const char *named = gbe_told_value(told, file->flag, file->letter, file->variable);
	const char *path = named != NULL ? named : file->path;

	if (path == NULL)
		return true;
	if (*path != '/')
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "its configuration %s is not an absolute path", path);
	if (!read_yamls(root_fd, path, arguments, error))
		return false;
	if (file->alone) {
		gbe_told_clear(told);
	} else {
		for (guint i = 0; told->arguments != NULL && i < told->arguments->len; i++)
			g_ptr_array_add(arguments, g_strdup(told->arguments->pdata[i]));
	}
	g_clear_pointer(&told->arguments, g_ptr_array_unref);
	told->arguments = g_steal_pointer(&arguments);
	return true;
}

static bool
is_it(int root_fd, const GbeSystem *system, char **ret_why)
{
	g_autoptr(GString) unit = g_string_new(NULL), variables = g_string_new(NULL);
	g_auto(GbeTold) told = {NULL, NULL};
	g_autoptr(GError) error = NULL;
	bool starts, is;

	if (system->program == NULL)
		return true;
	gbe_unit_append_text(root_fd, system->service, unit);
	for (guint i = 0; system->variables != NULL && system->variables[i] != NULL; i++)
		gbe_text_append(root_fd, system->variables[i], variables);
	gbe_told_read(unit->str, variables->str, system->program, &told);
	starts = told.arguments != NULL;
	if (!read_file(root_fd, &system->file, &told, &error)) {
		if (system->application)
			*ret_why = g_strdup(error->message);
		return system->application;
	}
	is = system->is_it(&told, ret_why);
	/* A script in between may say more. */
	if (!is && !starts && system->application && system->unsupported == NULL)
		*ret_why = g_strdup_printf("its unit does not start %s itself", system->program);
	return is || *ret_why != NULL;
}

/* The generator of a container's unit has its own links to the unit, or none. */
static bool
is_enabled(int root_fd, const char *service)
{
	g_autofree char *why = NULL;

	return gbe_unit_file(root_fd, service) == GBE_UNIT_ABSENT ||
	       gbe_unit_enabled(root_fd, service, &why) == GBE_YES;
}

/* A package may bring the unit of a server to a machine that is none. */
static bool
is_unsupported(int root_fd, const GbeSystem *system, char **ret_why)
{
	if (!is_enabled(root_fd, system->service) || !is_it(root_fd, system, ret_why))
		return false;
	if (*ret_why == NULL)
		*ret_why = g_strdup_printf("not supported: %s", system->unsupported);
	return true;
}

guint
gbe_installed_look(int root_fd, GbeInstalled ret_installed[GBE_SYSTEMS_MAX])
{
	guint count = 0;

	for (const GbeSystem *system = gbe_systems; system->name != NULL; system++) {
		GbeInstalled found = {.system = system};

		if ((count > 0 &&
		     g_str_equal(ret_installed[count - 1].system->service, system->service)) ||
		    !is_there(root_fd, system))
			continue;
		if (system->unsupported != NULL ? is_unsupported(root_fd, system, &found.why)
						: is_it(root_fd, system, &found.why))
			ret_installed[count++] = found;
	}
	for (guint i = 0; count > 1 && i < count; i++)
		ret_installed[i].enabled = is_enabled(root_fd, ret_installed[i].system->service);
	return count;
}

void
gbe_installed_clear(GbeInstalled *installed, guint count)
{
	for (guint i = 0; i < count; i++)
		g_clear_pointer(&installed[i].why, g_free);
}
