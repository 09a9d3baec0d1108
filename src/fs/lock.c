/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "fs/open.h"

#define POLL_US 20000
#define HOLDER_MAX 200

struct GbeLock {
	int fd;
};

static bool
open_lock(int dir_fd, const char *name, int *ret_fd, GError **error)
{
	gbe_autofd int fd = openat(
	    dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		int errsv = errno;
		g_autofree char *path = gbe_path_at_to_text(dir_fd, name);

		if (fd >= 0)
			return gbe_throw(error, GBE_ERROR_CORRUPT,
					 "the lock %s is not a regular file; remove it", path);
		return gbe_throw_errno(error, errsv, "cannot open the lock %s", path);
	}
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

static bool
throw_busy(int fd, int dir_fd, const char *name, GError **error)
{
	g_autofree char *path = gbe_path_at_to_text(dir_fd, name);
	char text[HOLDER_MAX + 1] = "";
	g_auto(GStrv) words = NULL;
	g_autofree char *operation = NULL;
	ssize_t got = pread(fd, text, HOLDER_MAX, 0);

	text[MAX(got, 0)] = '\0';
	words = g_strsplit(g_strchomp(text), " ", 2);
	if (g_strv_length(words) < 2)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another operation holds the lock %s; try again when it has ended",
				 path);
	operation = gbe_path_to_text(words[1]);
	return gbe_throw(error, GBE_ERROR_BUSY,
			 "another operation (%s, pid %" G_GUINT64_FORMAT ") holds the lock %s; "
			 "try again when it has ended",
			 operation, g_ascii_strtoull(words[0], NULL, 10), path);
}

bool
gbe_lock_acquire_at(int dir_fd, const char *name, const char *operation, guint timeout_ms,
		    GbeLock **ret_lock, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	g_autofree char *holder = g_strdup_printf("%ld %.150s\n", (long)getpid(), operation);
	gbe_autofd int fd = -1;

	for (;;) {
		gint64 left;

		if (fd < 0 && !open_lock(dir_fd, name, &fd, error))
			return false;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			/* The program never unlinks the file, but a person may have. A lock on a file without a
			 * name excludes no other holder. */
			if (gbe_is_named_at(fd, dir_fd, name))
				break;
			gbe_close_fd(&fd);
			continue;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return gbe_throw_errno(error, errno, "cannot lock %s", name);
		/* Polls, because only a signal could end a blocking wait in time, and a library has no signal of
		 * its own. */
		left = deadline - g_get_monotonic_time();
		if (left <= 0)
			return throw_busy(fd, dir_fd, name, error);
		g_usleep((gulong)MIN(left, POLL_US));
	}
	/* The text is only for messages: a full disk must not refuse the lock. */
	if (ftruncate(fd, 0) == 0 && pwrite(fd, holder, strlen(holder), 0) < 0)
		(void)!ftruncate(fd, 0);
	*ret_lock = g_new0(GbeLock, 1);
	(*ret_lock)->fd = gbe_steal_fd(&fd);
	return true;
}

void
gbe_lock_release(GbeLock *lock)
{
	if (lock == NULL)
		return;
	/* The next waiter must not name a holder that has ended. */
	(void)!ftruncate(lock->fd, 0);
	gbe_close_fd(&lock->fd);
	g_free(lock);
}
