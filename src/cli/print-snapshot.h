/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of a snapshot file, in etcdctl's terms. */
#pragma once

#include "app/verify.h"
#include "cli/verb.h"

JsonObject *gbe_snapshot_json(const GbeVerification *verification);
/* As JSON or text. */
void gbe_print_snapshot(const GbeCli *cli, const GbeVerification *verification);
