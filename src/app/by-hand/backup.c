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

static bool
check_facts(const GbeSession *session, const GbeByHandBackup *options, GError **error)
{
	const GbeObserved *observed = session->observed;
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

static void
record_backup(GbeSession *session, const GbeByHandBackup *options, const GbeManifest *manifest,
	      GbeByHandResult *result)
{
	const char *reason =
	    options->description != NULL ? options->description : "asked for by hand";
	const GbeEventFields fields = {.rule = options->periodic ? "periodic" : "by-hand",
				       .action = "backup",
				       .backup = manifest->name,
				       .deployment = manifest->deployment.id,
				       .run = manifest->run,
				       .duration_usec = result->timing.total_usec};
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;
	gbe_autofd int entry_fd = -1;
	gsize size = 0;

	/* Periodic backups have a record of their own (core/record/periodic.h): the last operation that a person must
	 * know of must not be hidden by them. */
	if (!options->periodic)
		gbe_session_record(session, "done", reason, manifest->name);
	gbe_session_did(session, "backup %s is made", manifest->name);
	gbe_state_note_entry(session->app, GBE_LEDGER_BACKUP, manifest,
			     options->periodic ? "periodic" : "by hand");
	/* One number that covers everything about the backup; if it cannot be read, the backup is kept unchanged. */
	if (gbe_open_dir_at(session->observed->store->fd, manifest->name, &entry_fd, &error) &&
	    gbe_read_file_at(entry_fd, GBE_MANIFEST_NAME, GBE_JSON_MAX_SIZE, &bytes, &size, &error))
		result->sha256 =
		    g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, size);
	else
		gbe_note("the manifest of %s: %s", manifest->name, error->message);
	gbe_event_backed_up(&fields);
}

static bool
take_backup(GbeSession *session, const GbeByHandBackup *options, GbeByHandResult *result,
	    GError **error)
{
	GbeObserved *observed = session->observed;
	bool live = observed->facts->data_open == GBE_YES;
	GbeBackupOptions how = {.live = live, .cow_only = live, .digests = options->digest};
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GbeLock) maintenance = NULL;
	GbeView view;

	/* The data that etcd had open is looked into now. */
	gbe_observe_inside(observed);
	gbe_view_live(observed->facts, &view);
	manifest = gbe_decide_manifest(observed->facts, &view, options->name, false,
				       observed->facts->next_sequence);
	manifest->description = g_strdup(options->description);
	manifest->pinned = options->pin;
	if (options->periodic)
		gbe_decide_make_periodic(observed->facts, manifest);
	if (live) {
		/* A live backup is looked into once it is made; data that etcd has open has no fingerprint. */
		manifest->live = true;
		gbe_fingerprint_clear(&manifest->fingerprint);
	}
	result->name = g_strdup(manifest->name);
	result->grade = manifest->grade;
	result->dry_run = options->dry_run;
	result->method = manifest->method;
	result->size = manifest->size;
	result->path = g_build_filename(observed->store->path, manifest->name, NULL);
	if (options->dry_run)
		return true;
	if (live && !gbe_maintenance_lock(session->app, "backup --live", &maintenance, error))
		return false;
	if (!gbe_backup_take(session->app, observed, manifest, &how, &result->timing, error)) {
		if (!options->periodic)
			gbe_session_record(session, "failed",
					   error != NULL ? (*error)->message : NULL,
					   manifest->name);
		return false;
	}
	result->timing.look_usec += observed->look_usec;
	result->method = manifest->method;
	result->size = manifest->size;
	result->grade = manifest->grade;
	record_backup(session, options, manifest, result);
	return true;
}

bool
gbe_by_hand_backup(GbeApp *app, const GbeByHandBackup *options, GbeByHandResult *ret_result,
		   GError **error)
{
	GbeSessionOptions how = {.operation = "backup",
				 .data = true,
				 .inside = true,
				 .dry_run = options->dry_run,
				 .stop_allowed = options->stop,
				 .open_allowed = options->live};
	g_auto(GbeByHandResult) result = {0};
	GbeSession session;
	bool ok;

	if (!check_options(options, error) || !gbe_session_begin(app, &how, &session, error))
		return false;
	/* Refusals come before the service is stopped. */
	ok = check_facts(&session, options, error) && gbe_session_quiesce(&session, &how, error) &&
	     take_backup(&session, options, &result, error);
	result.service_restarted = session.service.unit != NULL;
	if (!gbe_session_finish(&session, ok, error))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}
