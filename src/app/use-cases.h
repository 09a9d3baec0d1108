/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One function for each program that systemd and greenboot start. Each takes the lock, finishes what was
 * interrupted, observes, decides, acts and records; each returns the exit status of its program.
 */
#pragma once

#include "app/context.h"

/* The worker of prerun: 0, or 5 when etcd is held back. */
int gbe_prerun_run(GbeApp *app);
/* All of prerun: the worker, and who watches it (app/supervise.h). @root, @config_file: may be NULL. 0 or 5. */
int gbe_prerun_start(const char *root, const char *config_file);
/* In the initramfs, before any service of the root: what rd.greenboot-etcd.restore= asks for (rule 2), and
 * nothing else; all other rules are prerun's. False: there was nothing to do. A cut leaves what a cut in
 * prerun leaves, and prerun goes on from there. */
gboolean gbe_prerun_requested(GbeApp *app);
/* At shutdown: closing record, the backup that the next start would take, hand-back. 0 or 1. */
int gbe_finalize_run(GbeApp *app);
/* Tells the next boot what @happened (const char *) to a worker that did not come to its end. 0 or 1. */
int gbe_finalize_carry(GbeApp *app, gpointer happened);
/* The verdict of this run: 0 or 1. */
int gbe_green_run(GbeApp *app);
int gbe_red_run(GbeApp *app);
/* greenboot's required check: 1 only for what an OS rollback could mend. */
int gbe_health_run(GbeApp *app);
/* etcd's health into status.json, the MOTD and the metrics; records nothing. */
bool gbe_monitor_run(GbeApp *app, GError **error) GBE_CHECKED;
/* Defragments etcd's database where [defrag] says that it is due; what has to wait is tried the next time. 0, or
 * 1 where it failed. */
int gbe_defrag_run(GbeApp *app);
/* The backup that [backup] schedule asks for; @patience: for how many seconds what stands in the way is waited
 * for. 0, also where it was left out, or 1 where it failed. */
int gbe_periodic_run(GbeApp *app, guint patience);
/* Records once that this run has used the data for longer than [restore] trial-limit. 0, or 1 where that failed. */
int gbe_used_run(GbeApp *app);
/* Reads what is due of the backups again. 0, or 1 where one could not be read. */
int gbe_scrub_run(GbeApp *app);
/* Would the next upgrade go well? 0, 5 or 7. With @ret_findings (array of char *), nothing is logged. */
int gbe_preflight_run(GbeApp *app, GPtrArray **ret_findings);
