/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GET from etcd, one connection, one deadline over all requests. The only file that knows libcurl. */
#pragma once

#include "etcd/health.h"

#define GBE_HTTP_MAX_BODY (64 * 1024)

/* Why there is no status. */
typedef enum {
	GBE_HTTP_NONE,
	GBE_HTTP_DOWN,	  /* nobody listens, or nobody answers in time */
	GBE_HTTP_DROPPED, /* somebody did, and stopped */
	GBE_HTTP_SILENT,  /* somebody hung up without a word: what a TLS port does to plain HTTP */
	GBE_HTTP_TLS,	  /* certificates, on either side */
	GBE_HTTP_LOCAL,	  /* an endpoint or a file that cannot be used, a name that is not known */
} GbeHttpFailure;

typedef struct {
	long status;
	GString *body;
	GbeHttpFailure failure;
	char *why;
} GbeHttpReply;

void gbe_http_reply_clear(GbeHttpReply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeHttpReply, gbe_http_reply_clear)

typedef struct GbeHttp GbeHttp;

/* False: @ret_reply says why. @endpoint has to outlive it; its deadline begins here. */
bool gbe_http_open(const GbeEndpoint *endpoint, GbeHttp **ret_http, GbeHttpReply *ret_reply);
void gbe_http_close(GbeHttp *http);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHttp, gbe_http_close)
/* True when there is an HTTP status, whichever. @path begins with '/'. */
bool gbe_http_get(GbeHttp *http, const char *path, GbeHttpReply *ret_reply);
