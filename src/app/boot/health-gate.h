/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The required check of greenboot: does etcd become healthy within the allowed time? */
#pragma once

#include "app/device/context.h"
#include "core/record/run.h"

/* Asks etcd until it is healthy, for @seconds at most, and notes the results in @record. green uses this when
 * health did not run. */
void gbe_health_ask(GbeApp *app, guint seconds, GbeRunRecord *record);
/* The check: returns 1 only for a failure that an OS rollback could repair. */
int gbe_health_run(GbeApp *app);
