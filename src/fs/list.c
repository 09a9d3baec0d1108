/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/alive.h"

bool
gbe_list_each_at(int dir_fd, const char *what, GbeListVisit visit, gpointer data, GError **error)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int errsv = errno;

	if (dir == NULL) {
		gbe_close_fd(&fd);
		return gbe_throw_errno(error, errsv, "cannot list %s", what);
	}
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
		if (g_str_equal(entry->d_name, ".") || g_str_equal(entry->d_name, ".."))
			continue;
		visit(entry->d_name, data);
		gbe_alive(1);
	}
	errsv = errno;
	(void)closedir(dir);
	return errsv == 0 || gbe_throw_errno(error, errsv, "cannot list %s", what);
}

typedef struct {
	GPtrArray *names;
	bool too_many;
} Taken;

static void
take_name(const char *name, gpointer data)
{
	Taken *taken = data;

	if (taken->names->len < GBE_LIST_MAX)
		g_ptr_array_add(taken->names, g_strdup(name));
	else
		taken->too_many = true;
}

bool
gbe_list_at(int dir_fd, const char *what, GPtrArray **ret_names, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	Taken taken = {.names = names};

	if (!gbe_list_each_at(dir_fd, what, take_name, &taken, error))
		return false;
	if (taken.too_many)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "cannot list %s: it holds more than %d names", what, GBE_LIST_MAX);
	*ret_names = g_steal_pointer(&names);
	return true;
}

bool
gbe_is_empty_at(int dir_fd, bool *ret_empty, GError **error)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int errsv = errno;

	if (dir == NULL) {
		gbe_close_fd(&fd);
		return gbe_throw_errno(error, errsv, "cannot list the directory");
	}
	do {
		errno = 0;
		entry = readdir(dir);
		errsv = errno;
	} while (entry != NULL &&
		 (g_str_equal(entry->d_name, ".") || g_str_equal(entry->d_name, "..")));
	(void)closedir(dir);
	if (entry == NULL && errsv != 0)
		return gbe_throw_errno(error, errsv, "cannot list the directory");
	*ret_empty = entry == NULL;
	return true;
}
