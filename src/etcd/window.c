/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/window.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alive.h"
#include "fs/open.h"

/* The next request still counts as following when it skips this many bytes. */
#define NEAR (64U * 1024)

#define PROGRESS_STEP (8U * 1024 * 1024)
/* The smallest hole of all but a few rare file systems. */
#define BLOCK ((gsize)4096)

GbeLook
gbe_look_begin(guint seconds)
{
	return (GbeLook){
	    .deadline = seconds > 0 ? g_get_monotonic_time() + seconds * G_USEC_PER_SEC : 0,
	    .holes = GBE_LOOK_HOLES,
	};
}

void
gbe_window_init(GbeWindow *window, int fd, const char *what, gsize capacity, GbeLook *look)
{
	*window = (GbeWindow){.fd = fd, .what = what, .capacity = capacity, .look = look};
}

/* At the first read: does the file have less on the disk than its size says? */
static void
prepare(GbeWindow *window)
{
	struct stat st;

	window->bytes = g_malloc(window->capacity);
	window->sparse = fstat(window->fd, &st) == 0 && st.st_size / 512 > st.st_blocks;
}

static gint64
zeros_in(const guint8 *bytes, gsize size)
{
	gint64 zeros = 0;

	for (gsize at = 0; at < size; at += BLOCK) {
		gsize part = MIN(BLOCK, size - at);

		if (bytes[at] == 0 && memcmp(bytes + at, bytes + at + 1, part - 1) == 0)
			zeros += (gint64)part;
	}
	return zeros;
}

/* Accounts for the @got bytes that were read to @at in the window. */
static bool
spend(const GbeWindow *window, const guint8 *at, gsize got, GError **error)
{
	GbeLook *look = window->look;

	gbe_alive(got);
	if (look == NULL)
		return true;
	look->read += got;
	if (window->sparse)
		look->holes -= zeros_in(at, got);
	if (look->holes < 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "at byte %" G_GUINT64_FORMAT " of %s the %" G_GINT64_FORMAT
				 " MiB of holes that are read were used up",
				 window->start, window->what, GBE_LOOK_HOLES / 1024 / 1024);
	if (look->deadline != 0 && g_get_monotonic_time() > look->deadline)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "at byte %" G_GUINT64_FORMAT " of %s the time for reading was up",
				 window->start, window->what);
	if (look->progress == NULL || look->read - look->said < PROGRESS_STEP)
		return true;
	look->said = look->read;
	return look->progress(look->read, look->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "%s: cancelled", window->what);
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
	gsize size = want, keep = 0, got = 0;

	g_return_val_if_fail(want <= window->capacity, false);
	if (window->bytes == NULL)
		prepare(window);
	/* Read twice as much while most of it is used. */
	if (window->filled > 0 && offset >= window->start && offset <= end + NEAR)
		size = window->used >= window->filled / 2 ? 2 * window->filled : window->filled / 2;
	size = CLAMP(size, want, window->capacity);
	/* The caller wants more than the window has from there on. */
	if (offset >= window->start && offset < end) {
		keep = (gsize)(end - offset);
		memmove(window->bytes, window->bytes + (offset - window->start), keep);
	}
	window->used = 0;
	window->start = offset;
	window->filled = 0;
	if (!gbe_read_at(window->fd, window->bytes + keep, size - keep, offset + keep, &got,
			 window->what, error))
		return false;
	window->filled = keep + got;
	window->read += got;
	return spend(window, window->bytes + keep, got, error);
}
