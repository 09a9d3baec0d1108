/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Would the next upgrade go well? Everything that its first start will need, looked at while there is
 * time: the configuration, the data, the store, room and method for the pre-upgrade backup, etcd,
 * greenboot. gbe_preflight_run() of use-cases.h is the program; here are the findings one by one.
 */
#pragma once

#include "app/context.h"
#include "app/health-look.h"

typedef enum {
	GBE_PREFLIGHT_OK,
	GBE_PREFLIGHT_NOTE,    /* worth knowing; nothing to do */
	GBE_PREFLIGHT_UNKNOWN, /* cannot be told */
	GBE_PREFLIGHT_BAD,     /* the upgrade's backup would fail, or nobody could bring it back */
} GbePreflightLevel;

typedef struct {
	const char *check; /* static: "configuration", "data", "store", "space"... */
	GbePreflightLevel level;
	char *text;
} GbePreflightFinding;

void gbe_preflight_finding_free(GbePreflightFinding *finding);
const char *gbe_preflight_level_to_string(GbePreflightLevel level); /* ok note unknown bad */

/* Array of GbePreflightFinding. Never fails: what could not be looked at is a finding. Loads the configuration.
 * @look: of etcd just now; NULL: what the run's own check said is taken. */
GPtrArray *gbe_preflight_check(GbeApp *app, const GbeHealthLook *look);
/* 0, 5 or 7. */
int gbe_preflight_status(const GPtrArray *findings);
