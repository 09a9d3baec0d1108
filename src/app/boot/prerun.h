/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * prerun: finishes or undoes interrupted operations, decides (core/decide/decide.h), backs up, restores, and records
 * the take-over. A power cut at any moment leaves one whole tree; the next start continues from the ledger.
 * Implemented in prerun.c, prerun-start.c.
 */
#pragma once

#include "app/device/context.h"

/* The worker of prerun: 0, or 5 when etcd is held back. */
int gbe_prerun_run(GbeApp *app);
/* All of prerun: the worker and its supervisor (app/boot/supervise.h). @root, @config_file: may be NULL. 0 or 5. */
int gbe_prerun_start(const char *root, const char *config_file);
/* Runs in the initramfs, before any service of the root. Carries out only rd.greenboot-etcd.restore= (rule 2);
 * all other rules are prerun's. False: there was nothing to do. A cut leaves what a cut in prerun leaves, and
 * prerun continues from there. */
bool gbe_prerun_requested(GbeApp *app);
