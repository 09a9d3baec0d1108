/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of periodic backups, for the programs that show it. gbe_periodic_run() takes the backups. */
#pragma once

#include "app/health/look.h"
#include "core/record/periodic.h"

/* `periodic` of status; null when [backup] schedule is empty. @look: at etcd just now; NULL: the timer is not
 * checked, because it runs only while etcd runs. */
JsonNode *gbe_periodic_status(GbeApp *app, const GbeHealthLook *look);
/* Why a person should look, newly allocated; NULL: no problem. */
char *gbe_periodic_trouble(GbeApp *app, const GbeHealthLook *look);
/* Reads the record. False: there is no schedule, or no readable record. */
bool gbe_periodic_load(GbeApp *app, GbePeriodic *ret_periodic);
