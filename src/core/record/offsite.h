/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state's record `stores`: one for each store of snapshots that this device has used. A sealed file
 * (core/json/parse.h), {"stores": {store: record}, "newest": {store: name}}; version 0.2 knows only "newest". If it is
 * lost, the next push and the next proof write it again.
 */
#pragma once

#include "base/auto.h"

#include <json-glib/json-glib.h>

/* Times are seconds since the epoch, -1: never; numbers -1: not known. */
typedef struct {
	char *newest; /* the newest snapshot that this device has pushed, or pulled and proved */

	char *bound; /* the first one that this device pushed with GBE_SNAPSHOT_DEVICE */

	gint64 first_pushed_at; /* also into the queue: since then a proof is missed */
	char *pushed;		/* the last push */
	bool elsewhere; /* it went to a directory on another file system than the device's own */
	gint64 pushed_at, pushed_revision;
	gint64 looked_at;      /* when etcd was last seen to have nothing newer than that */
	gint64 size;	       /* bytes in the store */
	gint64 sent, requests; /* what the push cost */
	gint64 usec;
	char *sha256;	     /* of its database */
	char *stored_sha256; /* of the file in the store */
	gint64 hash_kv;

	char *proved; /* the last one that was read back and found sound */
	gint64 proved_at, proved_revision;
	/* The last one that was not, and why; NULL after a sound one, or a push, that is newer. */
	char *damaged;
	char *damaged_why;

	gint64
	    failed_at; /* the last push that failed, and why; NULL after the next one that did not */
	char *failed_why;
} GbeOffsite;

void gbe_offsite_clear(GbeOffsite *offsite);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeOffsite, gbe_offsite_clear)
/* Unknown members read as in a new record, which @object NULL gives. */
void gbe_offsite_read(JsonObject *object, GbeOffsite *ret_offsite);
/* Members of @object that a later version wrote stay. */
void gbe_offsite_print(const GbeOffsite *offsite, JsonObject *object);
/* When a proof was last made; without any, when the first push was. -1: nothing was pushed. */
gint64 gbe_offsite_since(const GbeOffsite *offsite);
/* Is @time longer ago than @warn seconds (0: never)? A time more than a day ahead of a clock that is set says nothing: the
 * clock was wrong when it was recorded. Then the answer is yes. */
bool gbe_offsite_is_too_old(gint64 time, guint64 warn, gint64 now);
/* The same of gbe_offsite_since(). */
bool gbe_offsite_is_overdue(const GbeOffsite *offsite, guint64 warn, gint64 now);
