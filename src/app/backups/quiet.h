/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits until nobody has the data open any more, and names the process that has. etcd may be stopping beside the
 * waiting program, in a scope of its own, and any process that may read the database may lock it.
 */
#pragma once

#include "app/backups/data.h"

/* The process that has @data open: "etcd (pid 812, microshift-etcd.scope)", or "a process that cannot be seen from
 * here". Newly allocated. */
char *gbe_data_holder(const GbeData *data);
/* The unit of that process; NULL: it has none, or that cannot be told. Newly allocated. */
char *gbe_data_holder_unit(const GbeData *data);
/* Waits up to @seconds (0: looks once), and counts the waiting as progress; holds no lock afterwards.
 * GBE_ERROR_BUSY names the process that still has @data open; any other error: that could not be told. */
bool gbe_data_wait_closed(GbeApp *app, const GbeData *data, guint seconds,
			  GError **error) GBE_CHECKED;
