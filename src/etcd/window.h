/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file of any size through a window of bounded memory, by pread: what lies there, or as much of it as
 * the file has. Reads ahead where what is asked for follows what was, and not a byte more than asked for
 * elsewhere.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	int fd;		  /* borrowed */
	const char *what; /* for messages; borrowed */
	gsize capacity;	  /* bytes that the window may hold: the most that can be asked for */
	guint8 *bytes;
	guint64 start; /* of what it holds, in the file */
	gsize filled;
	gsize used;   /* bytes of it that were asked for */
	guint64 read; /* bytes read from the file so far */
} GbeWindow;

/* Allocates nothing yet. */
void gbe_window_init(GbeWindow *window, int fd, const char *what, gsize capacity);
void gbe_window_clear(GbeWindow *window);
/* For gbe_window_at() and nobody else. */
bool gbe_window_move(GbeWindow *window, guint64 offset, gsize want, GError **error) GBE_CHECKED;

/* *ret_at: @want bytes at @offset (at most the capacity), *ret_got of them: fewer at the file's end.
 * Valid until the next call. */
static inline GBE_CHECKED bool
gbe_window_at(GbeWindow *window, guint64 offset, gsize want, const guint8 **ret_at, gsize *ret_got,
	      GError **error)
{
	guint64 skip;

	if ((offset < window->start || offset - window->start > window->filled ||
	     window->filled - (offset - window->start) < want) &&
	    !gbe_window_move(window, offset, want, error))
		return false;
	skip = offset - window->start;
	window->used += want;
	*ret_at = window->bytes + skip;
	*ret_got = MIN((gsize)(window->filled - skip), want);
	return true;
}
