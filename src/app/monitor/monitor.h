/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* monitor: writes etcd's health into status.json, the MOTD and the metrics; records nothing. */
#pragma once

#include "app/device/context.h"

bool gbe_monitor_run(GbeApp *app, GError **error) GBE_CHECKED;
