/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One call of etcd's JSON gateway over a connection (etcd.md, section 2). */
#pragma once

#include "etcd/connection.h"

/* Longer than any answer that is asked for. */
#define GBE_GATEWAY_MAX (256 * 1024)

/* @path: "/v3/maintenance/status"; @request: JSON. *ret_answer: of HTTP status 200, to be freed with
 * g_string_free(). */
bool gbe_gateway_call(GbeConnection *connection, const char *path, const char *request,
		      gboolean needs_leader, gint64 deadline, GString **ret_answer,
		      GbeCallFailure *ret_failure) GBE_CHECKED;
