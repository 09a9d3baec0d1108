/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The programs of two timers. defrag.h has that of the third. */
#pragma once

#include "app/device/context.h"

/* Takes the backup that [backup] schedule asks for. @patience: seconds to wait for the end of an obstacle. Returns 0
 * on success or if the backup was left out, 1 on failure. The source has the state after a power cut at each step. */
int gbe_periodic_run(GbeApp *app, guint patience);
/* scrub: reads the backups that are due (core/decide/retention.h) again, to find damage before the backup is needed. 0, or 1
 * when one could not be read. */
int gbe_scrub_run(GbeApp *app);
