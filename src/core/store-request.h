/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A request that somebody laid into a store of snapshots, <store>/requests/<name>.json:
 *
 *	{"request": "backup"}				push a snapshot of etcd as it is
 *	{"request": "restore", "snapshot": NAME}	at the next boot; NAME or "latest"
 *
 * What became of it is in its name: .taken before anything is done, then .done or .failed; .bad where it is
 * none. Nothing leads back, so that none is carried out twice.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_STORE_REQUESTS "requests"
#define GBE_STORE_REQUEST_MAX ((gsize)4096)

typedef enum {
	GBE_STORE_REQUEST_WAITING,
	GBE_STORE_REQUEST_TAKEN, /* under way, or the power went */
	GBE_STORE_REQUEST_DONE,
	GBE_STORE_REQUEST_FAILED,
	GBE_STORE_REQUEST_BAD,
	GBE_STORE_REQUEST_NONE, /* no name of a request */
} GbeStoreRequestState;

const char *gbe_store_request_state_to_string(GbeStoreRequestState state);
/* By the name of the file; *ret_name (may be NULL) is it without what the state adds. Newly allocated. */
GbeStoreRequestState gbe_store_request_state(const char *file, char **ret_name);
/* The file of @name in a state. Newly allocated. */
char *gbe_store_request_file(const char *name, GbeStoreRequestState state);

typedef struct {
	gboolean restore;
	char *snapshot; /* of a restore */
} GbeStoreRequest;

void gbe_store_request_clear(GbeStoreRequest *request);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStoreRequest, gbe_store_request_clear)

/* Any bytes. GBE_ERROR_CORRUPT. */
bool gbe_store_request_parse(const char *bytes, gsize size, GbeStoreRequest *ret_request,
			     GError **error) GBE_CHECKED;
