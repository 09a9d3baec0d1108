/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is etcd defragmenting at the moment? Its metrics say so (etcd.md section 1): etcd_disk_defrag_inflight. */
#pragma once

#include "core/tri.h"
#include "etcd/connection.h"

/* One line of a metrics text. */
GbeTri gbe_defrag_gauge_line(const char *line, gsize size);
/* Unknown: it is not said there, or nothing is said at all. Memory does not grow with the answer. */
GbeTri gbe_defrag_gauge_ask(const GbeEndpoint *endpoint, gint64 deadline);
