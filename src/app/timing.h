/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long the engine's steps took and what they wrote: the `timing` of --json. */
#pragma once

#include <glib.h>

typedef struct {
	gint64 total_usec; /* lock taken to name durable, without ->look_usec */
	gint64 clone_usec, verify_usec, sync_usec, publish_usec;
	gint64 look_usec;      /* looking into etcd's files: what it is worth, not how it is kept */
	guint64 bytes_written; /* data bytes really copied */
	guint flushes;	       /* each of which something rests on */
	guint flushes_ahead;   /* none of which anything rests on: fs/flush-ahead.h */
} GbeTiming;
