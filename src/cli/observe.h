/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Observing the device for a verb without changing it, with root rights or without. */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"
#include "app/report/status.h"
#include "cli/verb.h"

/* Observes without a lock and without repairs. *ret_observed NULL: only root may observe; read status.json instead
 * (gbe_cli_read_status(), gbe_cli_read_list()). */
bool gbe_cli_observe(GbeCli *cli, GbeObserved **ret_observed, GError **error) GBE_CHECKED;
/* The same for verbs that status.json cannot serve. @tolerant: data or a store that cannot be opened is a fact, as in
 * GbeObserveOptions. */
bool gbe_cli_observe_as_root(GbeCli *cli, bool tolerant, GbeObserved **ret_observed,
			     GError **error) GBE_CHECKED;
/* Opens the state directory, for a verb that status.json cannot serve. A missing directory is no error. */
bool gbe_cli_open_state(GbeCli *cli, GError **error) GBE_CHECKED;
/* Replaces each of @names that a person shortened by the backup's whole name (core/backup-name.h). GBE_ERROR_USAGE names
 * the candidates of an ambiguous one. A name that matches nothing stays, as well as everything where only root may observe: the
 * verb then says what is wrong. */
bool gbe_cli_resolve_names(GbeCli *cli, char **names, GError **error) GBE_CHECKED;
/* The output that follows fits a terminal (gbe_print_fit()), with the backups and deployments of @observed; NULL: those
 * of status.json. */
void gbe_cli_fit(GbeCli *cli, const GbeObserved *observed);
/* The backup @name, borrowed. NULL: GBE_ERROR_USAGE, _NOT_FOUND or _CORRUPT. */
bool gbe_cli_find_backup(const GbeObserved *observed, const char *name,
			 const GbeManifest **ret_manifest, GError **error) GBE_CHECKED;
/* The status that the last program with root rights left in /run. etcd's health is @look's, ages are as of now. */
bool gbe_cli_read_status(GbeCli *cli, const GbeHealthLook *look, GbeStatus **ret_status,
			 GError **error) GBE_CHECKED;
bool gbe_cli_read_list(GbeCli *cli, GPtrArray **ret_list, GError **error) GBE_CHECKED;
