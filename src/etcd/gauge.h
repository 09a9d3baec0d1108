/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A figure of etcd's metrics, where the API does not say it (reference etcd.md, section 1). */
#pragma once

#include "core/tri.h"
#include "etcd/connection.h"

/* 1 while etcd is being defragmented. */
#define GBE_GAUGE_DEFRAG "etcd_disk_defrag_inflight"
/* Bytes: from what size of its database on etcd takes no more writes. */
#define GBE_GAUGE_QUOTA "etcd_server_quota_backend_bytes"

/* One line of a metrics text: is it that of @name, without labels, and with a number of 0 or more? */
bool gbe_gauge_line(const char *name, const char *line, gsize size, double *ret_value);
/* False: it is not said there, or nothing is said at all. Memory does not grow with the answer. */
bool gbe_gauge_ask(const GbeEndpoint *endpoint, const char *name, gint64 deadline,
		   double *ret_value);
/* Is etcd being defragmented at the moment? */
GbeTri gbe_gauge_defragments(const GbeEndpoint *endpoint, gint64 deadline);
