/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commits DIRECTORY: what was changed on DIRECTORY's file system is committed as soon as it is, until this is killed,
 * as somebody's fsync may at any time. On btrfs without writing out what files hold first, as it does by itself
 * every thirty seconds. DIRECTORY/commits is written elsewhere.
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
commit_btrfs(int dir_fd)
{
	__u64 transaction = 0;

	return ioctl(dir_fd, BTRFS_IOC_START_SYNC, &transaction) == 0 &&
	       (ioctl(dir_fd, BTRFS_IOC_WAIT_SYNC, &transaction) == 0 || errno == EINVAL);
}

/* The log, or the journal, is written up to here. */
static bool
commit_other(int file_fd)
{
	return fchmod(file_fd, 0600) == 0 && fsync(file_fd) == 0;
}

int
main(int argc, char **argv)
{
	int dir_fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int file_fd = -1;
	struct statfs fs;

	if (dir_fd < 0 || fstatfs(dir_fd, &fs) < 0) {
		fprintf(stderr, "commits: %s\n", argc == 2 ? strerror(errno) : "DIRECTORY");
		return 2;
	}
	if (fs.f_type != BTRFS_SUPER_MAGIC)
		file_fd = openat(dir_fd, "commits", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (file_fd >= 0 ? commit_other(file_fd) : commit_btrfs(dir_fd))
		(void)usleep(4000);
	fprintf(stderr, "commits: %s: %s\n", argv[1], strerror(errno));
	return 1;
}
