/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests in a store of snapshots (store/core/store-request.h), for people who reach the store but not the device.
 * `store requests run` pushes a requested backup at once. A requested restore is prepared as a backup that `restore
 * --next-boot` names; prerun restores it at the next boot.
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

/* A request in a directory is accepted only if root owns the file and its directory. No other user may be able to write
 * to them or remove a directory on the path. A request in a bucket is accepted only with [store] key: the bucket's
 * owner can then ask for a restore, but cannot forge the snapshot. */
/* Sorted by name; empty without a directory for requests. *ret_requests: array of GbeStoredRequest. */
bool gbe_store_requests_list(GbeApp *app, const char *store, GPtrArray **ret_requests,
			     GError **error) GBE_CHECKED;
/* Does the waiting requests, one by one. *ret_requests: these requests, with their results.
 *
 * Each request is done at most once. Its file is renamed to .taken, durably, before the work begins. After a power
 * cut it stays .taken and is not repeated, whether or not the work was done. A file that is not a request becomes
 * .bad, after its writer had the time to finish. An unreadable file stays queued. In a bucket, a power cut may leave
 * a second copy, .taken, of a request that still waits. */
bool gbe_store_requests_run(GbeApp *app, const char *store, GPtrArray **ret_requests,
			    GError **error) GBE_CHECKED;
/* Deletes a request in any state. GBE_ERROR_NOT_FOUND. */
bool gbe_store_requests_delete(GbeApp *app, const char *store, const char *name, bool dry_run,
			       GError **error) GBE_CHECKED;
