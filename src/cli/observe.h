/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looking without touching, with rights or without. */
#pragma once

#include "app/health-look.h"
#include "app/observe.h"
#include "cli/verb.h"

/* Observes without a lock and without repairs. *ret_observed NULL: only root may, and status.json is
 * there to be read instead (gbe_cli_read_status(), gbe_cli_read_list()). */
bool gbe_cli_observe(GbeCli *cli, GbeObserved **ret_observed, GError **error) GBE_CHECKED;
/* The same for verbs that nothing stands in for; with @inside also what is in etcd's files. */
bool gbe_cli_observe_as_root(GbeCli *cli, gboolean inside, GbeObserved **ret_observed,
			     GError **error) GBE_CHECKED;
/* The state directory, for a verb that nothing stands in for; one that is not there is no error. */
bool gbe_cli_open_state(GbeCli *cli, GError **error) GBE_CHECKED;
/* The backup of that name; GBE_ERROR_USAGE, _NOT_FOUND or _CORRUPT says why there is none. Borrowed. */
bool gbe_cli_find_backup(const GbeObserved *observed, const char *name,
			 const GbeManifest **ret_manifest, GError **error) GBE_CHECKED;
/* What the last program to run as root left in /run; etcd's health as @look says, ages as of now. */
bool gbe_cli_read_status(GbeCli *cli, const GbeHealthLook *look, JsonObject **ret_status,
			 GError **error) GBE_CHECKED;
bool gbe_cli_read_list(GbeCli *cli, JsonArray **ret_list, GError **error) GBE_CHECKED;
