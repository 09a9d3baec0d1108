/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What etcd says of itself, as JSON or a table: etcdctl's columns. Nobody needs to be root for it. */
#pragma once

#include "cli/verb.h"

bool gbe_cli_list_alarms(GbeCli *cli, GError **error) GBE_CHECKED;
