/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The description of a snapshot file, in etcdctl's terms. */
#pragma once

#include "app/store/verify.h"
#include "cli/verb.h"

JsonObject *gbe_snapshot_json(const GbeVerification *verification);
/* Prints it as JSON or text. */
void gbe_print_snapshot(const GbeCli *cli, const GbeVerification *verification);
