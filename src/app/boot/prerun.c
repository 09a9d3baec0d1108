/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/execute.h"
#include "app/backup/recover.h"
#include "app/backup/retention.h"
#include "app/backup/settings.h"
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/error.h"
#include "base/fault.h"
#include "core/decide/decide.h"
#include "sys/systemd/events.h"

#include <string.h>

/* Candidates that do not validate; then no further one is tried. */
#define REJECTED_MAX 3
/* Two requests, those candidates, and the decision without them; more rounds are a loop. */
#define MAX_ROUNDS (2 + REJECTED_MAX + 1)
/* How long another deployment's process may take to end, or a disk to come; and the first pause. */
#define WAIT_USEC (30 * G_USEC_PER_SEC)
#define PAUSE_USEC (200 * 1000)
#define PAUSE_MOST (2 * G_USEC_PER_SEC)
#define IDLE_SECONDS 60

/* The worker cannot answer: the supervisor asks who owns the data. */
#define EXIT_ASK_SUPERVISOR 1

typedef struct {
	GbeApp *app;
	/* As the recovery opened them, if it changed nothing: the first observation takes them over. NULL: opened then. */
	GbeData *data;
	GbeStore *store;
	GbeObserved *observed; /* set once it could be observed */
	GHashTable *rejected;
	bool held;
	bool cannot_tell;  /* what there is to be done */
	gint64 wait_since; /* monotonic; 0: nothing was waited for */
	gint64 pause;
	bool fell_back; /* the boot loader's default is another deployment */
	GbeDeployment booted;
	char *reason;
} Prerun;

/* Finishes or undoes what was interrupted. True: the decision may be made. */
static bool
recover_first(Prerun *p)
{
	g_auto(GbeRecovery) recovery = {0};
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "recover"};

	if (!gbe_data_open_any(p->app, &p->data, &error) ||
	    !gbe_store_open(p->app, p->data, false, &p->store, &error)) {
		fields.reason = error->message;
		gbe_event_start_failed(&fields);
		p->reason = g_strdup(error->message);
		p->cannot_tell = true;
		return false;
	}
	if (!gbe_recover(p->app, p->data, p->store, &recovery, &error)) {
		fields.reason = error->message;
		/* Holds etcd back from data that is half exchanged. Else the supervisor answers, and records its
		 * answer. */
		p->held = recovery.exchange_open;
		p->cannot_tell = !recovery.exchange_open;
		if (p->cannot_tell) {
			gbe_event_restore_failed(&fields);
			p->reason = g_strdup(error->message);
			return false;
		}
		p->reason = g_strdup_printf("an interrupted restore could not be finished (%s): "
					    "`systemctl restart %s` tries again",
					    error->message, p->app->config->etcd.service);
		fields.reason = p->reason;
		gbe_event_held_back(&fields);
		gbe_state_note_undecided(p->app, "restore", true, p->reason);
		return false;
	}
	if (recovery.recovered || recovery.left_alone) {
		fields.reason = recovery.what;
		gbe_event_recovered(&fields);
	}
	if (recovery.left_alone)
		p->reason = g_strdup(recovery.what);
	if (recovery.recovered) {
		g_clear_pointer(&p->data, gbe_data_free);
		g_clear_pointer(&p->store, gbe_store_free);
	}
	return !recovery.left_alone;
}

static bool
may_wait(Prerun *p, const GbePlan *plan)
{
	gint64 now = g_get_monotonic_time();

	if (!plan->wait)
		return false;
	if (p->wait_since == 0) {
		p->wait_since = now;
		p->pause = PAUSE_USEC;
		gbe_note("waiting for at most %d s, as this may change: %s",
			 (int)(WAIT_USEC / G_USEC_PER_SEC), plan->reason);
	}
	if (now - p->wait_since > WAIT_USEC)
		return false;
	g_usleep((gulong)p->pause);
	p->pause = MIN(2 * p->pause, PAUSE_MOST);
	(void)gbe_app_progress(1, p->app);
	return true;
}

/* False: nothing can be decided on this. */
static bool
observe_system(Prerun *p)
{
	GbeObserveOptions options = {.repair = true,
				     .lock_data = true,
				     .decides = true,
				     .data = &p->data,
				     .store = &p->store};
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "observe"};

	/* The system is looked at again where it could not be told, and not only the records. */
	if (p->observed != NULL && p->observed->facts->ostree != GBE_NO &&
	    p->observed->facts->booted.id == NULL)
		g_clear_pointer(&p->observed, gbe_observed_free);
	/* ostree's list was read before, for the configuration. The wait for the lock and the recovery may have taken
	 * a minute since, and /boot may have come: the decision has a list of its own. */
	if ((p->observed == NULL ? !gbe_observe(p->app, &options, &p->observed, &error)
				 : !gbe_observe_again(p->app, &options, p->observed, &error)) ||
	    GBE_FAULT("prerun-observed", &error)) {
		fields.reason = error->message;
		gbe_event_start_failed(&fields);
		p->cannot_tell = true;
		p->reason = g_strdup(error->message);
		return false;
	}
	if (p->booted.id == NULL)
		gbe_deployment_copy(&p->booted, &p->observed->facts->booted);
	p->fell_back = p->observed->facts->booted_is_default == GBE_NO;
	return true;
}

static GbeOutcome
decide_once(Prerun *p)
{
	GbeObserved *observed;
	g_autoptr(GbePlan) plan = NULL;
	g_autofree char *rejected = NULL;
	g_autofree char *held = NULL;
	GbeOutcome outcome;

	if (!observe_system(p))
		return GBE_OUTCOME_DONE;
	observed = p->observed;
	if (gbe_decide_needs_inside(observed->facts))
		gbe_observe_inside(observed);
	if (observed->facts->rejected == NULL)
		observed->facts->rejected = g_hash_table_ref(p->rejected);
	plan = gbe_decide(observed->facts);
	/* The initramfs lacks ostree's list and all mounts but the root's, so it decides nothing else. */
	if (p->app->initramfs && !plan->asked) {
		gbe_execute_failed_request(p->app, observed, plan);
		return GBE_OUTCOME_DONE;
	}
	if (may_wait(p, plan))
		return GBE_OUTCOME_WAIT;
	if (plan->unfinished && !plan->hold) {
		GbeEventFields fields = {.rule = gbe_rule_to_string(plan->rule),
					 .reason = plan->reason};

		gbe_event_restore_failed(&fields);
		p->reason = g_strdup(plan->reason);
	}
	outcome = gbe_execute(p->app, observed, plan, &rejected, &held);
	if (rejected != NULL)
		g_hash_table_add(p->rejected, g_steal_pointer(&rejected));
	if (held != NULL)
		p->reason = g_steal_pointer(&held);
	return outcome;
}

/* The data of a member has come back: so do its settings, before etcd reads them. */
static void
follow_settings(Prerun *p)
{
	g_autoptr(GError) error = NULL;
	bool any = false, moved = false;

	if (!gbe_settings_aside(p->app, &any, &error) ||
	    (any && !gbe_settings_follow(p->app, p->observed, &moved, &error)))
		gbe_note(
		    "the settings and certificates of this data were not brought back: %s; the "
		    "next start tries again",
		    error->message);
	if (moved)
		gbe_note("the settings and certificates of this data are back, too");
}

/* Removes old backups and records, and writes what people see: none of this may fail a boot. */
static void
tidy_up(Prerun *p)
{
	GbeObserveOptions options = {.repair = true};
	GbeObserved *observed = p->observed;
	g_autoptr(GError) error = NULL;

	/* The plan has changed data, store and ledger since. */
	if (observed == NULL || !gbe_observe_again(p->app, &options, observed, &error)) {
		gbe_note("%s", error != NULL ? error->message : p->reason);
		return;
	}
	/* The trees of an open operation would look like leftovers. */
	if (!p->held && !gbe_decide_gives_up(observed->facts) && observed->facts->intent == NULL &&
	    observed->facts->intent_why == NULL) {
		if (!gbe_state_note_gone(p->app, observed->facts, &error) ||
		    !gbe_ledger_compact(p->app, observed->facts, &error))
			gbe_note("%s", error->message);
		(void)gbe_retention_run(p->app, observed, NULL, NULL, NULL);
		gbe_store_reserve(p->app, observed->store, GBE_RESERVE_KEEP);
		follow_settings(p);
	}
	gbe_status_write(p->app, observed, NULL);
}

static GbeOutcome
decide_and_execute(Prerun *p)
{
	GbeOutcome outcome = GBE_OUTCOME_AGAIN;

	for (guint round = 0;
	     outcome == GBE_OUTCOME_WAIT || (outcome == GBE_OUTCOME_AGAIN && round < MAX_ROUNDS);
	     round += outcome == GBE_OUTCOME_AGAIN) {
		const GPtrArray *backups;

		outcome = decide_once(p);
		backups = p->observed != NULL ? p->observed->facts->backups : NULL;
		/* The next decision is made without any backup. */
		if (backups == NULL || g_hash_table_size(p->rejected) < REJECTED_MAX)
			continue;
		for (guint i = 0; i < backups->len; i++) {
			const GbeManifest *backup = backups->pdata[i];

			g_hash_table_add(p->rejected, g_strdup(backup->name));
		}
	}
	if (outcome == GBE_OUTCOME_AGAIN) {
		p->cannot_tell = true;
		g_free(p->reason);
		p->reason = g_strdup("the decision does not come to an end");
	}
	return outcome;
}

/* Counts this start until its end is recorded. Reports what the last shutdown could not do. */
static void
begin_start(Prerun *p)
{
	const GbeCmdline *cmdline = &p->app->cmdline;
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	GbeEventFields fields = {0};
	const char *restore, *rd_restore;
	g_autoptr(GError) error = NULL;

	gbe_state_observe_ledger(p->app, facts);
	fields.action = facts->failure;
	fields.reason = facts->failure_why;
	if (facts->failure != NULL)
		gbe_event_carried(&fields);
	/* After a boot without the request on its command line, the request counts again. */
	restore = cmdline->restore != NULL ? facts->cmdline_done : NULL;
	rd_restore = cmdline->rd_restore != NULL ? facts->rd_cmdline_done : NULL;
	if ((g_strcmp0(restore, facts->cmdline_done) != 0 ||
	     g_strcmp0(rd_restore, facts->rd_cmdline_done) != 0) &&
	    !gbe_state_note_cmdline(p->app, restore, rd_restore, &error)) {
		gbe_note("%s", error->message);
		g_clear_error(&error);
	}
	if (!gbe_state_begin_start(p->app, p->booted.id != NULL ? p->booted.id : "", &error))
		gbe_note("%s", error->message);
}

/* Records the end of the start, whatever its result; a crash or a hang does not come here. The record is on the
 * disk before etcd starts: a take-over whose start has no end is one whose etcd never ran. */
static void
end_start(Prerun *p)
{
	const char *id = p->booted.id != NULL ? p->booted.id : "";
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const GbeTakeOver *last;
	guint64 of = 0;
	g_autoptr(GError) error = NULL;

	gbe_state_observe_ledger(p->app, facts);
	last = facts->take_overs->len > 0 ? facts->take_overs->pdata[facts->take_overs->len - 1]
					  : NULL;
	if (last != NULL && !p->held && g_strcmp0(last->deployment.id, p->booted.id) == 0)
		of = last->sequence;
	if (!gbe_state_end_start(p->app, id, of, p->held, p->fell_back, p->reason, &error))
		gbe_note("%s", error->message);
}

static int
run_locked(Prerun *p)
{
	begin_start(p);
	if (recover_first(p))
		p->held = decide_and_execute(p) == GBE_OUTCOME_HELD;
	if (p->cannot_tell)
		return 0;
	/* First, and on a tmpfs: the MOTD takes the reason for the hold from this file, even on a full disk. */
	gbe_prerun_done_write(p->app, p->held, p->reason);
	tidy_up(p);
	end_start(p);
	return p->held ? GBE_EXIT_HELD : 0;
}

/* Takes the lock. False: this program is switched off, or *ret_status is what it ends with. */
static bool
begin_prerun(Prerun *p, GbeApp *app, int *ret_status)
{
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {0};

	*p = (Prerun){.app = app};
	p->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	gbe_deployment_copy(&p->booted, &deployments->booted);
	gbe_configuration_load_for_boot(app, p->booted.id, &complaint);
	if (complaint != NULL) {
		fields.reason = complaint;
		gbe_event_config_bad(&fields);
	}
	*ret_status = 0;
	if (gbe_config_is_off(app->config)) {
		gbe_note("off: [etcd] service is empty");
		return false;
	}
	if (gbe_app_lock(app, "prerun", GBE_WAIT_PRERUN, &error))
		return true;
	fields.reason = error->message;
	gbe_event_start_failed(&fields);
	*ret_status = EXIT_ASK_SUPERVISOR;
	return false;
}

static void
end_prerun(Prerun *p)
{
	gbe_data_free(p->data);
	gbe_store_free(p->store);
	gbe_observed_free(p->observed);
	gbe_deployment_clear(&p->booted);
	g_hash_table_unref(p->rejected);
	g_free(p->reason);
	gbe_app_unlock(p->app);
}

static int
run_prerun(GbeApp *app)
{
	Prerun p;
	g_autofree char *reason = NULL;
	g_autofree char *happened = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	if (begin_prerun(&p, app, &status))
		status = GBE_FAULT("prerun-locked", &error) ? EXIT_ASK_SUPERVISOR : run_locked(&p);
	if (p.cannot_tell)
		reason = g_steal_pointer(&p.reason);
	end_prerun(&p);
	if (reason == NULL)
		return status;
	/* The facts are unknown, so nothing is done. etcd starts, unless it must not start without a backup: the
	 * supervisor's question decides that, with far fewer facts. */
	happened = g_strdup_printf("cannot tell what there is to be done (%s)", reason);
	status = gbe_supervise_ask(app, happened);
	(void)gbe_supervise_show(app, happened);
	return status;
}

/* @data: the configuration file, or NULL. */
static int
work_as_prerun(GbeApp *app, gpointer data)
{
	g_autoptr(GError) error = NULL;

	g_free(app->config_file);
	app->config_file = g_strdup(data);
	if (GBE_FAULT("prerun-started", &error))
		return 1;
	return run_prerun(app);
}

int
gbe_prerun_start(const char *root, const char *config_file)
{
	return gbe_supervise_prerun(root, work_as_prerun, (gpointer)config_file, IDLE_SECONDS);
}

bool
gbe_prerun_requested(GbeApp *app)
{
	Prerun p;
	int status;

	app->initramfs = true;
	if (app->cmdline.skip || gbe_observe_cmdline(app, NULL) == NULL)
		return false;
	if (begin_prerun(&p, app, &status)) {
		begin_start(&p);
		if (recover_first(&p))
			p.held = decide_and_execute(&p) == GBE_OUTCOME_HELD;
		end_start(&p);
	}
	end_prerun(&p);
	return true;
}
