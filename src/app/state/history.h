/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record of each store of snapshots that this device has used (core/record/offsite.h). The name of a snapshot is
 * signed (core/record/keyed.h) and grows with each push. An attacker without the key cannot give an old snapshot a
 * newer name. Removing the newer ones makes an old one the latest, and this record shows that. A power cut between a
 * push and its record leaves the record before. A device without the record refuses nothing.
 */
#pragma once

#include "app/device/context.h"
#include "core/record/offsite.h"

/* @store: the identifier of its depot. An unknown store has an empty record. */
bool gbe_history_load(GbeApp *app, const char *store, GbeOffsite *ret_offsite,
		      GError **error) GBE_CHECKED;
/* The same; an unreadable record is also empty, and is reported. */
void gbe_history_read(GbeApp *app, const char *store, GbeOffsite *ret_offsite);
/* Changes the record under the lock, durably. A failure is reported. */
typedef void (*GbeHistoryChange)(GbeOffsite *offsite, gpointer data);
void gbe_history_change(GbeApp *app, const char *store, GbeHistoryChange change, gpointer data);
/* A change: @data is the name of a snapshot that was pushed or proved. */
void gbe_history_note_newest(GbeOffsite *offsite, gpointer data);
/* A change: the data of a push that has come to its end. */
typedef struct {
	const char *name, *sha256, *stored_sha256;
	gint64 revision, hash_kv, size, sent, requests, usec; /* as in GbeOffsite */
	bool elsewhere;
	bool bound; /* it says which device pushed it */
} GbeHistoryPush;
void gbe_history_note_pushed(GbeOffsite *offsite, gpointer data);
/* A change: a snapshot waits in the queue. @data is not used. */
void gbe_history_note_queued(GbeOffsite *offsite, gpointer data);
/* Is @name newer than @known? NULL, and a text that is not a name, are older than all. */
bool gbe_history_is_newer(const char *name, const char *known);
/* The identifier of the configured store, also where it is not there; NULL: none is configured. Newly allocated. */
char *gbe_history_configured(const GbeApp *app);
/* Each directory in the queue is a snapshot that waits, and has its name. This file in it has in JSON how far it was
 * sent. These keys have the reason of the last failure (text) and its time (seconds since the epoch). A snapshot in a
 * store has no such file. */
#define GBE_QUEUE_RECORD "_transfer.json"
#define GBE_QUEUE_FAILED "failed"
#define GBE_QUEUE_FAILED_AT "failed_at"
typedef struct {
	char *name;
	gint64 failed_at; /* seconds since the epoch, -1: never */
	char *failed;	  /* why it could not be sent; NULL */
} GbeWaiting;
/* The snapshots that wait in the queue, of GbeWaiting, the oldest first; empty where it cannot be read. The caller owns
 * it. */
GPtrArray *gbe_history_waiting(GbeApp *app);
