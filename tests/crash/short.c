/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded: each write and each copy moves half of the requested bytes, as a file system may at any time. A program that
 * ignores their results loses data.
 */
/* Both names are defined here; one of them would be the other's. */
#undef _FILE_OFFSET_BITS
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static size_t
half(size_t size)
{
	return size > 1 ? size / 2 : size;
}

ssize_t
write(int fd, const void *bytes, size_t size)
{
	return syscall(SYS_write, fd, bytes, fd > STDERR_FILENO ? half(size) : size);
}

ssize_t
pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	return syscall(SYS_pwrite64, fd, bytes, half(size), offset);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
	return syscall(SYS_pwrite64, fd, bytes, half(size), offset);
}

ssize_t
copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t size,
		unsigned int flags)
{
	return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, half(size), flags);
}
