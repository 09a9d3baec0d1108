/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configured endpoint of etcd. The paths of the endpoint's certificates are
 * as this process sees them, and a user's password is read already. */
#pragma once

#include "app/device/context.h"
#include "etcd/api/connection.h"

typedef struct {
	GbeEndpoint endpoint; /* borrows from this struct and from the configuration */
	char *shown;
	char *paths[3];
	char *password, *no_password;
	const char *refused; /* static; NULL: etcd may be asked */
} GbeAppEndpoint;

void gbe_app_endpoint(const GbeApp *app, GbeAppEndpoint *ret_endpoint);
/* When a call that begins now is given up, as [health] request-timeout= says: g_get_monotonic_time()'s. */
gint64 gbe_app_deadline(const GbeApp *app);
void gbe_app_endpoint_clear(GbeAppEndpoint *endpoint);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeAppEndpoint, gbe_app_endpoint_clear)

/* The path of a configured file for a library that opens it: outside of the root, where there is one. If the file
 * cannot be resolved, the path ends with a slash: no file can be opened by such a path, whatever is there later. */
char *gbe_app_real_path(const GbeApp *app, const char *path);
