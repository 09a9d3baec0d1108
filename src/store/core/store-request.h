/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A request that a person put into a store of snapshots, <store>/requests/<name>.json. Its file name has the state:
 * .taken before the work begins, then .done or .failed; .bad if the file is not a request. A busy device returns it
 * from .taken to waiting; otherwise each request is done at most once.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_STORE_REQUEST_MAX ((gsize)4096)

typedef enum {
	GBE_STORE_REQUEST_WAITING,
	GBE_STORE_REQUEST_TAKEN, /* under way, or cut off by a power cut */
	GBE_STORE_REQUEST_DONE,
	GBE_STORE_REQUEST_FAILED,
	GBE_STORE_REQUEST_BAD,
	GBE_STORE_REQUEST_NONE, /* not the name of a request */
} GbeStoreRequestState;

const char *gbe_store_request_state_to_string(GbeStoreRequestState state);
/* The state that the name of a file says. *ret_name (may be NULL) is the name without the state's suffix. Newly
 * allocated. */
GbeStoreRequestState gbe_store_request_state(const char *file, char **ret_name);
/* The file name of the request @name in a state. Newly allocated. */
char *gbe_store_request_file(const char *name, GbeStoreRequestState state);

/*
 *	{"request": "backup"}				push a snapshot of etcd as it is
 *	{"request": "restore", "snapshot": NAME}	at the next boot; NAME or "latest"
 */
typedef struct {
	bool restore;
	char *snapshot; /* of a restore */
} GbeStoreRequest;

void gbe_store_request_clear(GbeStoreRequest *request);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStoreRequest, gbe_store_request_clear)

/* Accepts any bytes. GBE_ERROR_CORRUPT: the bytes are not a request. */
bool gbe_store_request_parse(const char *bytes, gsize size, GbeStoreRequest *ret_request,
			     GError **error) GBE_CHECKED;
