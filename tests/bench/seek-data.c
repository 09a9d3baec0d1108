/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* seek-data DIR: how many bytes of the files below it are data, as SEEK_DATA and SEEK_HOLE tell. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static uint64_t sum;

static int
add(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	off_t data, hole = 0;
	int fd;

	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	while ((data = lseek(fd, hole, SEEK_DATA)) >= 0) {
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			break;
		sum += (uint64_t)(hole - data);
	}
	if (errno != ENXIO) {
		(void)close(fd);
		return -1;
	}
	return close(fd);
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	if (nftw(argv[1], add, 16, FTW_PHYS) != 0) {
		perror(argv[1]);
		return 1;
	}
	printf("%" PRIu64 "\n", sum);
	return 0;
}
