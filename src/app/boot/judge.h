/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * green and red: the verdict of this run, durable before anything that follows from it. A power cut before that leaves
 * the run without a verdict, which counts as none.
 */
#pragma once

#include "app/device/context.h"

/* 0 or 1. */
int gbe_green_run(GbeApp *app);
int gbe_red_run(GbeApp *app);
