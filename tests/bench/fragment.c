/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fragment FILE EXTENTS: splits a file into about EXTENTS extents. The file shares its blocks with another one, or lies
 * on btrfs. Single blocks, evenly spread, are rewritten unchanged. Each rewritten block gets a new place and is an
 * extent, and so is each part between two of them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096

int
main(int argc, char **argv)
{
	static unsigned char block[BLOCK];
	struct stat st;
	long count, stride;
	int fd;

	if (argc != 3 || (count = strtol(argv[2], NULL, 10) / 2) <= 0) {
		fprintf(stderr, "usage: %s FILE EXTENTS\n", argv[0]);
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(argv[1]);
		return 1;
	}
	stride = (long)(st.st_size / BLOCK / count);
	if (stride < 2) {
		fprintf(stderr, "%s: too small for %s extents\n", argv[1], argv[2]);
		return 1;
	}
	for (long i = 0; i < count; i++) {
		off_t at = (off_t)(i * stride + stride / 2 + 1) * BLOCK;

		if (at + BLOCK > st.st_size)
			break;
		if (pread(fd, block, sizeof block, at) != (ssize_t)sizeof block ||
		    pwrite(fd, block, sizeof block, at) != (ssize_t)sizeof block) {
			perror(argv[1]);
			return 1;
		}
	}
	if (fsync(fd) < 0 || close(fd) < 0) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
