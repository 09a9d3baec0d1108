/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations that a person starts. Each takes the lock, finishes what was interrupted, observes, acts, records
 * the last operation, emits the event and writes status.json; the caller has loaded the configuration.
 * GBE_ERROR_REFUSED for what is unsafe names what would make it safe; GBE_ERROR_BUSY while etcd has the data open.
 * Implemented in by-hand.c, backup.c, restore.c, mark.c, store.c.
 */
#pragma once

#include "app/backup/observe.h"

typedef struct {
	char *name;	 /* the backup that was made or restored */
	char *displaced; /* restore: the backup that has the replaced data; NULL: there was no
			 * data, or ->kept */
	char *kept;	 /* restore: the directory that has the replaced data instead; NULL */
	char *loss;	 /* restore: what the restore loses, for people */
	char *path;	 /* backup: where it is, without --root */
	char *sha256;	 /* backup: of its manifest.json, hex; NULL: not made, or not readable */
	GbeMethod method;
	GbeGrade grade;
	guint64 size;
	GbeTiming timing;
	bool dry_run;
	bool service_restarted;
} GbeByHandResult;

void gbe_by_hand_result_clear(GbeByHandResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeByHandResult, gbe_by_hand_result_clear)

/* ->stop: the service is stopped first, and started again in every case. A small process that holds one end of a
 * pipe starts it if this process is killed. */
typedef struct {
	const char *name;	 /* NULL: an automatic name */
	const char *description; /* may be NULL */
	bool stop, live, pin, dry_run;
	bool periodic; /* with ->live: the timer asked for it; back up a running etcd, nothing
		       * else */
	bool digest;   /* read all data, so that the manifest has the SHA-256 of each file */
} GbeByHandBackup;

bool gbe_by_hand_backup(GbeApp *app, const GbeByHandBackup *options, GbeByHandResult *ret_result,
			GError **error) GBE_CHECKED;

typedef enum { GBE_BY_HAND_NAMED, GBE_BY_HAND_LAST_GOOD, GBE_BY_HAND_UNDO } GbeByHandTarget;

typedef struct {
	GbeByHandTarget target;
	const char *name; /* GBE_BY_HAND_NAMED */
	bool stop, force, dry_run;
	/* The displaced data becomes this directory by one rename (a power cut: app/backup/restore.h), instead of a
	 * backup: absolute, without --root; NULL. */
	const char *keep_existing;
	/*
	 * The displaced data becomes a backup with the mark `discard`. It is removed
	 *   - at once, when --stop had stopped the service and etcd is healthy again with the restored data, or
	 *   - with the first retention after a later run that was green and healthy (core/decide/retention.c).
	 * It stays if it is the last valid backup, is pinned, or is what an update on trial goes back to. After a
	 * power cut at any moment, the second way removes it.
	 */
	bool skip_backup;
	/* Called after all checks, before any change; may be NULL. */
	void (*announce)(const GbeByHandResult *result, gpointer data);
	gpointer announce_data;
} GbeByHandRestore;

/* The data is validated before anything is changed (GBE_ERROR_VERIFY_FAILED). */
bool gbe_by_hand_restore(GbeApp *app, const GbeByHandRestore *options, GbeByHandResult *ret_result,
			 GError **error) GBE_CHECKED;
/* The data becomes a backup, and an empty directory takes its place, by one exchange (app/backup/restore.h); no rule
 * brings it back automatically, `undo` does. *ret_backup: which one it is; no name: there was no data. @discard: the
 * backup has the mark of --skip-backup. GBE_ERROR_BUSY: etcd has it open. */
bool gbe_by_hand_set_aside(GbeApp *app, const char *operation, bool discard,
			   GbeBackupRef *ret_backup, GError **error) GBE_CHECKED;
/* gbe_settings_set_aside() and gbe_settings_follow() of app/backup/settings.h, each with the lock and a look of its own;
 * the second only where something is set aside. A restore does the second itself. */
bool gbe_by_hand_set_settings_aside(GbeApp *app, const char *operation, guint64 number,
				    GError **error) GBE_CHECKED;
bool gbe_by_hand_follow_settings(GbeApp *app, GError **error) GBE_CHECKED;
/* By the data, if etcd does not answer. *ret_alone: the data is known to be that of the only voter, or is missing on a
 * device that is no member with others. Changes nothing. */
bool gbe_by_hand_is_alone(GbeApp *app, const char *operation, bool *ret_alone,
			  GError **error) GBE_CHECKED;
/* restore --next-boot: *ret_name is the backup that the request means at present (NULL: last-good without a good
 * backup). */
bool gbe_by_hand_request(GbeApp *app, const GbeByHandRestore *options, char **ret_name,
			 GError **error) GBE_CHECKED;
/* restore --cancel: *ret_had says whether there was a request. */
bool gbe_by_hand_cancel(GbeApp *app, bool dry_run, bool *ret_had, GError **error) GBE_CHECKED;

/* Grades the backup @name; NULL: marks the verdict of the present run, and is refused when the data is not this run's. */
bool gbe_by_hand_mark(GbeApp *app, const char *name, bool good, const char *reason, bool dry_run,
		      GError **error) GBE_CHECKED;
/* All of @names (NULL-terminated) are checked before the first is changed. */
bool gbe_by_hand_pin(GbeApp *app, char *const *names, bool pinned, bool dry_run,
		     GError **error) GBE_CHECKED;
bool gbe_by_hand_delete(GbeApp *app, char *const *names, bool force, bool dry_run,
			GError **error) GBE_CHECKED;
/* Deletes the backup with the mark `discard` that a restore of @restored displaced. */
bool gbe_by_hand_discard(GbeApp *app, const char *name, const char *restored,
			 GError **error) GBE_CHECKED;

typedef struct {
	char *name;
	char *reason;
} GbeByHandRemoval;

void gbe_by_hand_removal_free(gpointer removal);

/* Runs retention now. *ret_removed: array of GbeByHandRemoval. */
bool gbe_by_hand_prune(GbeApp *app, bool dry_run, GPtrArray **ret_removed,
		       GError **error) GBE_CHECKED;
