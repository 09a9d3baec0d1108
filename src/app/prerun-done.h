/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What this boot's last prerun came to, for the MOTD, the health check and etcd's supervisor: /run/greenboot-etcd/prerun-done,
 * {ended, monotonic_usec, held, reason}. On a tmpfs, so that a disk that hangs or is full hides no answer; a power
 * cut takes it away with the boot that it is about.
 */
#pragma once

#include "app/context.h"

#include <json-glib/json-glib.h>

#define GBE_PRERUN_DONE "prerun-done"

/* @reason NULL: nothing went wrong. A failure is noted in the journal. */
void gbe_prerun_done_write(GbeApp *app, gboolean held, const char *reason);
/* NULL: no prerun has come to its end in this boot. */
JsonObject *gbe_prerun_done_read(GbeApp *app);
