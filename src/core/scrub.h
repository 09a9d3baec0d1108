/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which backups are read again in the background, to find what rotted on the disk before it is needed.
 */
#pragma once

#include "core/facts.h"

/* Between two readings of the same backup. */
#define GBE_SCRUB_INTERVAL (7 * 24 * 3600)

/* What there is to do now: of GbeManifest, borrowed from @facts; those that were never read first, newest
 * first, then the one whose last reading is the oldest. Empty where nothing is to be done: with [backup]
 * verify=none, and while a run is being judged or was not found good, whose time belongs to others. */
GPtrArray *gbe_scrub_plan(const GbeFacts *facts);
