/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The output of `status` and `list`, as JSON with exactly the keys of the contract: the command prints it, and a
 * copy in /run serves users other than root. Also the MOTD line, which is absent while no person is needed.
 * Implemented in status.c, status-next.c, status-write.c.
 */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"

#include <json-glib/json-glib.h>

/* The reason in `etcd{}` when etcd was not asked. */
#define GBE_STATUS_NOT_ASKED "not asked"
/* The findings of the last preflight: the MOTD's other source. */
#define GBE_PREFLIGHT_FILE "/run/greenboot-etcd/preflight.json"

/* `status`. @look: at etcd just now, or NULL (not asked). Uses @observed up: its facts are those of the next boot
 * afterwards. */
JsonObject *gbe_status_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look);
/* Updates a stored status, for users other than root, with what they can check themselves: etcd{} and whether
 * prerun runs. */
void gbe_status_renew(GbeApp *app, const GbeHealthLook *look, JsonObject *status);
/* `list`: every backup, newest first, then those whose manifest cannot be read: schema, name and the grade
 * "unreadable". @exclusive: also count the blocks that only this backup uses. */
JsonArray *gbe_status_list(const GbeObserved *observed, bool exclusive);
/* One entry of `list`. @exclusive: bytes, or -1 for null. */
JsonObject *gbe_status_backup(const GbeObserved *observed, const GbeManifest *manifest,
			      gint64 exclusive);
/* Is @name, a damaged entry, one of this program's entries whose manifest cannot be read? A directory without any
 * manifest belongs to somebody else. */
bool gbe_status_is_damaged(const GbeObserved *observed, const char *name);
/* `etcd{}` of status. @look may be NULL. */
JsonObject *gbe_status_etcd(const GbeHealthLook *look);

/* Writes status.json and the MOTD: looks again at the present state, and uses @observed up. @look: at etcd just
 * now, or NULL: the result of the run's own check is shown. Never fatal: without /run, nothing is written. */
void gbe_status_write(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look);
/* Writes status.json and the MOTD anew. @observed is filled anew for that: pointers borrowed from it before are
 * invalid. */
void gbe_status_refresh(GbeApp *app, GbeObserved *observed, const char *operation);
