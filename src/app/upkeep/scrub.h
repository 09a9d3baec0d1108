/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scrub: reads backups again in the background, to find damage before the backup is needed. */
#pragma once

#include "app/device/context.h"

/* Reads the backups that are due (core/decide/retention.h). 0, or 1 when one could not be read. */
int gbe_scrub_run(GbeApp *app);
