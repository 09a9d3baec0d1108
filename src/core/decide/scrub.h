/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backups to read again in the background, which finds rot on the disk before a backup is needed.
 */
#pragma once

#include "core/decide/facts.h"

/* Seconds between two readings of the same backup. */
#define GBE_SCRUB_INTERVAL (7 * 24 * 3600)

/* The backups to read now: of GbeManifest, borrowed from @facts. Backups that were never read come first, newest first;
 * then the one with the oldest last reading. Empty with [backup] verify=none. Empty, too, while a run is judged or
 * was not found good: its time belongs to other work. */
GPtrArray *gbe_scrub_plan(const GbeFacts *facts);
