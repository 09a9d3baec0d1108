/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ends a run in order. The steps, and what a power cut leaves:
 *
 *   1  the closing backup, if it is cheap        a cut: the next start makes it
 *   2  the closing record                        a cut before: no record, so the end of the run is unknown
 *   3  hand-back, if the next system is known to lack this program
 */
#include "app/backup/backup.h"
#include "app/backup/recover.h"
#include "app/backup/restore.h"
#include "app/boot/boot.h"
#include "app/health/verdict.h"
#include "app/state/configuration.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/shutdown.h"
#include "core/record/update-lock.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

/* Two thirds of the total time: the backup needs the rest. */
#define CLOSED_WAIT_SECONDS (10 * 60)

static bool
take_closing_backup(GbeApp *app, GbeObserved *observed, GbeShutdown *shutdown, GError **error)
{
	const GbeFacts *facts = observed->facts;
	GbeBackupOptions options = {.cow_only = shutdown->cow_only};
	GbeTiming timing = {0};
	GbeEventFields fields = {.action = "backup",
				 .deployment = facts->booted.id,
				 .run = facts->run};

	if (!gbe_backup_take(app, observed, shutdown->backup, &options, &timing, error))
		return gbe_prefix(error, "closing backup");
	fields.backup = shutdown->backup->name;
	fields.duration_usec = timing.total_usec;
	gbe_event_backed_up(&fields);
	gbe_state_note_entry(app, GBE_LEDGER_BACKUP, shutdown->backup, "at shutdown");
	return true;
}

static bool
write_closing_record(GbeApp *app, const GbeFacts *facts, const GbeShutdown *shutdown,
		     const GbeManifest *backup, GError **error)
{
	const GbeListed *next = facts->next != NULL ? gbe_facts_listed(facts, facts->next) : NULL;
	/* All fields are borrowed. ->next is the choice of a person: GRUB's fallback at the end of a countdown is not an
	 * update. */
	const GbeClosing closing = {
	    .present = true,
	    .fingerprint = facts->fingerprint,
	    .used = shutdown->used,
	    .at = facts->now,
	    .next = next != NULL && (next->staged || next->is_default) ? facts->next : NULL,
	    .backup = backup != NULL ? gbe_manifest_ref(backup) : (GbeBackupRef){0},
	};
	GbeEventFields fields = {.action = "stamp",
				 .deployment = facts->booted.id,
				 .run = facts->run,
				 .backup = closing.backup.name,
				 .reason = shutdown->why};

	if (!facts->fingerprint.present)
		return gbe_throw(error, GBE_ERROR_FAILED, "no closing record: %s",
				 facts->data_open_why != NULL
				     ? facts->data_open_why
				     : "the data directory cannot be read");
	if (!gbe_state_close(app, facts->owner->sequence, &closing, error) ||
	    GBE_FAULT("finalize-closed", error))
		return false;
	gbe_event_closed(&fields);
	return true;
}

/* The deployment that boots next then finds the data as that of this one, and follows rule 4. */
static bool
hand_back(GbeApp *app, GbeObserved *observed, GbeShutdown *shutdown, GError **error)
{
	const GbeFacts *facts = observed->facts;
	GbeRestoreOptions options = {.rule = "hand-back"};
	GbeManifest *displaced = shutdown->displaced;
	GbeEventFields fields = {.rule = "hand-back",
				 .action = "restore",
				 .backup = shutdown->hand_back->name,
				 .deployment = facts->next,
				 .from_deployment = facts->booted.id,
				 .run = facts->run};

	gbe_ledger_reserve(app, displaced->sequence);
	if (!gbe_restore_run(app, observed, shutdown->hand_back->name, NULL, displaced->sequence,
			     displaced, &options, NULL, error))
		return gbe_prefix(error, "hand-back");
	fields.reason = displaced->name;
	gbe_event_restored(&fields);
	return true;
}

static void
say_finalize_failed(const char *reason)
{
	gbe_event_backup_failed(&(GbeEventFields){.action = "finalize", .reason = reason});
}

static void
carry_failure(GbeApp *app, const char *reason)
{
	g_autoptr(GError) error = NULL;

	say_finalize_failed(reason);
	if (!gbe_state_carry_failure(app, "finalize", reason, &error))
		gbe_note("%s", error->message);
}

static bool
close_run(GbeApp *app, GError **error)
{
	GbeObserveOptions options = {.repair = true, .lock_data = true};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeShutdown) shutdown = NULL;
	g_autoptr(GError) backup_error = NULL;
	const GbeManifest *backup;
	bool recorded = false;

	if (!gbe_verdict_note_tree(app, error) || !gbe_observe(app, &options, &observed, error))
		return false;
	/* A run may have had the data although greenboot and the timer have not looked at it. */
	if (!gbe_verdict_record_late(app, observed->data, observed->facts, &recorded, error))
		return false;
	if (recorded && !gbe_observe_again(app, &options, observed, error))
		return false;
	gbe_observe_inside(observed);
	/* A backup records the version of its system. */
	gbe_deployments_read_versions(observed->deployments);
	shutdown = gbe_decide_shutdown(observed->facts);
	if (shutdown->step == GBE_SHUTDOWN_WAIT) {
		if (!gbe_data_wait_closed(app, observed->data, CLOSED_WAIT_SECONDS, error) ||
		    !gbe_observe_again(app, &options, observed, error))
			return gbe_prefix(error, "no closing record");
		gbe_shutdown_free(shutdown);
		gbe_observe_inside(observed);
		shutdown = gbe_decide_shutdown(observed->facts);
	}
	if (shutdown->step == GBE_SHUTDOWN_WAIT)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "no closing record: %s was opened again at shutdown",
				 observed->data->path);
	if (shutdown->step == GBE_SHUTDOWN_NOTHING)
		return true;
	backup = shutdown->equal;
	if (shutdown->backup != NULL && take_closing_backup(app, observed, shutdown, &backup_error))
		backup = shutdown->backup;
	/* The record is useful without the backup. */
	if (!write_closing_record(app, observed->facts, shutdown, backup, error))
		return false;
	if (backup_error != NULL)
		return gbe_pass(error, &backup_error);
	return shutdown->hand_back == NULL || hand_back(app, observed, shutdown, error);
}

/* The update lock is taken while etcd runs; an update that was staged a moment ago may not have it yet. */
static void
hold_update(GbeApp *app, const GbeDeployments *deployments)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeUpdateLock) lock = {0};
	g_autoptr(GError) error = NULL;
	const GbeListed *first = deployments->listed != NULL && deployments->listed->len > 0
				     ? deployments->listed->pdata[0]
				     : NULL;

	if (!app->config->cluster.update_lock || first == NULL || !first->staged || first->locked)
		return;
	if (gbe_app_open_state(app, false, NULL))
		(void)!gbe_state_read(app, GBE_STATE_UPDATE_LOCK, false, &object, NULL);
	gbe_update_lock_from_json(object, &lock);
	if (lock.id != NULL && lock.state == GBE_UPDATE_LOCK_HELD &&
	    gbe_deployment_same(&lock.deployment, &first->ref))
		return;
	if (gbe_staged_lock(app->root_fd, true, &error))
		gbe_complain("the update %s is not booted: this device does not hold the update "
			     "lock of the cluster",
			     first->ref.id);
	else
		gbe_complain("the update is not held back: %s", error->message);
}

int
gbe_finalize_run(GbeApp *app)
{
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	bool ok;

	if (!app->below_root && gbe_system_stopping() == GBE_NO) {
		gbe_note("the system is not going down: nothing to do");
		return 0;
	}
	if (app->cmdline.skip)
		return 0;
	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	gbe_configuration_load_for_boot(app, deployments->booted.id, &complaint);
	if (gbe_config_is_off(app->config))
		return 0;
	hold_update(app, deployments);
	if (!gbe_app_lock(app, "finalize", GBE_WAIT_UNIT, &error)) {
		/* Without the lock, finalize must not write, not even a carried failure. */
		say_finalize_failed(error->message);
		return 1;
	}
	ok = gbe_recover_here(app, NULL, &error) && close_run(app, &error);
	if (!ok)
		carry_failure(app, error->message);
	gbe_app_unlock(app);
	return ok ? 0 : 1;
}

int
gbe_finalize_carry(GbeApp *app, gpointer happened)
{
	g_autofree char *reason = g_strdup_printf("the worker %s", (const char *)happened);
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(app, "finalize", GBE_WAIT_IF_FREE, &error)) {
		say_finalize_failed(error->message);
		return 1;
	}
	carry_failure(app, reason);
	gbe_app_unlock(app);
	return 0;
}
