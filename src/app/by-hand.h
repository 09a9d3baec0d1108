/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a person does: each of these takes the lock, finishes what was interrupted, observes, acts,
 * records the last operation, emits the event, and leaves status.json. The configuration is loaded.
 * They refuse (GBE_ERROR_REFUSED) what is unsafe and name what would make it safe; GBE_ERROR_BUSY
 * while etcd has the data open.
 *
 * stop: the service is stopped first and started again whatever happens in between: a small process
 * that holds one end of a pipe does it should this one be killed.
 */
#pragma once

#include "app/observe.h"
#include "app/timing.h"

typedef struct {
	char *name; /* the backup made, or restored */
	char
	    *displaced; /* restore: what the present data became; NULL: there was none, or ->kept */
	char *kept;	/* restore: the directory that it became in place of a backup; NULL */
	char *loss;	/* restore: what is lost by it, for people */
	char *path;	/* backup: where it is, without --root */
	char *sha256;	/* backup: of its manifest.json, hex; NULL: not made, or not to be read */
	GbeMethod method;
	GbeGrade grade;
	guint64 size;
	GbeTiming timing;
	gboolean dry_run;
	gboolean service_restarted;
} GbeByHandResult;

void gbe_by_hand_result_clear(GbeByHandResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeByHandResult, gbe_by_hand_result_clear)

typedef struct {
	const char *name;	 /* NULL: an automatic one */
	const char *description; /* may be NULL */
	gboolean stop, live, pin, dry_run;
	gboolean
	    periodic; /* with ->live: the clock asked for it, of etcd while it runs and of nothing else */
	gboolean digest; /* read all of it, so that the manifest has each file's SHA-256 */
} GbeByHandBackup;

bool gbe_by_hand_backup(GbeApp *app, const GbeByHandBackup *options, GbeByHandResult *ret_result,
			GError **error) GBE_CHECKED;

typedef enum { GBE_BY_HAND_NAMED, GBE_BY_HAND_LAST_GOOD, GBE_BY_HAND_UNDO } GbeByHandTarget;

typedef struct {
	GbeByHandTarget target;
	const char *name; /* GBE_BY_HAND_NAMED */
	gboolean stop, force, dry_run;
	const char *keep_existing; /* app/by-hand-displaced.h; absolute, without --root; NULL */
	gboolean skip_backup;	   /* the same */
	/* Called when everything is checked and before anything is changed; may be NULL. */
	void (*announce)(const GbeByHandResult *result, gpointer data);
	gpointer announce_data;
} GbeByHandRestore;

/* The data is validated before anything is changed (GBE_ERROR_VERIFY_FAILED). */
bool gbe_by_hand_restore(GbeApp *app, const GbeByHandRestore *options, GbeByHandResult *ret_result,
			 GError **error) GBE_CHECKED;
/* restore --next-boot: *ret_name is the backup that is meant now (NULL for last-good without any). */
bool gbe_by_hand_request(GbeApp *app, const GbeByHandRestore *options, char **ret_name,
			 GError **error) GBE_CHECKED;
/* restore --cancel: *ret_had says whether there was a request. */
bool gbe_by_hand_cancel(GbeApp *app, gboolean dry_run, gboolean *ret_had,
			GError **error) GBE_CHECKED;

/* The present run's verdict. Refused where the data is not this run's. */
bool gbe_by_hand_mark_run(GbeApp *app, gboolean good, const char *reason, gboolean dry_run,
			  GError **error) GBE_CHECKED;
bool gbe_by_hand_mark_backup(GbeApp *app, const char *name, gboolean good, const char *reason,
			     gboolean dry_run, GError **error) GBE_CHECKED;
/* All of @names (NULL-terminated) are looked at before the first is changed. */
bool gbe_by_hand_pin(GbeApp *app, char *const *names, gboolean pinned, gboolean dry_run,
		     GError **error) GBE_CHECKED;
bool gbe_by_hand_delete(GbeApp *app, char *const *names, gboolean force, gboolean dry_run,
			GError **error) GBE_CHECKED;
/* The one with the mark `discard` that a restore of @restored displaced. */
bool gbe_by_hand_discard(GbeApp *app, const char *name, const char *restored,
			 GError **error) GBE_CHECKED;

typedef struct {
	char *name;
	char *reason;
} GbeByHandRemoval;

void gbe_by_hand_removal_free(gpointer removal);

/* Retention now. *ret_removed: array of GbeByHandRemoval. */
bool gbe_by_hand_prune(GbeApp *app, gboolean dry_run, GPtrArray **ret_removed,
		       GError **error) GBE_CHECKED;
