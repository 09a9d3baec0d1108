/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* etcd's alarms, as JSON or as a table with etcdctl's columns. No root rights are needed.
 * Implemented in verb-endpoint.c. */
#pragma once

#include "cli/verb.h"

bool gbe_cli_list_alarms(GbeCli *cli, GError **error) GBE_CHECKED;
