/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses that TCP is listened at: of etcd's URLs, and of the kernel's table. Pure. */
#pragma once

#include "base/auto.h"

#include <glib.h>

/* "http://[::1]:2379": host "::1", port 2379. False for a socket's path, and where there is no port. *ret_host
 * is newly allocated. */
gboolean gbe_listen_url_parse(const char *url, char **ret_host, guint16 *ret_port);

typedef struct {
	guint8 address[16]; /* in network order; of IPv4 the first 4 */
	gboolean ipv6;
	guint16 port;
	guint64 inode;
} GbeListener;

/* A line of /proc/net/tcp or /proc/net/tcp6 (proc(5)). False where it is no socket that listens. */
gboolean gbe_listener_parse(const char *line, gboolean ipv6, GbeListener *ret_listener);
/* At all addresses? */
gboolean gbe_listener_is_wildcard(const GbeListener *listener);
