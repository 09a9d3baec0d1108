/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alive.h"

GbeList
gbe_list_open_at(int dir_fd, const char *what)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	GbeList list = {.what = what, .dir = fd < 0 ? NULL : fdopendir(fd)};

	if (list.dir == NULL) {
		list.errsv = errno;
		gbe_close_fd(&fd);
	}
	return list;
}

const char *
gbe_list_next(GbeList *list)
{
	struct dirent *entry;

	if (list->dir == NULL)
		return NULL;
	gbe_alive(1);
	do {
		errno = 0;
		entry = readdir(list->dir);
	} while (entry != NULL &&
		 (g_str_equal(entry->d_name, ".") || g_str_equal(entry->d_name, "..")));
	if (entry == NULL)
		list->errsv = errno;
	return entry != NULL ? entry->d_name : NULL;
}

bool
gbe_list_end(const GbeList *list, GError **error)
{
	return list->errsv == 0 ||
	       gbe_throw_errno(error, list->errsv, "cannot list %s", list->what);
}

void
gbe_list_clear(GbeList *list)
{
	if (list->dir != NULL)
		(void)closedir(list->dir);
	list->dir = NULL;
}

static gint
compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool
gbe_list_at(int dir_fd, const char *what, GPtrArray **ret_names, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_auto(GbeList) list = gbe_list_open_at(dir_fd, what);
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL) {
		if (names->len == GBE_LIST_MAX)
			return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
					 "cannot list %s: it holds more than %d names", what,
					 GBE_LIST_MAX);
		g_ptr_array_add(names, g_strdup(name));
	}
	if (!gbe_list_end(&list, error))
		return false;
	g_ptr_array_sort(names, compare_names);
	*ret_names = g_steal_pointer(&names);
	return true;
}
