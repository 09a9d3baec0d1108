/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes the backup that [backup] schedule asks for. The source says what a power cut leaves after each step. */
#pragma once

#include "app/device/context.h"

/* @patience: how many seconds to wait for what stands in the way. 0 on success or when the backup was left out, 1
 * on failure. */
int gbe_periodic_run(GbeApp *app, guint patience);
