/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `status` and `list` say, as JSON with exactly the keys of the contract: printed by the command,
 * and left in /run for those who are not root. And the MOTD line, absent while nothing needs a person.
 */
#pragma once

#include "app/health-look.h"
#include "app/observe.h"

#include <json-glib/json-glib.h>

#define GBE_SCHEMA 1
/* etcd's reason, where nobody asked. */
#define GBE_STATUS_NOT_ASKED "not asked"
/* What preflight found, until the next one: the MOTD's other source. */
#define GBE_PREFLIGHT_FILE "/run/greenboot-etcd/preflight.json"

/* `status`. @look: at etcd just now, or NULL (not asked). Uses @observed up: its facts are those of the
 * next boot afterwards. */
JsonObject *gbe_status_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look);
/* Of what was left for others than root: what they can look at themselves, etcd{} and whether prerun runs. */
void gbe_status_renew(GbeApp *app, const GbeHealthLook *look, JsonObject *status);
/* `list`: every backup, newest first. @exclusive: count the blocks that are nobody else's, too. */
JsonArray *gbe_status_list(const GbeObserved *observed, gboolean exclusive);
/* One entry of it. @exclusive: bytes, or -1 for null. */
JsonObject *gbe_status_backup(const GbeObserved *observed, const GbeManifest *manifest,
			      gint64 exclusive);
/* Is @name, which is among the damaged, an entry of ours whose manifest cannot be read? Without any
 * manifest it is somebody else's directory. */
gboolean gbe_status_is_damaged(const GbeObserved *observed, const char *name);
/* `etcd{}` of status. @look may be NULL. */
JsonObject *gbe_status_etcd(const GbeHealthLook *look);
/* What `restore --last-good` would take; NULL: there is none. Owned by @facts. */
const GbeManifest *gbe_status_last_good(GbeFacts *facts);
/* Bytes in the data directory, apparent; -1: could not be told. */
gint64 gbe_status_data_size(const GbeObserved *observed);

/* status.json and the MOTD, of what is there by now: looks again, and uses @observed up. @look: at etcd just now, or NULL:
 * what the run's own check said is shown. Never fatal: without /run there are none. */
void gbe_status_write(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look);
/* The MOTD's text ("" for none); newly allocated. */
char *gbe_status_motd(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look);
