/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of etcd's health can be seen without asking it: its service, its disk. */
#pragma once

#include "app/context.h"
#include "core/health.h"

/* systemd's word on the service; what prerun left in /run. Nothing below --root, where no service is. */
void gbe_health_place_service(GbeApp *app, GbeHealthFacts *facts);
/* Space and inodes, read-only or not, and whether etcd rewrites its database right now. Who may not look into
 * the data sees the rest. */
void gbe_health_place_data(GbeApp *app, GbeHealthFacts *facts);
