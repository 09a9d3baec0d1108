/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/read.h"

#include <errno.h>
#include <unistd.h>

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
