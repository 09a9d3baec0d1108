/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/in-use.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "etcd/layout.h"

/* Another status, or another of our programs, holds the lock only for a moment. The lock counts as etcd's after
 * this time. */
#define TRIES 10
#define BETWEEN_USEC 20000

/* Does a process hold a record lock on the newest segment? The query takes no lock. */
static GbeTri
wal_is_locked(int data_fd, const char *member_path, int wal_dir_fd, GError **error)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	g_autoptr(GError) local = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int fd = -1;

	/* etcd follows a link out of the data directory, and locks the segments that are there. */
	if (!gbe_layout_open_wal(data_fd, member_path, wal_dir_fd, &dir_fd, &local) &&
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_REFUSED) &&
	    gbe_layout_follow_wal(data_fd, member_path, &dir_fd))
		g_clear_error(&local);
	if (dir_fd < 0 || !gbe_layout_newest_wal(dir_fd, &name, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return GBE_NO;
		g_propagate_error(error, g_steal_pointer(&local));
		return GBE_UNKNOWN;
	}
	if (name == NULL)
		return GBE_NO;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	/* etcd's segments are never symlinks or sockets. db has a lock of its own. */
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return GBE_NO;
	/* The segment was purged in between, which only a process with the data open does. */
	if (fd < 0 && errno == ENOENT)
		return GBE_YES;
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) < 0) {
		(void)gbe_throw_errno(error, errno, "cannot ask for the lock on %s", name);
		return GBE_UNKNOWN;
	}
	return gbe_tri(lock.l_type != F_UNLCK);
}

/* A defragmentation replaces db: a lock on the old file would protect nothing. */
static bool
is_still_db(int data_fd, const char *member_path, int fd)
{
	gbe_autofd int again = -1;
	struct stat was;
	struct stat is;

	return gbe_layout_open_db(data_fd, member_path, &again, NULL) && fstat(fd, &was) == 0 &&
	       fstat(again, &is) == 0 && was.st_dev == is.st_dev && was.st_ino == is.st_ino;
}

/* One try. YES: another process has the lock, or the file was replaced. NO: *ret_fd has the lock, or is -1 where
 * there is no db. */
static GbeTri
try_db(int data_fd, const char *member_path, int operation, int *ret_fd, GError **error)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_layout_open_db(data_fd, member_path, &fd, &local)) {
		*ret_fd = -1;
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return GBE_NO;
		g_propagate_error(error, g_steal_pointer(&local));
		return GBE_UNKNOWN;
	}
	if (flock(fd, operation | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return GBE_YES;
		(void)gbe_throw_errno(error, errno, "cannot lock member/snap/db");
		return GBE_UNKNOWN;
	}
	if (!is_still_db(data_fd, member_path, fd))
		return GBE_YES;
	*ret_fd = gbe_steal_fd(&fd);
	return GBE_NO;
}

void
gbe_opened(int data_fd, const char *member_path, int wal_dir_fd, GbeTri *ret_db, GbeTri *ret_log)
{
	gbe_autofd int fd = -1;

	*ret_log = wal_is_locked(data_fd, member_path, wal_dir_fd, NULL);
	*ret_db = try_db(data_fd, member_path, LOCK_SH, &fd, NULL);
}

GbeTri
gbe_in_use(int data_fd, const char *member_path, int wal_dir_fd, int *ret_lock_fd, GError **error)
{
	/* A mere query must not look like etcd to another query. */
	int operation = ret_lock_fd != NULL ? LOCK_EX : LOCK_SH;
	gbe_autofd int db_fd = -1;
	GbeTri wal;
	GbeTri db = GBE_YES;

	for (guint try = 0; db == GBE_YES; try++) {
		wal = wal_is_locked(data_fd, member_path, wal_dir_fd, error);
		if (wal != GBE_NO)
			return wal;
		db = try_db(data_fd, member_path, operation, &db_fd, error);
		if (db == GBE_YES && try + 1 == TRIES)
			return GBE_YES;
		if (db == GBE_YES)
			g_usleep(BETWEEN_USEC);
	}
	if (db != GBE_NO)
		return db;
	/* Check again, now that no etcd can start: etcd takes db's lock before the WAL's. */
	wal = wal_is_locked(data_fd, member_path, wal_dir_fd, error);
	if (wal != GBE_NO)
		return wal;
	if (ret_lock_fd != NULL)
		*ret_lock_fd = gbe_steal_fd(&db_fd);
	return GBE_NO;
}
