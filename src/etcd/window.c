/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/window.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alive.h"
#include "base/crc32c.h"
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

/* Accounts for the @got bytes that were read to @bytes in the window. */
static bool
spend_bytes(const GbeWindow *window, const guint8 *bytes, gsize got, GError **error)
{
	GbeLook *look = window->look;

	gbe_alive(got);
	if (look == NULL)
		return true;
	look->read += got;
	for (gsize at = 0; at < got && window->sparse; at += BLOCK) {
		gsize part = MIN(BLOCK, got - at);

		if (bytes[at] == 0 && memcmp(bytes + at, bytes + at + 1, part - 1) == 0)
			look->holes -= (gint64)part;
	}
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
	struct stat st;

	g_return_val_if_fail(want <= window->capacity, false);
	if (window->bytes == NULL) {
		window->bytes = g_malloc(window->capacity);
		/* Does the file have less on the disk than its size says? */
		window->sparse = fstat(window->fd, &st) == 0 && st.st_size / 512 > st.st_blocks;
	}
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
	return spend_bytes(window, window->bytes + keep, got, error);
}

bool
gbe_window_crc32c(GbeWindow *window, guint64 from, guint64 to, guint32 *crc, GError **error)
{
	gsize got = 0;

	for (guint64 at = from; at < to; at += got) {
		const guint8 *bytes = NULL;

		if (!gbe_window_at(window, at, (gsize)MIN(window->capacity, to - at), &bytes, &got,
				   error))
			return false;
		if (got == 0)
			break;
		*crc = gbe_crc32c(*crc, bytes, got);
	}
	return true;
}
