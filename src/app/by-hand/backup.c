/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand/by-hand.h"

#include "app/backup/backup.h"
#include "app/by-hand/session.h"
#include "app/state/state.h"
#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <string.h>

#define DESCRIPTION_MAX 1024

typedef struct {
	GbeSession session;
	const GbeByHandBackup *options;
	GbeManifest *manifest;
	GbeByHandResult result;
} Backup;

static bool
check_options(const GbeByHandBackup *options, GError **error)
{
	if (options->stop && options->live)
		return gbe_throw(error, GBE_ERROR_USAGE, "--stop and --live exclude each other");
	if (options->description != NULL && (!g_utf8_validate(options->description, -1, NULL) ||
					     strlen(options->description) > DESCRIPTION_MAX ||
					     strpbrk(options->description, "\r\n") != NULL))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "the description is one line of UTF-8 of at most %d bytes",
				 DESCRIPTION_MAX);
	return options->name == NULL || gbe_backup_name_check_manual(options->name, error);
}

/* Refusals come before the service is stopped. */
static bool
check_facts(gpointer change, GError **error)
{
	const Backup *backup = change;
	const GbeByHandBackup *options = backup->options;
	const GbeObserved *observed = backup->session.observed;
	const GbeFacts *facts = observed->facts;

	if (facts->linked)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s", facts->data_why);
	if (!gbe_observed_is_readable(observed, error))
		return false;
	if (facts->data == GBE_NO)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "no etcd data in %s: there is nothing to back up ([etcd] data-dir "
				 "and member-dir say where to look)",
				 observed->data->path);
	if (facts->store == GBE_NO)
		return gbe_observed_no_store(observed, error);
	if (options->periodic && facts->data_open != GBE_YES)
		return gbe_throw(error, GBE_ERROR_BUSY, "no etcd runs on %s any more",
				 observed->data->path);
	if (options->name != NULL &&
	    (gbe_facts_backup(facts, options->name) != NULL ||
	     (facts->taken != NULL && g_hash_table_contains(facts->taken, options->name))))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already in %s; take another name, or `greenboot-etcd "
				 "delete %s`",
				 options->name, observed->store->path, options->name);
	if (options->live && facts->data_open == GBE_YES && facts->clones == GBE_NO)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "--live needs a file system that clones, and %s and %s have none "
				 "in common; use --stop",
				 observed->data->path, observed->store->path);
	return true;
}

static bool
take_backup(gpointer change, GError **error)
{
	Backup *backup = change;
	const GbeByHandBackup *options = backup->options;
	GbeSession *session = &backup->session;
	GbeObserved *observed = session->observed;
	bool live = observed->facts->data_open == GBE_YES;
	GbeBackupOptions how = {.live = live, .cow_only = live, .digests = options->digest};
	GbeByHandResult *result = &backup->result;
	g_autoptr(GbeLock) maintenance = NULL;
	GbeManifest *manifest;
	GbeView view;

	/* The data that etcd had open is looked into now. */
	gbe_observe_inside(observed);
	gbe_view_live(observed->facts, &view);
	backup->manifest = manifest = gbe_decide_manifest(observed->facts, &view, options->name,
							  false, observed->facts->next_sequence);
	manifest->description = g_strdup(options->description);
	manifest->pinned = options->pin;
	manifest->occasion = g_strdup("hand");
	if (options->periodic)
		gbe_decide_make_periodic(observed->facts, manifest);
	if (live) {
		/* A live backup is looked into once it is made; data that etcd has open has no fingerprint. */
		manifest->live = true;
		gbe_fingerprint_clear(&manifest->fingerprint);
	}
	result->name = g_strdup(manifest->name);
	result->path = g_build_filename(observed->store->path, manifest->name, NULL);
	result->dry_run = options->dry_run;
	if (!options->dry_run) {
		if (live && !gbe_maintenance_lock(session->change.app, "backup --live",
						  &maintenance, error))
			return false;
		if (!gbe_backup_take(session->change.app, observed, manifest, &how, &result->timing,
				     error)) {
			if (!options->periodic)
				gbe_session_record(session, "failed", (*error)->message,
						   manifest->name);
			return false;
		}
		gbe_session_did(session, "backup %s is made", manifest->name);
		result->timing.look_usec += observed->look_usec;
	}
	result->method = manifest->method;
	result->size = manifest->size;
	result->grade = manifest->grade;
	return true;
}

static bool
record_backup(gpointer change, GError **error)
{
	Backup *backup = change;
	const GbeByHandBackup *options = backup->options;
	GbeSession *session = &backup->session;
	const GbeManifest *manifest = backup->manifest;
	const char *reason =
	    options->description != NULL ? options->description : "asked for by hand";
	const GbeEventFields fields = {.rule = options->periodic ? "periodic" : "by-hand",
				       .action = "backup",
				       .backup = manifest->name,
				       .deployment = manifest->deployment.id,
				       .run = manifest->run,
				       .duration_usec = backup->result.timing.total_usec};
	g_autoptr(GError) local = NULL;
	g_autofree char *bytes = NULL;
	gbe_autofd int entry_fd = -1;
	gsize size = 0;

	(void)error;
	/* Periodic backups have a record of their own (core/record/periodic.h): the last operation that a person must
	 * know of must not be hidden by them. */
	if (!options->periodic)
		gbe_session_record(session, "done", reason, manifest->name);
	gbe_state_note_entry(session->change.app, GBE_LEDGER_BACKUP, manifest,
			     options->periodic ? "periodic" : "by hand");
	/* One number that covers everything about the backup; if it cannot be read, the backup is kept unchanged. */
	if (gbe_open_dir_at(session->observed->store->fd, manifest->name, &entry_fd, &local) &&
	    gbe_read_file_at(entry_fd, GBE_MANIFEST_NAME, GBE_JSON_MAX_SIZE, &bytes, &size, &local))
		backup->result.sha256 =
		    g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, size);
	else
		gbe_note("the manifest of %s: %s", manifest->name, local->message);
	gbe_event_backed_up(&fields);
	return true;
}

static const GbeStep backup_steps[] = {
    GBE_SESSION_LOOK,
    {"backup-checked", check_facts, NULL, GBE_STEP_LOOK, 0},
    {"backup-quiesced", gbe_session_quiesce, NULL, GBE_STEP_LOOK, 0},
    {"backup-taken", take_backup, NULL, GBE_STEP_LOOK, 0},
    {"backup-recorded", record_backup, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_by_hand_backup(GbeApp *app, const GbeByHandBackup *options, GbeByHandResult *ret_result,
		   GError **error)
{
	Backup backup = {.session.how = {.operation = "backup",
					 .data = true,
					 .inside = true,
					 .dry_run = options->dry_run,
					 .stop_allowed = options->stop,
					 .open_allowed = options->live},
			 .options = options};
	bool ok =
	    check_options(options, error) && gbe_session_run(&backup, app, backup_steps, error);

	gbe_manifest_free(backup.manifest);
	backup.result.service_restarted = backup.session.restarted;
	if (ok)
		*ret_result = backup.result;
	else
		gbe_by_hand_result_clear(&backup.result);
	return ok;
}
