/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checks of preflight, one by one; each adds its findings. status calls some of them, too. */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"

typedef enum {
	GBE_PREFLIGHT_OK,
	GBE_PREFLIGHT_NOTE,    /* worth knowing; nothing to do */
	GBE_PREFLIGHT_UNKNOWN, /* cannot be told */
	GBE_PREFLIGHT_BAD,     /* the upgrade's backup would fail, or it could not be restored */
} GbePreflightLevel;

typedef struct {
	const char *check; /* static: "configuration", "data", "store", "space"... */
	GbePreflightLevel level;
	char *text;
} GbePreflightFinding;

void gbe_preflight_finding_free(GbePreflightFinding *finding);
const char *gbe_preflight_level_to_string(GbePreflightLevel level); /* ok note unknown bad */

void gbe_preflight_check_system(const GbeObserved *observed, GPtrArray *findings);
void gbe_preflight_check_greenboot(const GbeObserved *observed, GPtrArray *findings);
/* Adds nothing when prerun runs before etcd. */
void gbe_preflight_check_prerun(const GbeApp *app, const GbeHealthLook *look, GPtrArray *findings);
/* True: there is data to back up. */
bool gbe_preflight_check_data(const GbeObserved *observed, GPtrArray *findings);
/* True: there is a place for the backup. */
bool gbe_preflight_check_store(const GbeObserved *observed, GPtrArray *findings);
/* Tries the place with an empty directory, which it removes again, and looks who may write there. Adds nothing where
 * all is well. */
bool gbe_preflight_check_file_system(GbeApp *app, const GbeObserved *observed, GPtrArray *findings);
/* Can a restore put a tree in the data's place? Adds nothing where it can. */
void gbe_preflight_check_exchange(const GbeObserved *observed, GPtrArray *findings);
void gbe_preflight_check_space(const GbeObserved *observed, GPtrArray *findings);
void gbe_preflight_check_etcd(const GbeApp *app, const GbeObserved *observed,
			      const GbeHealthLook *look, GPtrArray *findings);
/* Adds nothing when the key is right, or when none is configured. */
void gbe_preflight_check_key(GbeApp *app, GPtrArray *findings);
/* The result of the last rehearsal of an update; adds nothing where there was none. */
void gbe_preflight_check_rehearsal(GbeApp *app, const GbeObserved *observed, GPtrArray *findings);
#define GBE_PREFLIGHT_REHEARSAL "rehearsal"
/* Checks MicroShift's own backups, hook and marker. Adds nothing where another service is protected. */
void gbe_preflight_check_microshift(const GbeApp *app, GPtrArray *findings);
void gbe_preflight_add(GPtrArray *findings, const char *check, GbePreflightLevel level,
		       const char *format, ...) G_GNUC_PRINTF(4, 5);
