/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/prerun.h"
#include "app/backup/execute.h"
#include "app/backup/recover.h"
#include "app/backup/retention.h"
#include "app/backup/settings.h"
#include "app/boot/supervise.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/state/ledger.h"
#include "app/state/prerun-done.h"
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
#define LOCK_WAIT_MS 30000

/* The worker cannot answer: the supervisor asks who owns the data. */
#define EXIT_ASK_SUPERVISOR 1

typedef struct {
	GbeApp *app;
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

/* Reports what the last shutdown could not do. */
static void
say_carried_failure(const GbeFacts *facts)
{
	GbeEventFields fields = {.action = facts->failure, .reason = facts->failure_why};

	if (facts->failure != NULL)
		gbe_event_carried(&fields);
}

/* Holds etcd back from data that is half exchanged. Else the supervisor answers, and records its answer. */
static void
cannot_recover(Prerun *p, bool exchange_open, const GError *error)
{
	GbeEventFields fields = {.action = "recover", .reason = error->message};

	p->held = exchange_open;
	p->cannot_tell = !exchange_open;
	if (!exchange_open) {
		gbe_event_restore_failed(&fields);
		p->reason = g_strdup(error->message);
		return;
	}
	p->reason = g_strdup_printf("an interrupted restore could not be finished (%s): `systemctl "
				    "restart %s` tries again",
				    error->message, p->app->config->etcd.service);
	fields.reason = p->reason;
	gbe_event_held_back(&fields);
	gbe_state_note_undecided(p->app, "restore", true, p->reason);
}

/* True: the decision may be made. */
static bool
recover(Prerun *p)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeStore) store = NULL;
	g_auto(GbeRecovery) recovery = {0};
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "recover"};

	if (!gbe_data_open_any(p->app, &data, &error) ||
	    !gbe_store_open(p->app, data, false, &store, &error)) {
		fields.reason = error->message;
		gbe_event_start_failed(&fields);
		p->reason = g_strdup(error->message);
		p->cannot_tell = true;
		return false;
	}
	if (!gbe_recover(p->app, data, store, &recovery, &error)) {
		cannot_recover(p, recovery.exchange_open, error);
		return false;
	}
	if (recovery.recovered || recovery.left_alone) {
		fields.reason = recovery.what;
		gbe_event_recovered(&fields);
	}
	if (recovery.left_alone)
		p->reason = g_strdup(recovery.what);
	return !recovery.left_alone;
}

static GbeOutcome
execute(Prerun *p, const GbePlan *plan)
{
	g_autofree char *rejected = NULL;
	g_autofree char *held = NULL;
	GbeOutcome outcome = gbe_execute(p->app, p->observed, plan, &rejected, &held);

	if (rejected != NULL)
		g_hash_table_add(p->rejected, g_steal_pointer(&rejected));
	if (held != NULL)
		p->reason = g_steal_pointer(&held);
	return outcome;
}

static void
say_unfinished(Prerun *p, const GbePlan *plan)
{
	GbeEventFields fields = {.rule = gbe_rule_to_string(plan->rule), .reason = plan->reason};

	gbe_event_restore_failed(&fields);
	p->reason = g_strdup(plan->reason);
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

static GbeOutcome
decide_once(Prerun *p)
{
	GbeObserveOptions options = {.repair = true, .lock_data = true, .decides = true};
	GbeObserved *observed;
	g_autoptr(GbePlan) plan = NULL;
	g_autoptr(GError) error = NULL;

	/* The system is looked at again where it could not be told, and not only the records. */
	if (p->observed != NULL && p->observed->facts->ostree != GBE_NO &&
	    p->observed->facts->booted.id == NULL)
		g_clear_pointer(&p->observed, gbe_observed_free);
	if ((p->observed == NULL ? !gbe_observe(p->app, &options, &p->observed, &error)
				 : !gbe_observe_again(p->app, &options, p->observed, &error)) ||
	    GBE_FAULT("prerun-observed", &error)) {
		GbeEventFields fields = {.action = "observe", .reason = error->message};

		gbe_event_start_failed(&fields);
		p->cannot_tell = true;
		p->reason = g_strdup(error->message);
		return GBE_OUTCOME_DONE;
	}
	observed = p->observed;
	if (p->booted.id == NULL)
		gbe_deployment_copy(&p->booted, &observed->facts->booted);
	p->fell_back = observed->facts->booted_is_default == GBE_NO;
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
	if (plan->unfinished && !plan->hold)
		say_unfinished(p, plan);
	return execute(p, plan);
}

/* After a boot without the request on its command line, the request counts again. */
static void
forget_cmdline(GbeApp *app, const GbeFacts *facts)
{
	const GbeCmdline *cmdline = &app->cmdline;
	const char *restore = cmdline->restore != NULL ? facts->cmdline_done : NULL;
	const char *rd_restore = cmdline->rd_restore != NULL ? facts->rd_cmdline_done : NULL;
	g_autoptr(GError) error = NULL;

	if (g_strcmp0(restore, facts->cmdline_done) == 0 &&
	    g_strcmp0(rd_restore, facts->rd_cmdline_done) == 0)
		return;
	if (!gbe_state_note_cmdline(app, restore, rd_restore, &error))
		gbe_note("%s", error->message);
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

static void
reject_all(Prerun *p)
{
	const GPtrArray *backups = p->observed != NULL ? p->observed->facts->backups : NULL;

	for (guint i = 0; backups != NULL && i < backups->len; i++) {
		const GbeManifest *backup = backups->pdata[i];

		g_hash_table_add(p->rejected, g_strdup(backup->name));
	}
}

static GbeOutcome
decide(Prerun *p)
{
	GbeOutcome outcome = GBE_OUTCOME_AGAIN;

	for (guint round = 0;
	     outcome == GBE_OUTCOME_WAIT || (outcome == GBE_OUTCOME_AGAIN && round < MAX_ROUNDS);
	     round += outcome == GBE_OUTCOME_AGAIN) {
		outcome = decide_once(p);
		if (g_hash_table_size(p->rejected) >= REJECTED_MAX)
			reject_all(p);
	}
	if (outcome == GBE_OUTCOME_AGAIN) {
		p->cannot_tell = true;
		g_free(p->reason);
		p->reason = g_strdup("the decision does not come to an end");
	}
	return outcome;
}

/* Counts this start until its end is recorded. */
static void
begin_start(Prerun *p)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const char *id = p->booted.id != NULL ? p->booted.id : "";
	g_autoptr(GError) error = NULL;

	gbe_state_observe(p->app, facts);
	say_carried_failure(facts);
	forget_cmdline(p->app, facts);
	if (!gbe_state_begin_start(p->app, id, &error))
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

	gbe_state_observe(p->app, facts);
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
	if (recover(p))
		p->held = decide(p) == GBE_OUTCOME_HELD;
	if (p->cannot_tell)
		return 0;
	/* First, and on a tmpfs: the MOTD takes the reason for the hold from this file, even on a full disk. */
	gbe_prerun_done_write(p->app, p->held, p->reason);
	tidy_up(p);
	end_start(p);
	return p->held ? GBE_EXIT_HELD : 0;
}

/* Nothing can be told, so nothing is done. etcd starts, unless it must not start without a backup: the
 * supervisor's question decides that, with far fewer facts. */
static int
ask(GbeApp *app, const char *reason)
{
	g_autofree char *happened =
	    g_strdup_printf("cannot tell what there is to be done (%s)", reason);
	int status = gbe_supervise_ask(app, happened);

	(void)gbe_supervise_show(app, happened);
	return status;
}

/* False: this program is switched off. */
static bool
configure(Prerun *p)
{
	GbeApp *app = p->app;
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *complaint = NULL;

	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	gbe_deployment_copy(&p->booted, &deployments->booted);
	gbe_configuration_load_for_boot(app, p->booted.id, &complaint);
	if (complaint != NULL) {
		GbeEventFields fields = {.reason = complaint};

		gbe_event_config_bad(&fields);
	}
	if (!gbe_config_is_off(app->config))
		return true;
	gbe_note("off: [etcd] service is empty");
	return false;
}

static bool
lock(GbeApp *app)
{
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {NULL};

	if (gbe_app_lock(app, "prerun", LOCK_WAIT_MS, &error))
		return true;
	fields.reason = error->message;
	gbe_event_start_failed(&fields);
	return false;
}

static void
prerun_clear(Prerun *p)
{
	gbe_observed_free(p->observed);
	gbe_deployment_clear(&p->booted);
	g_hash_table_unref(p->rejected);
	g_free(p->reason);
	gbe_app_unlock(p->app);
}

static void
prerun_init(Prerun *p, GbeApp *app)
{
	*p = (Prerun){.app = app};
	p->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

int
gbe_prerun_run(GbeApp *app)
{
	Prerun p;
	g_autofree char *reason = NULL;
	g_autoptr(GError) error = NULL;
	int status = 0;

	prerun_init(&p, app);
	if (configure(&p)) {
		if (!lock(app) || GBE_FAULT("prerun-locked", &error))
			status = EXIT_ASK_SUPERVISOR;
		else
			status = run_locked(&p);
	}
	if (p.cannot_tell)
		reason = g_steal_pointer(&p.reason);
	prerun_clear(&p);
	if (reason != NULL)
		status = ask(app, reason);
	return status;
}

bool
gbe_prerun_requested(GbeApp *app)
{
	Prerun p;

	app->initramfs = true;
	if (app->cmdline.skip || gbe_observe_cmdline(app, NULL) == NULL)
		return false;
	prerun_init(&p, app);
	if (configure(&p) && lock(app)) {
		begin_start(&p);
		if (recover(&p))
			p.held = decide(&p) == GBE_OUTCOME_HELD;
		end_start(&p);
	}
	prerun_clear(&p);
	return true;
}
