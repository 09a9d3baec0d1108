/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How far a snapshot that waits in the queue was sent, and why it was not sent: the file GBE_QUEUE_RECORD in its entry
 * (app/state/history.h). Versions since 0.2.1 read each other's files.
 */
#pragma once

#include "base/auto.h"

#include <json-glib/json-glib.h>

typedef struct {
	char *sha256;		  /* of the database, hex; NULL: not known */
	char *stored_sha256;	  /* of the file, where it is encrypted; else NULL */
	gint64 revision, hash_kv; /* of the database; -1: not known */
	char *store;		  /* the depot that ->upload is in; NULL: none yet */
	char *upload;		  /* the server's id of the upload; NULL: none has begun */
	gint64 part_size;	  /* bytes; -1: not known */
	GPtrArray
	    *parts;   /* of char *: the ETags of the parts that were sent, in order; NULL: none */
	char *failed; /* why the last try failed; NULL */
	gint64 failed_at;  /* seconds since the epoch; -1: never */
	bool refused;	   /* the store answered and did not take it, or it is damaged */
	JsonObject *found; /* as it was read, with the keys of other versions; NULL: a new record */
} GbeTransfer;

void gbe_transfer_init(GbeTransfer *transfer);
void gbe_transfer_clear(GbeTransfer *transfer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeTransfer, gbe_transfer_clear)

/* Accepts any bytes: a record that cannot be read is a new one. */
void gbe_transfer_read(const char *bytes, gsize size, GbeTransfer *ret_transfer);
/* Newly allocated. */
char *gbe_transfer_print(const GbeTransfer *transfer);
/* Forgets the parts of another depot, and keeps those of @store. */
void gbe_transfer_begin(GbeTransfer *transfer, const char *store);
