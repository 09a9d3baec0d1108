/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints what retention removed, or would remove: backups, or snapshots of a store. */
#pragma once

#include "cli/verb.h"

/* @removed: of GbeByHandRemoval. */
void gbe_print_removed(const GbeCli *cli, const GPtrArray *removed, bool dry_run);
