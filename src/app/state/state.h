/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state directory, /var/lib/greenboot-etcd (0700): the records that the program appends to the ledger, one
 * function each, and the sealed files. The caller of a function that appends holds the lock. A record is on the disk
 * when its function returns, unless said otherwise; a power cut before that leaves no record.
 */
#pragma once

#include "app/device/context.h"
#include "core/decide/facts.h"
#include "core/decide/hold.h"
#include "core/record/ledger.h"
#include "fs/write.h"

/*
 * The state directory holds:
 *
 *   lock                    fs/lock.h
 *   reserve, reserve-inodes  fs/reserve.h
 *   ledger                  app/state/ledger.h: what happened to the data
 *   configuration           the last one that worked (app/state/configuration.h)
 *   periodic                core/record/periodic.h
 *   rehearsal               core/record/rehearsal.h
 *   update-lock             core/record/update-lock.h
 *   cluster                 a change of membership that is not complete
 *   members                 the cluster, as this member last saw it
 *   stores                  app/state/history.h
 *   queue/                  snapshots that wait to be sent (app/state/history.h)
 *   certs/                  app/certs/archive.h
 *   backups/                the store, where it lies here
 */
/* A sealed file: how the last periodic backup went. */
#define GBE_STATE_PERIODIC "periodic"
/* A sealed file: core/record/rehearsal.h. */
#define GBE_STATE_REHEARSAL "rehearsal"
/* A sealed file: core/record/update-lock.h. */
#define GBE_STATE_UPDATE_LOCK "update-lock"
/* Sealed files, which greenboot-etcd-cluster writes. Other keys of them are its own.
 *
 * cluster: "operation" (text: the command that continues after a power cut). "empties" (true: the operation removes the
 * data, and etcd is held back without it). "voter" (true: the member has its vote, and the settings count). members:
 * "cluster" and "member" (text: ids in hex), "log" (text; absent: the log was not seen at its place). */
#define GBE_STATE_CLUSTER "cluster"
#define GBE_STATE_MEMBERS "members"
/* A sealed file: core/record/offsite.h. */
#define GBE_STATE_STORES "stores"
/* A directory: snapshots that wait to be sent. */
#define GBE_STATE_QUEUE "queue"

/* Reads a sealed file. *ret_object is owned by the caller; NULL: the file is absent (or broken). @repair: a
 * broken file is renamed to <name>.broken-<n>, and that is reported. */
bool gbe_state_read(GbeApp *app, const char *name, bool repair, JsonObject **ret_object,
		    GError **error) GBE_CHECKED;
/* Writes a sealed file, durably. Does not take @object. */
bool gbe_state_write(GbeApp *app, const char *name, JsonObject *object, GError **error) GBE_CHECKED;
/* Two records may each have locked the staged deployment against finalization: GBE_STATE_REHEARSAL and _UPDATE_LOCK.
 * Has @name locked @deployment? Before unlocking, check that the other record does not need the lock. */
bool gbe_state_has_locked(GbeApp *app, const char *name, const GbeDeployment *deployment);
/* Removes what interrupted writes left; under the lock. */
bool gbe_state_sweep(GbeApp *app, GError **error) GBE_CHECKED;

/* Fills @facts from the ledger. Never fails: a ledger that cannot be read now is tried again, then its facts are
 * unknown, and that is reported. */
void gbe_state_observe(GbeApp *app, GbeFacts *facts);
/* The same without what the state says of the member and its cluster. */
void gbe_state_observe_ledger(GbeApp *app, GbeFacts *facts);
/* Reads the intent alone; NULL: none is open. GBE_ERROR_CANNOT_TELL: an intent is open that this program cannot
 * read. */
bool gbe_state_read_intent(GbeApp *app, GbeIntent **ret_intent, GError **error) GBE_CHECKED;

bool gbe_state_take_over(GbeApp *app, const GbeTakeOver *take_over, GbeWrite how,
			 GError **error) GBE_CHECKED;
/* Records the tree of a take-over that was recorded before its tree existed. */
bool gbe_state_note_tree(GbeApp *app, const GbeTakeOver *of, GError **error) GBE_CHECKED;
bool gbe_state_hand_back(GbeApp *app, guint64 of, GError **error) GBE_CHECKED;
/* Writes only what is new. @before: the present record; NULL: not known. */
bool gbe_state_judge_run(GbeApp *app, const GbeRunRecord *before, const GbeRunRecord *after,
			 GError **error) GBE_CHECKED;
bool gbe_state_close(GbeApp *app, guint64 of, const GbeClosing *closing,
		     GError **error) GBE_CHECKED;
/* Etcd may write from now on: the closing record is no longer valid. */
bool gbe_state_open(GbeApp *app, guint64 of, GError **error) GBE_CHECKED;
bool gbe_state_note_used(GbeApp *app, guint64 of, GError **error) GBE_CHECKED;
/* Record that a prerun begins and that it ends. @deployment NULL: not known. @of 0: the prerun took nothing over. */
bool gbe_state_begin_start(GbeApp *app, const char *deployment, GError **error) GBE_CHECKED;
bool gbe_state_end_start(GbeApp *app, const char *deployment, guint64 of, bool held, bool fell_back,
			 const char *reason, GError **error) GBE_CHECKED;
bool gbe_state_write_intent(GbeApp *app, const GbeIntent *intent, GbeWrite how,
			    GError **error) GBE_CHECKED;
bool gbe_state_end_intent(GbeApp *app, guint64 of, const char *result, GError **error) GBE_CHECKED;
bool gbe_state_write_request(GbeApp *app, const GbeRequest *request, GError **error) GBE_CHECKED;
bool gbe_state_end_request(GbeApp *app, const char *result, const char *reason,
			   GError **error) GBE_CHECKED;
/* Records a request of the kernel command line that was done or cannot be done. NULL: the command line lacks that
 * request. */
bool gbe_state_note_cmdline(GbeApp *app, const char *restore, const char *rd_restore,
			    GError **error) GBE_CHECKED;
/* The next start reports this failure. */
bool gbe_state_carry_failure(GbeApp *app, const char *operation, const char *reason,
			     GError **error) GBE_CHECKED;
/* Records the deployment ids that records name and ostree no longer lists. Writes only what is new. */
bool gbe_state_note_gone(GbeApp *app, GbeFacts *facts, GError **error) GBE_CHECKED;

/* For people, and not flushed: no decision depends on this record. A failure is noted in the journal. */
void gbe_state_write_last(GbeApp *app, const GbeLastOperation *last);
/* The same of a start that ended without a decision. @held: etcd is not started. */
void gbe_state_note_undecided(GbeApp *app, const char *operation, bool held, const char *reason);
/* @kind: GBE_LEDGER_BACKUP, _GRADED or _REMOVED. */
void gbe_state_note_entry(GbeApp *app, GbeLedgerKind kind, const GbeManifest *manifest,
			  const char *reason);

/*
 * /run/greenboot-etcd/prerun-done, {ended, monotonic_usec, held, reason, hold, why, steps}. Written by the last prerun
 * of this boot, for the MOTD, the health check and `run`: is etcd held back? The file is on a tmpfs, so that it can be
 * read and written while a disk hangs or is full. A power cut removes it.
 */
#define GBE_PRERUN_DONE "prerun-done"
/* @held NULL, or of GBE_HOLD_NO: etcd starts; @reason then says what went wrong, NULL: nothing. A failure is noted in the
 * journal. */
void gbe_prerun_done_write(GbeApp *app, const GbeHeld *held, const char *reason);
/* The hold in @done (may be NULL): ->kind GBE_HOLD_NO also where an older program wrote no kind. */
void gbe_prerun_done_hold(JsonObject *done, GbeHeld *ret_held);
/* NULL: no prerun has ended in this boot. */
JsonObject *gbe_prerun_done_read(GbeApp *app);
