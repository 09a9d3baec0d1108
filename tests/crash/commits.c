/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commits ROOT [DIRECTORY...]: commits each change of ROOT's file system at once, until it is killed. It calls fsync
 * for each DIRECTORY below ROOT that exists, as any process may do at any time. On btrfs it also commits without
 * writing out file content first, as btrfs does every thirty seconds. Elsewhere it calls fsync for a file ROOT/commits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* False, and errno, when it cannot. */
static bool
commit_btrfs(int root_fd)
{
	__u64 transaction = 0;

	return ioctl(root_fd, BTRFS_IOC_START_SYNC, &transaction) == 0 &&
	       (ioctl(root_fd, BTRFS_IOC_WAIT_SYNC, &transaction) == 0 || errno == EINVAL);
}

/* The log, or the journal, is written up to here. */
static bool
commit_other(int file_fd)
{
	return fchmod(file_fd, 0600) == 0 && fsync(file_fd) == 0;
}

static bool
commit_directory(int root_fd, const char *path)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return errno == ENOENT;
	ok = fsync(fd) == 0;
	(void)close(fd);
	return ok;
}

int
main(int argc, char **argv)
{
	int root_fd = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int file_fd = -1, next = 2;
	bool directory = false;
	struct statfs fs;

	if (root_fd < 0 || fstatfs(root_fd, &fs) < 0) {
		fprintf(stderr, "commits: %s\n", argc > 1 ? strerror(errno) : "ROOT");
		return 2;
	}
	if (fs.f_type != BTRFS_SUPER_MAGIC)
		file_fd = openat(root_fd, "commits", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	/* Now all of it, now one of the directories. */
	while (directory      ? commit_directory(root_fd, argv[next])
	       : file_fd >= 0 ? commit_other(file_fd)
			      : commit_btrfs(root_fd)) {
		if (directory)
			next = next + 1 < argc ? next + 1 : 2;
		directory = !directory && argc > 2;
		/* Each of these is a state, also if nothing was changed. btrfs has no commit without a change. */
		(void)usleep(file_fd >= 0 ? 8000 : 2000);
	}
	fprintf(stderr, "commits: %s: %s\n", directory ? argv[next] : argv[1], strerror(errno));
	return 1;
}
