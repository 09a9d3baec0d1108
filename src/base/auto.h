/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Automatic cleanup beyond GLib's: file descriptors, and the attribute for functions whose result
 * the caller must check. Also the walk over an array of pointers.
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

/* GBE_EACH(const GbeLink *, link, chain) { ... } walks the items of a GPtrArray from the first to the last. NULL has no
 * items. The inner loop runs once and only declares the item, so "break" and "continue" work as in one loop. */
#define GBE_EACH(type, item, array)                                                                \
	for (guint item##_at = 0, item##_ran = 1;                                                  \
	     item##_ran && (array) != NULL && item##_at < (array)->len; item##_at++)               \
		for (type item = (item##_ran = 0, (array)->pdata[item##_at]); !item##_ran;         \
		     item##_ran = 1)
