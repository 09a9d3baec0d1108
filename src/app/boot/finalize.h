/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * finalize: at shutdown, takes the backup that the next start would take, writes the closing record, and hands the
 * data back. A power cut before the closing record leaves none: the next start then knows nothing of the run's end,
 * and takes the backup itself. A power cut during the hand-back leaves what it leaves during a restore
 * (app/backup/restore.h).
 */
#pragma once

#include "app/device/context.h"

/* 0 or 1. */
int gbe_finalize_run(GbeApp *app);
/* Records for the next boot @happened (const char *), the reason why a worker did not finish. 0 or 1. */
int gbe_finalize_carry(GbeApp *app, gpointer happened);
