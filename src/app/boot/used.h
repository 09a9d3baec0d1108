/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* used: one record of the ledger, appended by a timer once in a run. A power cut leaves the record or none. */
#pragma once

#include "app/device/context.h"

/* Records that this run has used the data for longer than [restore] trial-limit. 0, or 1 where that failed. */
int gbe_used_run(GbeApp *app);
