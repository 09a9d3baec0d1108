/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Automatic cleanup beyond GLib's: file descriptors, and the attribute for functions whose result
 * the caller must check.
 */
#pragma once

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <unistd.h>

#define GBE_CHECKED G_GNUC_WARN_UNUSED_RESULT

static inline void
gbe_close_fd(int *fd)
{
	/* A cleanup must not disturb the errno that is about to be reported. */
	int errsv = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = errsv;
}

/* "gbe_autofd int fd = -1;" closes fd at the end of the scope. Hand fd on with gbe_steal_fd(). */
#define gbe_autofd __attribute__((cleanup(gbe_close_fd)))

static inline int
gbe_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}
