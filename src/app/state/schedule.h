/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that each schedule of the configuration is a calendar event. `config --check` and preflight ask systemd-analyze. */
#pragma once

#include "app/device/context.h"

/* GBE_ERROR_INVALID_CONFIG has systemd's own words. True without systemd-analyze, without a schedule, and below
 * --root, where another systemd will read the schedule. The caller has loaded app->config. */
bool gbe_schedule_check(const GbeApp *app, GError **error) GBE_CHECKED;
