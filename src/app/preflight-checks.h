/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checks of preflight, one by one; each adds what it finds. */
#pragma once

#include "app/observe.h"
#include "app/preflight.h"

void gbe_preflight_check_system(const GbeObserved *observed, GPtrArray *findings);
void gbe_preflight_check_greenboot(const GbeObserved *observed, GPtrArray *findings);
/* Nothing where prerun runs before etcd. */
void gbe_preflight_check_prerun(const GbeApp *app, const GbeHealthLook *look, GPtrArray *findings);
/* True: there is data that a backup could be made of. */
gboolean gbe_preflight_check_data(const GbeObserved *observed, GPtrArray *findings);
/* True: there is a place for it. */
gboolean gbe_preflight_check_store(const GbeObserved *observed, GPtrArray *findings);
void gbe_preflight_check_space(const GbeObserved *observed, GPtrArray *findings);
void gbe_preflight_check_etcd(const GbeApp *app, const GbeObserved *observed,
			      const GbeHealthLook *look, GPtrArray *findings);
/* Nothing where it is right, or none is configured. */
void gbe_preflight_check_key(GbeApp *app, GPtrArray *findings);
void gbe_preflight_add(GPtrArray *findings, const char *check, GbePreflightLevel level,
		       const char *format, ...) G_GNUC_PRINTF(4, 5);
