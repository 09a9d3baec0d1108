/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* certs list, reset and export, which work on certificates wherever they come from: for the command, and for
 * greenboot-etcd-certs, which makes certificates. */
#pragma once

#include "cli/verb.h"

#define GBE_CLI_CERTS_TIMEOUT_MOST 86400

/* @authority: borrowed, for the JSON answer; NULL: no authority is on this device, or
 * greenboot-etcd-certs, which reads it, is not installed. */
bool gbe_cli_certs_list(GbeCli *cli, JsonObject *authority, GError **error) GBE_CHECKED;
/* @timeout: as it was typed; NULL: timeout= of [health]. */
bool gbe_cli_certs_reset(GbeCli *cli, bool undo, bool dry_run, const char *timeout,
			 GError **error) GBE_CHECKED;
