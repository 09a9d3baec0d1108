/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of etcd's health that can be seen without asking etcd: its service and its disk. */
#pragma once

#include "app/device/context.h"
#include "core/health/health.h"

/* Reads the service's state from systemd, and prerun's files in /run. Reads nothing below --root, where there is no service. */
void gbe_health_place_service(GbeApp *app, GbeHealthFacts *facts);
/* Space and inodes, read-only or not, and whether etcd rewrites its database right now. A caller that may not
 * look into the data gets the rest. */
void gbe_health_place_data(GbeApp *app, GbeHealthFacts *facts);
/* Finds whether a process has the database and the log open. Call it after etcd was asked. An empty data directory counts as
 * not open. */
void gbe_health_place_open(GbeApp *app, GbeHealthFacts *facts);
