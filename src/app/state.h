/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state directory, /var/lib/greenboot-etcd (0700):
 *
 *   lock                    fs/lock.h
 *   reserve                 fs/reserve.h
 *   ledger                  app/ledger.h: what happened to the data
 *   configuration           the last one that worked (app/configuration.h)
 *   periodic                core/periodic.h
 *   certs/                  app/certs-archive.h
 *   backups/                the store, where it lies here
 *
 * Here: the records that the program appends to the ledger, one function each, and the two sealed files.
 * Whoever appends holds the lock. Each record is on the disk when its function returns, unless said
 * otherwise; until then it was never there.
 */
#pragma once

#include "app/context.h"
#include "core/ledger.h"
#include "fs/write.h"

/* How the last periodic backup went. */
#define GBE_STATE_PERIODIC "periodic"

/* Reads a sealed file; *ret_object NULL: absent (or broken). Owned by the caller. @repair: a broken one is
 * renamed to <name>.broken-<n>, and said. */
bool gbe_state_read(GbeApp *app, const char *name, gboolean repair, JsonObject **ret_object,
		    GError **error) GBE_CHECKED;
/* The same, but for what is broken: that is GBE_ERROR_CORRUPT, and stays. */
bool gbe_state_peek(GbeApp *app, const char *name, JsonObject **ret_object,
		    GError **error) GBE_CHECKED;
/* Writes a sealed file, durably. Takes nothing. */
bool gbe_state_write(GbeApp *app, const char *name, JsonObject *object, GError **error) GBE_CHECKED;
/* One flush for all records that were appended with GBE_WRITE_LATER. */
bool gbe_state_sync(GbeApp *app, GError **error) GBE_CHECKED;
/* Takes away what writes left that were cut short; under the lock. */
bool gbe_state_sweep(GbeApp *app, GError **error) GBE_CHECKED;

/* What the ledger says, into @facts. One that cannot be read now is tried again, then unknown, and said:
 * nothing fails for it. */
void gbe_state_observe(GbeApp *app, GbeFacts *facts);
/* The intent alone; NULL: none is open. GBE_ERROR_CANNOT_TELL: one is open that this program cannot read. */
bool gbe_state_read_intent(GbeApp *app, GbeIntent **ret_intent, GError **error) GBE_CHECKED;

bool gbe_state_take_over(GbeApp *app, const GbeTakeOver *take_over, GbeWrite how,
			 GError **error) GBE_CHECKED;
/* The tree of a take-over that was recorded before there was one. */
bool gbe_state_note_tree(GbeApp *app, const GbeTakeOver *of, GError **error) GBE_CHECKED;
bool gbe_state_hand_back(GbeApp *app, guint64 of, GError **error) GBE_CHECKED;
/* Only where it says something new. @before: as it is now; NULL: not known. */
bool gbe_state_judge_run(GbeApp *app, const GbeRunRecord *before, const GbeRunRecord *after,
			 GError **error) GBE_CHECKED;
bool gbe_state_close(GbeApp *app, guint64 of, const GbeClosing *closing,
		     GError **error) GBE_CHECKED;
/* Etcd may write from now on: the closing record is over. */
bool gbe_state_open(GbeApp *app, guint64 of, GError **error) GBE_CHECKED;
bool gbe_state_note_used(GbeApp *app, guint64 of, GError **error) GBE_CHECKED;
/* A prerun begins, and comes to its end. @deployment NULL: not known. @of 0: it took nothing over. */
bool gbe_state_begin_start(GbeApp *app, const char *deployment, GError **error) GBE_CHECKED;
bool gbe_state_end_start(GbeApp *app, const char *deployment, guint64 of, gboolean held,
			 const char *reason, GError **error) GBE_CHECKED;
bool gbe_state_write_intent(GbeApp *app, const GbeIntent *intent, GbeWrite how,
			    GError **error) GBE_CHECKED;
bool gbe_state_end_intent(GbeApp *app, guint64 of, const char *result, GError **error) GBE_CHECKED;
bool gbe_state_write_request(GbeApp *app, const GbeRequest *request, GError **error) GBE_CHECKED;
bool gbe_state_end_request(GbeApp *app, const char *result, const char *reason,
			   GError **error) GBE_CHECKED;
/* What the kernel command line asked for, and was carried out or cannot be; NULL: it lacks that. */
bool gbe_state_note_cmdline(GbeApp *app, const char *restore, const char *rd_restore,
			    GError **error) GBE_CHECKED;
/* For the next start to say. */
bool gbe_state_carry_failure(GbeApp *app, const char *operation, const char *reason,
			     GError **error) GBE_CHECKED;
/* Deployment ids that records name and ostree no longer lists. Writes only what is new. */
bool gbe_state_note_gone(GbeApp *app, GbeFacts *facts, GError **error) GBE_CHECKED;

/* For people, and not flushed: nothing rests on them. A failure is noted in the journal. */
void gbe_state_write_last(GbeApp *app, const GbeLastOperation *last);
/* @kind: GBE_LEDGER_BACKUP, _GRADED or _REMOVED. */
void gbe_state_note_entry(GbeApp *app, GbeLedgerKind kind, const GbeManifest *manifest,
			  const char *reason);
