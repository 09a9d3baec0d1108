/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a figure from etcd's metrics that the API does not have (reference etcd.md, section 1). */
#pragma once

#include "core/tri.h"
#include "etcd/api/connection.h"

/* 1 while etcd is being defragmented. */
#define GBE_GAUGE_DEFRAG "etcd_disk_defrag_inflight"
/* Bytes: the size of its database from which on etcd takes no more writes. */
#define GBE_GAUGE_QUOTA "etcd_server_quota_backend_bytes"

/* Is this line of a metrics text the figure @name, without labels, with a number of 0 or more? */
bool gbe_gauge_line(const char *name, const char *line, gsize size, double *ret_value);
/* False: the metrics lack the figure, or etcd does not answer. Memory does not grow with the answer. */
bool gbe_gauge_ask(GbeConnection *connection, const char *name, gint64 deadline, double *ret_value);
/* The same on a connection of its own. */
bool gbe_gauge_ask_apart(const GbeEndpoint *endpoint, const char *name, gint64 deadline,
			 double *ret_value);
/* Does etcd defragment at the moment? */
GbeTri gbe_gauge_defragments(const GbeEndpoint *endpoint, gint64 deadline);
