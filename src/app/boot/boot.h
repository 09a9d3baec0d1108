/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs of a boot, of a run and of a shutdown. Their mains are in hooks/.
 * Implemented in prerun.c, finalize.c, judge.c, preflight.c, generate.c.
 */
#pragma once

#include "app/report/status.h"

/*
 * prerun: finishes or undoes interrupted operations, decides (core/decide/decide.h), backs up, restores, and records
 * the take-over. A power cut at any moment leaves one whole tree; the next start continues from the ledger.
 */

/* All of prerun: the worker and its supervisor (app/boot/supervise.h). @root, @config_file: may be NULL. 0 or 5. */
int gbe_prerun_start(const char *root, const char *config_file);
/* Runs in the initramfs, before any service of the root. Carries out only rd.greenboot-etcd.restore= (rule 2);
 * all other rules are prerun's. False: there was nothing to do. A cut leaves what a cut in prerun leaves, and
 * prerun continues from there. */
bool gbe_prerun_requested(GbeApp *app);

/*
 * finalize: at shutdown, takes the backup that the next start would take, writes the closing record, and hands the
 * data back. A power cut before the closing record leaves none: the next start then knows nothing of the run's end,
 * and takes the backup itself. A power cut during the hand-back leaves what it leaves during a restore
 * (app/backup/restore.h).
 */

/* 0 or 1. */
int gbe_finalize_run(GbeApp *app);
/* Records for the next boot @happened (const char *), the reason why a worker did not finish. 0 or 1. */
int gbe_finalize_carry(GbeApp *app, gpointer happened);

/* health, the required check of greenboot: does etcd become healthy within the allowed time? Returns 1 only for a
 * failure that an OS rollback could repair. */
int gbe_health_run(GbeApp *app);

/*
 * green and red: the verdict of this run, durable before anything that follows from it. A power cut before that leaves
 * the run without a verdict, which counts as none. 0 or 1.
 */
int gbe_green_run(GbeApp *app);
int gbe_red_run(GbeApp *app);
/* used: records, once in a run, that this run has used the data for longer than [restore] trial-limit. A timer starts
 * it. A power cut leaves the record or none. 0 or 1. */
int gbe_used_run(GbeApp *app);

/*
 * preflight: would the next upgrade go well? Checks in advance everything that the first start after it needs:
 * configuration, data, store, room and method for the pre-upgrade backup, etcd, greenboot. status shares most of these
 * checks (app/report/notices.c). Changes only what the MOTD shows.
 */

/* Array of GbeNotice. Never fails: a check that could not look is a notice. Loads the configuration.
 * @look: at etcd just now; NULL: the result of the run's own check is used. */
GPtrArray *gbe_preflight_check(GbeApp *app, const GbeHealthLook *look);
/* 0, 5 or 7. */
int gbe_preflight_status(const GPtrArray *notices);
/* The program: 0, 5 or 7. Tells the journal, and stores the problems for the MOTD. */
int gbe_preflight_run(GbeApp *app);

/*
 * The generator passes the configuration to systemd, at boot and at each reload of its units, before any unit runs. It
 * writes drop-ins (core/units/dropin.h), only in its output directory, which is in memory.
 *
 * Writes nothing when the configured service is empty or does not exist, or when prerun is masked or does not exist.
 * etcd then starts on the present data. @output: the directory that systemd passes, not below the root. *ret_complaint:
 * NULL, or what is wrong with the configuration and what is used instead. On error, what was written so far stays.
 *
 * A link in /etc, instead, would be merged into a deployment without this package, and would keep etcd from
 * starting there.
 */
bool gbe_generate(GbeApp *app, const char *output, char **ret_complaint,
		  GError **error) GBE_CHECKED;
