/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state directory, /var/lib/greenboot-etcd (0700):
 *
 *   lock                    fs/lock.h
 *   reserve                 fs/reserve.h
 *   owner                   the copy of the stamp (a stamp's JSON, sealed)
 *   intent                  core/intent.h        absent: no operation is open
 *   request                 core/request.h
 *   attempts, last-operation, failure, starts, gone, cmdline-request, configuration
 *   periodic                core/periodic.h
 *   runs/<sequence>.<verdict>
 *   certs/                  app/certs-archive.h
 *   backups/                the store, where it lies here
 *
 * Every record is sealed and written whole (fs/write.h). One that cannot be read is renamed to
 * <name>.broken-<n>, said once, and counts as absent. Readers never write: they pass @repair FALSE and
 * leave a broken one where it is.
 */
#pragma once

#include "app/context.h"
#include "core/facts.h"
#include "core/intent.h"
#include "fs/write.h"

/* The request of the kernel command line that was carried out: {argument}. Removed by the first boot
 * whose command line lacks it. */
#define GBE_STATE_CMDLINE "cmdline-request"
/* The same of what it asks of the initramfs; one without our module leaves that to prerun. */
#define GBE_STATE_RD_CMDLINE "rd-cmdline-request"
#define GBE_STATE_COPY "owner"
#define GBE_STATE_INTENT "intent"
#define GBE_STATE_REQUEST "request"
/* A failure at shutdown, carried to the next boot: {operation, reason}. */
#define GBE_STATE_FAILURE "failure"
/* How the last periodic backup went. */
#define GBE_STATE_PERIODIC "periodic"

/* What the kernel command line asks of us, or NULL; *ret_record: the one of those two. */
const char *gbe_state_cmdline(const GbeApp *app, const char **ret_record);
/* Reads a sealed record; *ret_object NULL: absent (or broken). Owned by the caller. */
bool gbe_state_read(GbeApp *app, const char *name, gboolean repair, JsonObject **ret_object,
		    GError **error) GBE_CHECKED;
/* The same, but for what is broken: that is GBE_ERROR_CORRUPT, and stays. */
bool gbe_state_peek(GbeApp *app, const char *name, JsonObject **ret_object,
		    GError **error) GBE_CHECKED;
/* Takes nothing. GBE_WRITE_LATER leaves the flush to gbe_state_sync(). */
bool gbe_state_write(GbeApp *app, const char *name, JsonObject *object, GbeWrite how,
		     GError **error) GBE_CHECKED;
bool gbe_state_remove(GbeApp *app, const char *name, GError **error) GBE_CHECKED;
/* One flush for all that was written with GBE_WRITE_LATER. */
bool gbe_state_sync(GbeApp *app, GError **error) GBE_CHECKED;

/* Takes away what writes left that were cut short; under the lock. */
bool gbe_state_sweep(GbeApp *app, GError **error) GBE_CHECKED;

/* Sets a record of the state or of runs/ (@dir_fd) aside and says so. Never fails: one that cannot be set
 * aside is said all the same. */
void gbe_state_set_aside(int dir_fd, const char *name, const GError *why);

/* Fills runs, gone, attempts, request, undo and the copy of the stamp. */
bool gbe_state_observe(GbeApp *app, gboolean repair, GbeFacts *facts, GError **error) GBE_CHECKED;
/* The runs alone. */
bool gbe_state_observe_runs(GbeApp *app, gboolean repair, GbeFacts *facts,
			    GError **error) GBE_CHECKED;
/* The largest sequence that any file of the state names. */
guint64 gbe_state_largest_sequence(const GbeFacts *facts);

/* Makes runs/<sequence>.none. */
bool gbe_state_begin_run(GbeApp *app, const GbeRunRecord *record, GbeWrite how,
			 GError **error) GBE_CHECKED;
/* Content first (where it changed), then the name: a rename and a sync of runs/. Replaces any record of
 * that sequence. @before: as it is now; NULL: it is lost. */
bool gbe_state_judge_run(GbeApp *app, const GbeRunRecord *before, const GbeRunRecord *after,
			 GError **error) GBE_CHECKED;
/* The newest 32 and the first green of each listed deployment stay. */
bool gbe_state_prune_runs(GbeApp *app, const GbeFacts *facts, GError **error) GBE_CHECKED;

bool gbe_state_write_copy(GbeApp *app, const GbeStamp *stamp, GbeWrite how,
			  GError **error) GBE_CHECKED;
/* In two steps, as fs/write.h has it. */
bool gbe_state_prepare_copy(GbeApp *app, const GbeStamp *stamp, GError **error) GBE_CHECKED;
bool gbe_state_publish_copy(GbeApp *app, GError **error) GBE_CHECKED;
bool gbe_state_read_intent(GbeApp *app, gboolean repair, GbeIntent **ret_intent,
			   GError **error) GBE_CHECKED;
bool gbe_state_write_intent(GbeApp *app, const GbeIntent *intent, GbeWrite how,
			    GError **error) GBE_CHECKED;
bool gbe_state_count_attempt(GbeApp *app, const char *backup, const char *deployment,
			     GError **error) GBE_CHECKED;
bool gbe_state_clear_attempts(GbeApp *app, const char *deployment, GError **error) GBE_CHECKED;
bool gbe_state_write_request(GbeApp *app, const GbeRequest *request, GError **error) GBE_CHECKED;
bool gbe_state_read_last(GbeApp *app, GbeLastOperation *ret_last, GError **error) GBE_CHECKED;
bool gbe_state_write_last(GbeApp *app, const GbeLastOperation *last, GbeWrite how,
			  GError **error) GBE_CHECKED;
/* Notes ids that records name and ostree no longer lists. Writes only when something changed. */
bool gbe_state_note_gone(GbeApp *app, GbeFacts *facts, GError **error) GBE_CHECKED;
/* Records, once, that the run that took the data over as @sequence has used it for longer than
 * [restore] trial-limit. */
bool gbe_state_note_used(GbeApp *app, guint64 sequence, GError **error) GBE_CHECKED;
/* How many starts in a row did not come to their end, this one not counted. */
guint gbe_state_begin_start(GbeApp *app);
void gbe_state_end_start(GbeApp *app);
