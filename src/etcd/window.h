/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file of any size through a window of bounded memory, by pread: what lies there, or as much of it as
 * the file has. Reads ahead where what is asked for follows what was, and not a byte more than asked for
 * elsewhere.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* How much of holes one look reads as the zeros that they are: they cost the file's owner nothing. */
#define GBE_LOOK_HOLES ((gint64)1024 * 1024 * 1024)
/* Of a look for a decision, where "unknown" is an answer. */
#define GBE_LOOK_SECONDS 60

/* What a look into one or more files may cost, over all its windows. Beyond that reading ends with
 * GBE_ERROR_CANNOT_TELL. Each byte that is read is a sign of life (base/alive.h), too. */
typedef struct {
	gint64 deadline; /* on g_get_monotonic_time(); 0: none */
	gint64 holes;	 /* bytes of zeros in sparse files that may still be read */
	guint64 read;	 /* bytes so far */
	bool (*progress)(guint64 bytes, gpointer data); /* ->read; false: cancelled; or NULL */
	gpointer progress_data;
	guint64 said;
} GbeLook;

/* From now on; @seconds 0: no deadline. */
GbeLook gbe_look_begin(guint seconds);

typedef struct {
	int fd;		  /* borrowed */
	const char *what; /* for messages; borrowed */
	gsize capacity;	  /* bytes that the window may hold: the most that can be asked for */
	guint8 *bytes;
	guint64 start; /* of what it holds, in the file */
	gsize filled;
	gsize used;    /* bytes of it that were asked for */
	guint64 read;  /* bytes read from the file so far */
	GbeLook *look; /* borrowed; NULL: read it whatever it costs */
	bool sparse;
} GbeWindow;

/* Allocates nothing yet. */
void gbe_window_init(GbeWindow *window, int fd, const char *what, gsize capacity, GbeLook *look);
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
