/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verb cluster, in two files: verb-cluster.c looks, verb-cluster-change.c changes and has the table. */
#pragma once

#include "cli/verb.h"

bool gbe_verb_cluster_status(GbeCli *cli, char **arguments, GError **error);
