/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The time that each step of the engine took, and the bytes that it wrote: `timing` of --json. */
#pragma once

#include <glib.h>

typedef struct {
	gint64 total_usec; /* from the lock to the durable name, without ->look_usec */
	gint64 clone_usec, verify_usec, sync_usec, publish_usec;
	gint64 look_usec;      /* looking into etcd's files, to grade the backup */
	guint64 bytes_written; /* bytes of data that were really copied */
	guint flushes;
} GbeTiming;
