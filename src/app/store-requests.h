/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that lie in a store of snapshots (core/store-request.h): the way in for those who reach the store
 * and not the device. Believed where root owns the file and the directory it is in, and nobody else can write
 * either, or take a directory on the way there away.
 *
 * The safe moment: a backup is pushed when the requests are looked at; a restore is prepared then, as a backup
 * that `restore --next-boot` names, and carried out by prerun at the next boot.
 *
 * Each at most once. It is .taken, durably, before anything is done; a power cut leaves it so, and nobody takes
 * it again: what it asked for has been done by then, or has not. What is no request is .bad, once, and not before its
 * writer had the time to finish it; what could not be read goes on waiting.
 */
#pragma once

#include "app/snapshot-store.h"
#include "core/store-request.h"

typedef struct {
	char *name;
	GbeStoreRequestState state;
	GbeStoreRequest request; /* of a waiting one that can be read */
	char *why;		 /* it is not believed, could not be read, or failed; else NULL */
	gboolean is_bad;	 /* of a waiting one: it never becomes better */
	gboolean is_new;	 /* bad, and written just now: perhaps not to its end */
	char *result; /* the snapshot that was pushed, the backup that the next boot restores */
} GbeStoredRequest;

/* Sorted by name; without a directory for them, none. *ret_requests: array of GbeStoredRequest. */
bool gbe_store_requests_list(GbeApp *app, const char *store, GPtrArray **ret_requests,
			     GError **error) GBE_CHECKED;
/* Carries out those that wait, one by one. *ret_requests: those; what became of each is in it. */
bool gbe_store_requests_run(GbeApp *app, const char *store, GPtrArray **ret_requests,
			    GError **error) GBE_CHECKED;
/* In whatever state. GBE_ERROR_NOT_FOUND. */
bool gbe_store_requests_delete(GbeApp *app, const char *store, const char *name, gboolean dry_run,
			       GError **error) GBE_CHECKED;
