/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests in a store of snapshots (store/core/store-request.h), for people who reach the store and not the
 * device. A backup is pushed when the requests are looked at. A restore is prepared then, as a backup that `restore
 * --next-boot` names; prerun carries it out at the next boot.
 */
#pragma once

#include "store/core/store-request.h"
#include "store/snapshots.h"

typedef struct {
	char *name;
	GbeStoreRequestState state;
	GbeStoreRequest request; /* of a waiting one that can be read */
	char *why;		 /* why it is not believed, could not be read, or failed; else
				  * NULL */
	bool is_bad;		 /* of a waiting one: its writer will not improve it */
	bool is_new;		 /* bad, but written just now: the writer may not have finished */
	char *result; /* the pushed snapshot, or the backup that the next boot restores */
} GbeStoredRequest;

/* A request in a directory is believed only when root owns the file and its directory, and no other user can write
 * either, or remove a directory on the path to them. One in a bucket is believed where [store] key is set: the bucket's
 * owner can ask for a restore, and not make up what is restored. */
/* Sorted by name; empty without a directory for requests. *ret_requests: array of GbeStoredRequest. */
bool gbe_store_requests_list(GbeApp *app, const char *store, GPtrArray **ret_requests,
			     GError **error) GBE_CHECKED;
/* Carries out the waiting requests, one by one. *ret_requests: these requests, with their results.
 *
 * Each request is carried out once at most. It is renamed to .taken, durably, before the work begins; after a
 * power cut it stays .taken and is not taken again: its work was done by then, or was not. A file that is no
 * request becomes .bad, once, after its writer had the time to finish it. A file that could not be read keeps
 * waiting. In a bucket, a power cut may leave the request as .taken, too, while it waits. */
bool gbe_store_requests_run(GbeApp *app, const char *store, GPtrArray **ret_requests,
			    GError **error) GBE_CHECKED;
/* Deletes a request in any state. GBE_ERROR_NOT_FOUND. */
bool gbe_store_requests_delete(GbeApp *app, const char *store, const char *name, bool dry_run,
			       GError **error) GBE_CHECKED;
