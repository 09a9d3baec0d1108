/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /run/greenboot-etcd/prerun-done, {ended, monotonic_usec, held, reason}: the last prerun of this boot tells the
 * MOTD, the health check and `run` whether it holds etcd back. The file is on a tmpfs, so that it can be read and
 * written while a disk hangs or is full. A power cut removes it.
 */
#pragma once

#include "app/device/context.h"

#include <json-glib/json-glib.h>

#define GBE_PRERUN_DONE "prerun-done"

/* @reason NULL: nothing went wrong. A failure is noted in the journal. */
void gbe_prerun_done_write(GbeApp *app, bool held, const char *reason);
/* NULL: no prerun has ended in this boot. */
JsonObject *gbe_prerun_done_read(GbeApp *app);
