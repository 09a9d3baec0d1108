/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/open.h"

#include "base/fault.h"
#include "fs/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

char *
gbe_path_to_text(const char *path)
{
	GString *text = g_string_sized_new(strlen(path) + 1);

	for (const char *at = path; *at != '\0';) {
		gunichar c = g_utf8_get_char_validated(at, -1);
		bool valid = c != (gunichar)-1 && c != (gunichar)-2;
		gsize len = valid ? (gsize)(g_utf8_next_char(at) - at) : 1;
		/* U+0080 to U+009F control terminals like the bytes below 0x20. */
		bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);

		if (valid && !control && c != '\\')
			g_string_append_len(text, at, (gssize)len);
		else if (c == '\\')
			g_string_append(text, "\\\\");
		else
			for (gsize i = 0; i < len; i++)
				g_string_append_printf(text, "\\x%02x", (guchar)at[i]);
		at += len;
	}
	return g_string_free(text, false);
}

char *
gbe_path_at_to_text(int dir_fd, const char *name)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", dir_fd);
	g_autofree char *directory = g_file_read_link(link, NULL);
	g_autofree char *path =
	    directory != NULL ? g_build_filename(directory, name, NULL) : g_strdup(name);

	return gbe_path_to_text(path);
}

/* Splits "/a//b/" into "/a//" and "b". Without a slash the parent is ".". GBE_ERROR_USAGE where there is no last
 * name ("/", "..", "/a/."). */
static bool
split_path(const char *path, char **ret_parent, char **ret_name, GError **error)
{
	gsize end = strlen(path);
	gsize start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (start == end || (end - start == 1 && path[start] == '.') ||
	    (end - start == 2 && path[start] == '.' && path[start + 1] == '.')) {
		g_autofree char *text = gbe_path_to_text(path);

		return gbe_throw(error, GBE_ERROR_USAGE, "the path %s has no last name", text);
	}
	*ret_parent = start == 0 ? g_strdup(".") : g_strndup(path, start);
	*ret_name = g_strndup(path + start, end - start);
	return true;
}

bool
gbe_path_normalize(const char *path, const char *what, char **ret_path, GError **error)
{
	g_autofree char *text = gbe_path_to_text(path);
	g_auto(GStrv) names = NULL;
	g_autoptr(GString) folded = g_string_new(NULL);

	if (path[0] != '/')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s: \"%s\" is not an absolute path (it must begin with /)", what,
				 text);
	if (strlen(path) >= PATH_MAX)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: the path is longer than %d bytes",
				 what, PATH_MAX - 1);
	/* Paths are written into JSON records and into one-line messages. */
	for (const char *at = path; *at != '\0'; at++)
		if ((guchar)*at < 0x20 || *at == 0x7f)
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s: \"%s\" holds a control character", what, text);
	if (!g_utf8_validate(path, -1, NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: \"%s\" is not UTF-8", what, text);

	names = g_strsplit(path, "/", -1);
	for (char **name = names; *name != NULL; name++) {
		if (**name == '\0')
			continue;
		if (g_str_equal(*name, ".") || g_str_equal(*name, ".."))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s: \"%s\" holds \"%s\"; write the path without", what,
					 text, *name);
		g_string_append_c(folded, '/');
		g_string_append(folded, *name);
	}
	if (folded->len == 0)
		g_string_append_c(folded, '/');
	*ret_path = g_strdup(folded->str);
	return true;
}

/* The kernel follows as many in one path. */
#define MAX_SYMLINKS 40

char *
gbe_path_resolve(int root_fd, const char *path)
{
	g_autoptr(GString) todo = g_string_new(path);
	g_autoptr(GString) done = g_string_new(NULL);
	guint symlinks = 0;

	while (todo->len > 0) {
		char target[PATH_MAX];
		gsize skip = strspn(todo->str, "/"), len = strcspn(todo->str + skip, "/");
		g_autofree char *name = g_strndup(todo->str + skip, len);
		gsize parent = done->len;
		ssize_t size;

		g_string_erase(todo, 0, (gssize)(skip + len));
		if (len == 0 || g_str_equal(name, "."))
			continue;
		if (g_str_equal(name, "..")) {
			const char *slash = strrchr(done->str, '/');

			g_string_truncate(done, slash != NULL ? (gsize)(slash - done->str) : 0);
			continue;
		}
		g_string_append_printf(done, "/%s", name);
		size = readlinkat(root_fd, done->str + 1, target, sizeof(target) - 1);
		if (size < 0)
			continue;
		if (++symlinks > MAX_SYMLINKS)
			return g_strdup(path);
		target[size] = '\0';
		g_string_truncate(done, target[0] == '/' ? 0 : parent);
		g_string_prepend_c(todo, '/');
		g_string_prepend(todo, target);
	}
	return g_strdup(done->len > 0 ? done->str : "/");
}

/* The way to a path, walked name by name as the kernel would inside the root. */
typedef struct {
	const char *path;
	GArray *fds;   /* of int, O_PATH: the root first, the present directory last */
	GString *todo; /* the rest of the path */
	guint symlinks;
} Way;

static void
close_element(gpointer fd)
{
	gbe_close_fd(fd);
}

static bool
check_owner(const struct stat *st, const char *path, const char *name, GError **error)
{
	bool mine = st->st_uid == 0 || st->st_uid == geteuid();
	bool writable = !S_ISLNK(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
			(st->st_mode & S_ISVTX) == 0;
	g_autofree char *text = NULL;

	if (mine && !writable)
		return true;
	text = gbe_path_to_text(name);
	if (!mine)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "\"%s\" on the way to %s belongs to user %u, who could exchange "
				 "what is below it: chown it to root",
				 text, path, (unsigned)st->st_uid);
	return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
			 "\"%s\" on the way to %s can be written by others than root: chmod go-w "
			 "it",
			 text, path);
}

/* Takes one name of the way; @fd is its descriptor, opened with O_PATH|O_NOFOLLOW. Takes @fd. */
static bool
way_step(Way *way, int *fd, const char *name, GError **error)
{
	struct stat st;

	if (fstat(*fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s on the way to %s", name,
				       way->path);
	if (!check_owner(&st, way->path, name, error))
		return false;
	if (S_ISLNK(st.st_mode)) {
		g_autofree char *target = g_malloc0(PATH_MAX);

		if (++way->symlinks > MAX_SYMLINKS)
			return gbe_throw_errno(error, ELOOP, "cannot resolve %s", way->path);
		if (readlinkat(*fd, "", target, PATH_MAX - 1) < 0)
			return gbe_throw_errno(error, errno, "cannot read the symlink %s", name);
		g_string_prepend_c(way->todo, '/');
		g_string_prepend(way->todo, target);
		if (target[0] == '/')
			g_array_set_size(way->fds, 1);
		return true;
	}
	if (!S_ISDIR(st.st_mode))
		return gbe_throw_errno(error, ENOTDIR, "%s on the way to %s", name, way->path);
	g_array_append_val(way->fds, *fd);
	*fd = -1;
	return true;
}

bool
gbe_check_parents(int root_fd, const char *path, GError **error)
{
	g_autofree char *parent = NULL;
	g_autofree char *last = NULL;
	g_autoptr(GArray) fds = g_array_new(false, false, sizeof(int));
	g_autoptr(GString) todo = g_string_new(NULL);
	Way way = {.path = path, .fds = fds, .todo = todo};
	struct stat st;
	int root = -1;

	g_array_set_clear_func(fds, close_element);
	if (!split_path(path, &parent, &last, error))
		return false;
	root = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return gbe_throw_errno(error, errno, "cannot open /");
	g_array_append_val(fds, root);
	if (fstat(root, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at /");
	if (!check_owner(&st, path, "/", error))
		return false;
	g_string_assign(todo, parent);
	for (;;) {
		gsize skip = strspn(todo->str, "/"), len = strcspn(todo->str + skip, "/");
		g_autofree char *name = g_strndup(todo->str + skip, len);
		gbe_autofd int fd = -1;

		if (len == 0)
			return true;
		g_string_erase(todo, 0, (gssize)(skip + len));
		if (g_str_equal(name, "."))
			continue;
		if (g_str_equal(name, "..")) {
			g_array_set_size(fds, MAX(fds->len - 1, 1));
			continue;
		}
		fd = openat(g_array_index(fds, int, fds->len - 1), name,
			    O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return gbe_throw_errno(error, errno, "cannot open \"%s\" on the way to %s",
					       name, path);
		if (!way_step(&way, &fd, name, error))
			return false;
	}
}

/* openat2() answers EAGAIN when a rename runs at the same time. The limit ends an endless series of renames. */
#define MAX_RACES 64
#define READ_STEP 4096

static bool
throw_open(GError **error, int errsv, const char *path)
{
	g_autofree char *text = gbe_path_to_text(path);

	if (errsv == ENOSYS)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "cannot open %s: this kernel has no openat2(2); 5.9 or newer is "
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

	/* openat2() refuses flags that it would ignore with O_PATH. */
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

GbeTri
gbe_is_in_root(int root_fd, const char *path)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	if (gbe_open_in_root(root_fd, path, O_PATH, &fd, &error))
		return GBE_YES;
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND) ? GBE_NO : GBE_UNKNOWN;
}

bool
gbe_open_parent_in_root(int root_fd, const char *path, int *ret_parent_fd, char **ret_name,
			GError **error)
{
	g_autofree char *parent = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int fd = -1;

	if (!split_path(path, &parent, &name, error) ||
	    !gbe_open_in_root(root_fd, parent, O_RDONLY | O_DIRECTORY, &fd, error))
		return false;
	*ret_parent_fd = gbe_steal_fd(&fd);
	*ret_name = g_steal_pointer(&name);
	return true;
}

bool
gbe_is_there_at(int dir_fd, const char *name, bool *ret_there, GError **error)
{
	g_autofree char *text = NULL;

	*ret_there = dir_fd >= 0 && faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (*ret_there || dir_fd < 0 || errno == ENOENT)
		return true;
	text = gbe_path_to_text(name);
	return gbe_throw_errno(error, errno, "look for %s", text);
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

/* Makes the last directory of @path and opens it. Another process may have made it meanwhile. */
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
	/* The umask removed bits. */
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
		/* Files of /proc report size 0, and a file can grow during the read. */
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

bool
gbe_read_at(int fd, void *buffer, gsize size, guint64 offset, gsize *ret_got, const char *what,
	    GError **error)
{
	gsize sum = 0;

	while (sum < size) {
		ssize_t got = pread(fd, (guint8 *)buffer + sum, size - sum, (off_t)(offset + sum));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gbe_throw_errno(error, errno, "cannot read %s", what);
		if (got == 0)
			break;
		sum += (gsize)got;
	}
	*ret_got = sum;
	return true;
}

bool
gbe_is_named_at(int fd, int dir_fd, const char *name)
{
	struct stat st, named;

	return fstat(fd, &st) == 0 && fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == named.st_dev && st.st_ino == named.st_ino;
}
