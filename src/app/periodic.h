/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of periodic backups, for who shows it; who takes them is gbe_periodic_run(). */
#pragma once

#include "app/health-look.h"
#include "core/periodic.h"

/* `periodic` of status; null where [backup] schedule is empty. @look: at etcd just now, or NULL: then the timer is
 * not asked after, which runs along with etcd alone. */
JsonNode *gbe_periodic_status(GbeApp *app, const GbeHealthLook *look);
/* Why a person should look, newly allocated; NULL: nothing is wrong. */
char *gbe_periodic_trouble(GbeApp *app, const GbeHealthLook *look);
/* As it is recorded. False: there is no schedule, or no record can be read. */
gboolean gbe_periodic_load(GbeApp *app, GbePeriodic *ret_periodic);
