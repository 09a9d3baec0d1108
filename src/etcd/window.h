/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a file of any size through a window of bounded memory, by pread. Reads ahead where a request follows the
 * one before; elsewhere it reads not a byte more than requested.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Bytes of holes that one look reads as zeros. Holes cost the file's owner nothing. */
#define GBE_LOOK_HOLES ((gint64)1024 * 1024 * 1024)
/* For a look of a decision that accepts "unknown". */
#define GBE_LOOK_SECONDS 60

/* Limits the cost of a look into one or more files, over all its windows. Beyond the limit, reading ends with
 * GBE_ERROR_CANNOT_TELL. Each byte read is also a sign of life (base/alive.h). */
typedef struct {
	gint64 deadline; /* on g_get_monotonic_time(); 0: none */
	gint64 holes;	 /* bytes of zeros in sparse files that may still be read */
	guint64 read;	 /* bytes so far */
	/* gets ->read; returning false cancels; or NULL */
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
	guint64 said;
} GbeLook;

/* A look that begins now. @seconds 0: no deadline. */
GbeLook gbe_look_begin(guint seconds);

typedef struct {
	int fd;		  /* borrowed */
	const char *what; /* for messages; borrowed */
	gsize capacity;	  /* bytes that the window may hold: the largest request */
	guint8 *bytes;
	guint64 start; /* byte of the file where the window begins */
	gsize filled;
	gsize used;    /* bytes of the window that were requested */
	guint64 read;  /* bytes read from the file so far */
	GbeLook *look; /* borrowed; NULL: no limit */
	bool sparse;
} GbeWindow;

/* Allocates nothing yet. */
static inline GbeWindow
gbe_window_begin(int fd, const char *what, gsize capacity, GbeLook *look)
{
	return (GbeWindow){.fd = fd, .what = what, .capacity = capacity, .look = look};
}

void gbe_window_clear(GbeWindow *window);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeWindow, gbe_window_clear)
/* Only for gbe_window_at(). */
bool gbe_window_move(GbeWindow *window, guint64 offset, gsize want, GError **error) GBE_CHECKED;

/* *ret_at: @want bytes at @offset (at most the capacity). *ret_got: how many there are, fewer at the file's end.
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

/* Continues *crc over the bytes from @from up to @to, or up to the file's end. */
bool gbe_window_crc32c(GbeWindow *window, guint64 from, guint64 to, guint32 *crc,
		       GError **error) GBE_CHECKED;
