/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The orderly end of a run. What it leaves, step by step:
 *
 *   1  the closing backup, where it is cheap     a cut: the next start takes it itself
 *   2  the closing record                        a cut before: no record, so nothing is known
 *   3  hand-back, where the next boot is known to lack this program
 */
#include "app/backup.h"
#include "app/configuration.h"
#include "app/ledger.h"
#include "app/quiet.h"
#include "app/recover.h"
#include "app/restore.h"
#include "app/state.h"
#include "app/status.h"
#include "app/use-cases.h"
#include "app/verdict.h"
#include "base/fault.h"
#include "core/decide.h"
#include "sys/events.h"
#include "sys/manager.h"

#define LOCK_WAIT_MS 10000
/* The lock of a worker that was killed is free at once, or stays. */
#define CARRY_WAIT_MS 2000
/* Two thirds of the time for all of it: the rest is for the backup. */
#define CLOSED_WAIT_SECONDS (10 * 60)

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	GbeView view;
	GbeBackupRef closing_backup; /* equal to the data as it is left; or none */
} Finalize;

static gboolean
wants_backup(const GbeFacts *facts)
{
	switch (facts->config->backup.at_shutdown) {
	case GBE_WHEN_ALWAYS:
		return TRUE;
	case GBE_WHEN_COW_ONLY:
		return facts->clones == GBE_YES;
	case GBE_WHEN_NEVER:
	default:
		return FALSE;
	}
}

/* A trial that failed is displaced by whoever boots next, and kept by rename. */
static gboolean
will_be_displaced(const Finalize *f)
{
	return gbe_view_failed(f->observed->facts, &f->view) &&
	       gbe_chain_backup(f->observed->facts, &f->view, 0) != NULL;
}

static bool
closing_backup(Finalize *f, GError **error)
{
	GbeFacts *facts = f->observed->facts;
	const GbeManifest *same = gbe_situation_unchanged(facts);
	g_autoptr(GbeManifest) manifest = NULL;
	GbeBackupOptions options = {0};
	GbeTiming timing = {0};
	GbeEventFields fields = {.action = "backup",
				 .deployment = facts->booted.id,
				 .run = facts->run};

	if (same != NULL && gbe_deployment_same(&same->deployment, f->view.owner)) {
		gbe_backup_ref_set(&f->closing_backup, gbe_manifest_ref(same));
		return true;
	}
	if (!wants_backup(facts) || will_be_displaced(f))
		return true;
	options.cow_only = facts->config->backup.at_shutdown == GBE_WHEN_COW_ONLY;
	manifest = gbe_decide_manifest(facts, &f->view, NULL, FALSE, facts->next_sequence++);
	if (!gbe_backup_take(f->app, f->observed, manifest, &options, &timing, error))
		return gbe_prefix(error, "closing backup");
	fields.backup = manifest->name;
	fields.duration_usec = timing.total_usec;
	gbe_event_backed_up(&fields);
	gbe_backup_ref_set(&f->closing_backup, gbe_manifest_ref(manifest));
	gbe_state_note_entry(f->app, GBE_LEDGER_BACKUP, manifest, "at shutdown");
	/* A hand-back after it files the present data under the next name. */
	g_hash_table_add(facts->taken, g_strdup(manifest->name));
	return true;
}

/* A device without a clock that runs on gets the time of day from the network, in the middle of a run. */
static gint64
used_since(const GbeTakeOver *owner, const GbeFacts *facts)
{
	if (owner->uptime >= 0 && facts->uptime >= owner->uptime)
		return facts->uptime - owner->uptime;
	return facts->now >= owner->at ? facts->now - owner->at : -1;
}

static bool
closing_record(Finalize *f, GError **error)
{
	GbeFacts *facts = f->observed->facts;
	/* Borrowed, all of it. */
	const GbeClosing closing = {
	    .present = TRUE,
	    .fingerprint = facts->fingerprint,
	    .used = used_since(facts->owner, facts),
	    .at = facts->now,
	    .next = facts->next,
	    .backup = f->closing_backup,
	};
	GbeEventFields fields = {.action = "stamp",
				 .deployment = facts->booted.id,
				 .run = facts->run,
				 .backup = f->closing_backup.name};

	if (!facts->fingerprint.present)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "no closing record: the data directory cannot be read");
	if (!gbe_state_close(f->app, facts->owner->sequence, &closing, error) ||
	    GBE_FAULT("finalize-closed", error))
		return false;
	gbe_event_closed(&fields);
	return true;
}

/* Does the deployment that boots next lack this program, and own P(D)? Known, or nothing is done. */
static const GbeManifest *
hand_back_source(Finalize *f)
{
	const GbeFacts *facts = f->observed->facts;
	const GbeManifest *base = gbe_chain_backup(facts, &f->view, 0);
	const GbeListed *next = NULL;
	guint others = 0;

	if (!facts->config->restore.hand_back || !gbe_view_failed(facts, &f->view) ||
	    f->view.voters > 1 || base == NULL || facts->listed == NULL || facts->next == NULL)
		return NULL;
	for (guint i = 0; i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (g_str_equal(listed->ref.id, facts->next))
			next = listed;
		if (!listed->booted && !listed->staged)
			others++;
	}
	if (next == NULL || next->booted || next->has_program != GBE_NO)
		return NULL;
	if (base->deployment.id != NULL)
		return gbe_situation_is_of(facts, &base->deployment, base->sequence, &next->ref)
			   ? base
			   : NULL;
	return others == 1 ? base : NULL;
}

/* The deployment that boots next then finds the data as this one's, and follows rule 4. */
static bool
hand_back(Finalize *f, const GbeManifest *source, GError **error)
{
	GbeFacts *facts = f->observed->facts;
	GbeRestoreOptions options = {.rule = "hand-back"};
	guint64 sequence = facts->next_sequence;
	g_autoptr(GbeManifest) displaced =
	    gbe_decide_manifest(facts, &f->view, NULL, FALSE, sequence);
	GbeEventFields fields = {.rule = "hand-back",
				 .action = "restore",
				 .backup = source->name,
				 .deployment = facts->next,
				 .from_deployment = facts->booted.id,
				 .run = facts->run};

	displaced->origin = GBE_ORIGIN_DISPLACED;
	displaced->method = GBE_METHOD_RENAME;
	displaced->grade = GBE_GRADE_BAD;
	displaced->grade_reason = g_strdup("the trial was not green");
	gbe_ledger_reserve(f->app, sequence);
	if (!gbe_restore_run(f->app, f->observed, source->name, NULL, sequence, displaced, &options,
			     NULL, error))
		return gbe_prefix(error, "hand-back");
	fields.reason = displaced->name;
	gbe_event_restored(&fields);
	return true;
}

static void
say_failed(const char *reason)
{
	GbeEventFields fields = {.action = "finalize", .reason = reason};

	gbe_event_backup_failed(&fields);
}

static void
carry(GbeApp *app, const char *reason)
{
	g_autoptr(GError) error = NULL;

	say_failed(reason);
	if (!gbe_state_carry_failure(app, "finalize", reason, &error))
		gbe_note("%s", error->message);
}

static gboolean
is_this_runs(const GbeFacts *facts)
{
	return facts->owner != NULL && facts->run != NULL &&
	       g_strcmp0(facts->owner->run, facts->run) == 0 &&
	       gbe_deployment_same(&facts->owner->deployment, &facts->booted);
}

static bool
close_run(GbeApp *app, GError **error)
{
	GbeObserveOptions options = {.repair = TRUE, .lock_data = TRUE};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) backup_error = NULL;
	const GbeManifest *source;
	Finalize f = {.app = app};
	bool ok;

	if (!gbe_verdict_note_tree(app, error) || !gbe_observe(app, &options, &observed, error))
		return false;
	f.observed = observed;
	if (observed->facts->data == GBE_NO || !is_this_runs(observed->facts))
		return true; /* not ours to close */
	if (observed->facts->data_open != GBE_NO &&
	    (!gbe_data_wait_closed(app, observed->data, CLOSED_WAIT_SECONDS, error) ||
	     !gbe_observe_again(app, &options, observed, error)))
		return gbe_prefix(error, "no closing record");
	if (observed->facts->data_open != GBE_NO)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "no closing record: %s was opened again at shutdown",
				 observed->data->path);
	gbe_observe_inside(observed);
	gbe_view_live(observed->facts, &f.view);
	/* The record is worth having without the backup. */
	ok = closing_backup(&f, &backup_error);
	if (!closing_record(&f, error)) {
		gbe_backup_ref_clear(&f.closing_backup);
		return false;
	}
	source = hand_back_source(&f);
	if (source != NULL)
		ok = hand_back(&f, source, error);
	gbe_backup_ref_clear(&f.closing_backup);
	if (backup_error != NULL && (error == NULL || *error == NULL)) {
		g_propagate_error(error, g_steal_pointer(&backup_error));
		return false;
	}
	return ok;
}

static bool
recover(GbeApp *app, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeStore) store = NULL;
	g_auto(GbeRecovery) recovery = {0};

	return gbe_data_open(app, &data, error) &&
	       gbe_store_open(app, data, FALSE, &store, error) &&
	       gbe_recover(app, data, store, &recovery, error);
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
	if (app->config->etcd.service == NULL || *app->config->etcd.service == '\0')
		return 0;
	if (!gbe_app_lock(app, "finalize", LOCK_WAIT_MS, &error)) {
		/* Without the lock nothing may be written, a carried failure neither. */
		say_failed(error->message);
		return 1;
	}
	ok = recover(app, &error) && close_run(app, &error);
	if (!ok)
		carry(app, error->message);
	gbe_app_unlock(app);
	return ok ? 0 : 1;
}

int
gbe_finalize_carry(GbeApp *app, gpointer happened)
{
	g_autofree char *reason = g_strdup_printf("the worker %s", (const char *)happened);
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(app, "finalize", CARRY_WAIT_MS, &error)) {
		say_failed(error->message);
		return 1;
	}
	carry(app, reason);
	gbe_app_unlock(app);
	return 0;
}
