/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fault.h"
#include "fs/sync.h"

/* openat2() answers EAGAIN when a rename ran beside it; somebody who renames for ever ends here. */
#define MAX_RACES 64
#define READ_STEP 4096

static bool
throw_open(GError **error, int errsv, const char *path)
{
	g_autofree char *text = gbe_path_to_text(path);

	if (errsv == ENOSYS)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "cannot open %s: this kernel has no openat2(2); 5.8 or newer is "
				 "needed",
				 text);
	return gbe_throw_errno(error, errsv, "cannot open %s", text);
}

bool
gbe_open_root(const char *dir, int *ret_fd, GError **error)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return throw_open(error, errno, dir);
	*ret_fd = fd;
	return true;
}

static int
openat2_in_root(int root_fd, const char *path, int flags)
{
	struct open_how how = {
	    .flags = (guint64)(unsigned)flags | O_CLOEXEC,
	    .mode = (flags & O_CREAT) != 0 ? 0600 : 0,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	/* openat2() takes no flag beside O_PATH that it would have to ignore. */
	if ((flags & O_PATH) == 0)
		how.flags |= O_NOCTTY;
	for (guint race = 0;; race++) {
		long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || race == MAX_RACES)
			return (int)fd;
	}
}

bool
gbe_open_in_root(int root_fd, const char *path, int flags, int *ret_fd, GError **error)
{
	int fd = openat2_in_root(root_fd, path, flags);

	if (fd < 0)
		return throw_open(error, errno, path);
	*ret_fd = fd;
	return true;
}

bool
gbe_open_parent_in_root(int root_fd, const char *path, int *ret_parent_fd, char **ret_name,
			GError **error)
{
	g_autofree char *parent = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_path_split(path, &parent, &name, error))
		return false;
	if (!gbe_open_in_root(root_fd, parent, O_RDONLY | O_DIRECTORY, &fd, error))
		return false;
	*ret_parent_fd = gbe_steal_fd(&fd);
	*ret_name = g_steal_pointer(&name);
	return true;
}

bool
gbe_open_dir_at(int dir_fd, const char *name, int *ret_fd, GError **error)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = openat(dir_fd, name, flags);
	struct stat st;
	int errsv = errno;

	if (fd >= 0) {
		*ret_fd = fd;
		return true;
	}
	if ((errsv == ENOTDIR || errsv == ELOOP) &&
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
		g_autofree char *text = gbe_path_to_text(name);

		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "%s is a symlink where a directory is needed", text);
	}
	return throw_open(error, errsv, name);
}

/* Makes the last directory of @path and opens it; somebody else may have made it meanwhile. */
static bool
make_dir(int root_fd, const char *path, mode_t mode, int *ret_fd, GError **error)
{
	g_autofree char *name = NULL;
	gbe_autofd int parent_fd = -1;
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_open_parent_in_root(root_fd, path, &parent_fd, &name, error))
		return false;
	if (mkdirat(parent_fd, name, mode) < 0) {
		if (errno == EEXIST)
			return gbe_open_in_root(root_fd, path, O_RDONLY | O_DIRECTORY, ret_fd,
						error);
		return gbe_throw_errno(error, errno, "cannot make the directory %s", path);
	}
	if (GBE_FAULT("open-dir-made", error))
		return false;
	if (!gbe_open_dir_at(parent_fd, name, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	/* The umask took bits away. */
	if ((st.st_mode & 07777) != mode) {
		if (fchmod(fd, mode) < 0)
			return gbe_throw_errno(error, errno, "cannot set the mode of %s", path);
		if (!gbe_sync_dir(fd, path, error))
			return false;
	}
	if (!gbe_sync_dir(parent_fd, path, error))
		return false;
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_make_dirs(int root_fd, const char *path, mode_t mode, int *ret_fd, GError **error)
{
	g_autofree char *folded = g_strdup(path);
	gbe_autofd int fd = openat2_in_root(root_fd, path, O_RDONLY | O_DIRECTORY);
	char *end;

	if (fd >= 0) {
		*ret_fd = gbe_steal_fd(&fd);
		return true;
	}
	if (errno != ENOENT)
		return throw_open(error, errno, path);

	end = folded + strlen(folded);
	while (end > folded && end[-1] == '/')
		*--end = '\0';
	for (char *at = folded; at < end;) {
		bool last;

		at += strspn(at, "/");
		at += strcspn(at, "/");
		last = at >= end;
		*at = '\0';
		gbe_close_fd(&fd);
		fd = openat2_in_root(root_fd, folded, O_RDONLY | O_DIRECTORY);
		if (fd < 0 && errno != ENOENT)
			return throw_open(error, errno, folded);
		if (fd < 0 && !make_dir(root_fd, folded, last ? mode : 0755, &fd, error))
			return false;
		if (!last)
			*at = '/';
	}
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

static bool
read_all(int fd, const char *name, gsize max, char **ret_bytes, gsize *ret_size, GError **error)
{
	g_autofree char *text = gbe_path_to_text(name);
	g_autofree char *bytes = NULL;
	struct stat st;
	gsize size = 0;
	gsize room = 0;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", text);
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is not a regular file", text);
	if (st.st_size > 0 && (guint64)st.st_size > max)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "%s has %" G_GINT64_FORMAT " bytes, more than the %" G_GSIZE_FORMAT
				 " that are read",
				 text, (gint64)st.st_size, max);

	for (;;) {
		ssize_t got;

		if (size == room) {
			room = MAX(room * 2, MAX((gsize)st.st_size + 1, READ_STEP));
			bytes = g_realloc(bytes, room + 1);
		}
		got = read(fd, bytes + size, room - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gbe_throw_errno(error, errno, "cannot read %s", text);
		if (got == 0)
			break;
		size += (gsize)got;
		/* /proc says 0, and a file can grow while it is read. */
		if (size > max)
			return gbe_throw(error, GBE_ERROR_CORRUPT,
					 "%s is longer than the %" G_GSIZE_FORMAT
					 " bytes that are read",
					 text, max);
	}
	bytes[size] = '\0';
	*ret_bytes = g_steal_pointer(&bytes);
	*ret_size = size;
	return true;
}

bool
gbe_read_file_at(int dir_fd, const char *name, gsize max, char **ret_bytes, gsize *ret_size,
		 GError **error)
{
	gbe_autofd int fd =
	    openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 && errno == ELOOP)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is a symlink, not a regular file",
				 name);
	if (fd < 0)
		return throw_open(error, errno, name);
	return read_all(fd, name, max, ret_bytes, ret_size, error);
}

bool
gbe_read_in_root(int root_fd, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
		 GError **error)
{
	gbe_autofd int fd = openat2_in_root(root_fd, path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return throw_open(error, errno, path);
	return read_all(fd, path, max, ret_bytes, ret_size, error);
}
