/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/window.h"

#include <errno.h>
#include <unistd.h>

/* What is asked for next still counts as following when other pages lie between. */
#define NEAR (64U * 1024)

void
gbe_window_init(GbeWindow *window, int fd, const char *what, gsize capacity)
{
	*window = (GbeWindow){.fd = fd, .what = what, .capacity = capacity};
}

void
gbe_window_clear(GbeWindow *window)
{
	g_clear_pointer(&window->bytes, g_free);
	window->filled = 0;
}

bool
gbe_window_move(GbeWindow *window, guint64 offset, gsize want, GError **error)
{
	guint64 end = window->start + window->filled;
	gsize size = want;

	g_return_val_if_fail(want <= window->capacity, false);
	if (window->bytes == NULL)
		window->bytes = g_malloc(window->capacity);
	/* Twice as much as long as most of it is of use. */
	if (window->filled > 0 && offset >= window->start && offset <= end + NEAR)
		size = window->used >= window->filled / 2 ? 2 * window->filled : window->filled / 2;
	size = CLAMP(size, want, window->capacity);
	window->used = 0;
	window->start = offset;
	window->filled = 0;
	while (window->filled < size) {
		ssize_t got = pread(window->fd, window->bytes + window->filled,
				    size - window->filled, (off_t)(offset + window->filled));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gbe_throw_errno(error, errno, "cannot read %s", window->what);
		if (got == 0)
			break;
		window->filled += (gsize)got;
	}
	window->read += window->filled;
	return true;
}
