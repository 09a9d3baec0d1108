/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What retention removed, or would: of the backups, or of a store of snapshots. */
#pragma once

#include "cli/verb.h"

/* Array of GbeByHandRemoval. */
void gbe_print_removed(const GbeCli *cli, const GPtrArray *removed, gboolean dry_run);
