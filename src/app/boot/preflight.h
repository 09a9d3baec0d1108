/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Would the next upgrade go well? Checks in advance everything that the first start after it needs: the
 * configuration, the data, the store, room and method for the pre-upgrade backup, etcd, greenboot. This is the
 * program; its checks are in app/report/preflight-checks.h. Changes only what the MOTD shows.
 */
#pragma once

#include "app/device/context.h"
#include "app/report/preflight-checks.h"

/* Array of GbePreflightFinding. Never fails: a check that could not look is a finding. Loads the configuration.
 * @look: at etcd just now; NULL: the result of the run's own check is used. */
GPtrArray *gbe_preflight_check(GbeApp *app, const GbeHealthLook *look);
/* 0, 5 or 7. */
int gbe_preflight_status(const GPtrArray *findings);
/* The program: 0, 5 or 7. With @ret_findings (array of char *), logs nothing. */
int gbe_preflight_run(GbeApp *app, GPtrArray **ret_findings);
