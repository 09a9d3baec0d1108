/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collects what the device has to tell people, each fact once: the notices (core/decide/protection.h) that `status`, the
 * MOTD, `preflight` and the page show. Changes nothing and never fails: an unknown fact is a notice, or none.
 */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"
#include "core/decide/protection.h"

/* For status and the MOTD. @look: at etcd just now; NULL: systemd is not asked, and etcd's health is that of this run's
 * own check. The caller owns the list. */
GPtrArray *gbe_notices_collect(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look);
/* The notices about the start of etcd and its health that every user can see, without an observation. */
GPtrArray *gbe_notices_for_users(GbeApp *app, const GbeHealthLook *look);
/* Adds the notices of preflight, for which the whole tree of the data is read. False: there is nothing to back up.
 * *ret_place: there is a store for the backup. */
bool gbe_notices_for_preflight(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look,
			       GPtrArray *notices, bool *ret_place);
