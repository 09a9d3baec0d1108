/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The records of periodic backups, of the store of snapshots and of rehearsals, for the programs that show them.
 * gbe_periodic_run(), greenboot-etcd-store and gbe_rehearse() write them.
 */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"
#include "core/record/fields.h"
#include "core/record/offsite.h"
#include "core/record/periodic.h"
#include "core/record/rehearsal.h"

/* Each load gives false where there is nothing to show: no schedule; no store; no rehearsal of a deployment that could
 * still boot next. Each trouble is why a person should look, newly allocated; NULL: no problem. */
bool gbe_periodic_load(GbeApp *app, GbePeriodic *ret_periodic);
/* @look: at etcd just now; NULL: the timer is not checked, because it runs only while etcd runs. */
char *gbe_periodic_trouble(GbeApp *app, const GbeHealthLook *look);
bool gbe_offsite_load(GbeApp *app, GbeOffsite *ret_offsite);
char *gbe_offsite_trouble(GbeApp *app);
bool gbe_rehearsal_load(GbeApp *app, const GbeDeployments *deployments,
			GbeRehearsal *ret_rehearsal);
char *gbe_rehearsal_trouble(const GbeRehearsal *rehearsal);

/* `periodic`, `offsite` and `rehearsal` of status; NULL where there is nothing to show. */
typedef struct {
	GbePeriodic record;
	char *schedule, *result;
	gint64 age; /* of the last success: seconds; -1 */
	bool overdue;
} GbePeriodicStatus;

typedef struct {
	GbeOffsite record;
	char *store;
	gint64 proved_age;  /* seconds; -1 */
	gint64 duration_ms; /* of the last push; -1 */
	guint waiting;
	char *waiting_newest;
	bool trouble;
} GbeOffsiteStatus;

extern const GbeField gbe_rehearsal_fields[];
extern const GbeFieldItems gbe_periodic_items, gbe_offsite_items, gbe_rehearsal_items;
GbePeriodicStatus *gbe_periodic_status(GbeApp *app, const GbeHealthLook *look);
GbeOffsiteStatus *gbe_offsite_status(GbeApp *app);
GbeRehearsal *gbe_rehearsal_status(GbeApp *app, const GbeDeployments *deployments);
