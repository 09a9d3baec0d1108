/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

bool
gbe_list_at(int dir_fd, const char *what, GPtrArray **ret_names, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int errsv = errno;

	if (dir == NULL) {
		gbe_close_fd(&fd);
		return gbe_throw_errno(error, errsv, "cannot list %s", what);
	}
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0)
		if (!g_str_equal(entry->d_name, ".") && !g_str_equal(entry->d_name, ".."))
			g_ptr_array_add(names, g_strdup(entry->d_name));
	errsv = errno;
	(void)closedir(dir);
	if (errsv != 0)
		return gbe_throw_errno(error, errsv, "cannot list %s", what);
	*ret_names = g_steal_pointer(&names);
	return true;
}
