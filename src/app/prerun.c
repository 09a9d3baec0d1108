/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/configuration.h"
#include "app/execute.h"
#include "app/ledger.h"
#include "app/prerun-done.h"
#include "app/recover.h"
#include "app/state.h"
#include "app/status.h"
#include "app/supervise.h"
#include "app/use-cases.h"
#include "base/fault.h"
#include "core/decide.h"
#include "fs/open.h"
#include "sys/events.h"

#include <string.h>

/* Two requests and up to three candidates that do not validate: more rounds than that are a loop. */
#define MAX_ROUNDS 6
/* Starts of one deployment in a row that did not come to their end. */
#define UNFINISHED_MAX 2
#define TWO_STARTS "two starts in a row did not come to their end"
#define GOES_ON ": etcd starts on what is there, nothing is backed up or restored in this boot"
#define NO_BACKUP                                                                                  \
	", and this deployment must not get the data without a backup: look into `journalctl -u "  \
	"greenboot-etcd-prerun`, then start the service again"
/* How long another deployment's process may take to end. */
#define OPEN_WAIT_USEC (30 * G_USEC_PER_SEC)
#define OPEN_STEP_USEC (200 * 1000)
#define LOCK_WAIT_MS 30000

#define EXIT_HELD 5
/* Nothing that the worker could answer for: the supervisor asks who owns the data. */
#define EXIT_ASK_SUPERVISOR 1

typedef struct {
	GbeApp *app;
	GbeObserved *observed; /* once it could be looked at */
	GHashTable *rejected;
	gboolean held;
	gboolean cannot_tell; /* what there is to be done */
	gboolean give_up;     /* two starts in a row did not end: nothing is begun any more */
	gint64 open_since;    /* monotonic; 0: nobody else has the data open */
	GbeDeployment booted;
	char *reason;
} Prerun;

/* What the last shutdown could not do. */
static void
say_carried_failure(const GbeFacts *facts)
{
	GbeEventFields fields = {.action = facts->failure, .reason = facts->failure_why};

	if (facts->failure != NULL)
		gbe_event_carried(&fields);
}

/* True: the decision may be taken. */
static gboolean
recover(Prerun *p)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeStore) store = NULL;
	g_auto(GbeRecovery) recovery = {0};
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "recover"};

	if (!gbe_data_open(p->app, &data, &error) ||
	    !gbe_store_open(p->app, data, FALSE, &store, &error)) {
		fields.reason = error->message;
		gbe_event_backup_failed(&fields);
		p->reason = g_strdup(error->message);
		p->cannot_tell = TRUE;
		return FALSE;
	}
	if (!gbe_recover(p->app, data, store, &recovery, &error)) {
		fields.reason = error->message;
		gbe_event_restore_failed(&fields);
		p->held = recovery.exchange_open;
		p->cannot_tell = !p->held;
		p->reason = g_strdup(error->message);
		return FALSE;
	}
	if (recovery.recovered || recovery.left_alone) {
		fields.reason = recovery.what;
		gbe_event_recovered(&fields);
	}
	if (recovery.left_alone)
		p->reason = g_strdup(recovery.what);
	return !recovery.left_alone;
}

/* Two starts did not come to their end; this third one begins nothing, so that it does, and the data goes on
 * as it is. Only an upgrade may not have it without its backup. */
static GbeOutcome
give_up(Prerun *p, const GbePlan *plan)
{
	GbeEventFields fields = {.rule = gbe_rule_to_string(plan->rule)};
	GbeRule last = plan->also->len > 0 ? g_array_index(plan->also, GbeRule, plan->also->len - 1)
					   : plan->rule;
	const GbeTakeOver *to = plan->instead != NULL ? plan->instead : plan->take_over;
	g_autoptr(GbePlan) undone = gbe_plan_new();
	g_autofree char *rejected = NULL;
	g_autofree char *held = NULL;

	if (last == GBE_RULE_11 || last == GBE_RULE_12 || plan->hold) {
		p->reason = g_strdup(TWO_STARTS NO_BACKUP);
		fields.reason = p->reason;
		gbe_event_held_back(&fields);
		return GBE_OUTCOME_HELD;
	}
	p->reason = g_strdup(TWO_STARTS GOES_ON);
	fields.reason = p->reason;
	gbe_event_restore_failed(&fields);
	if (to == NULL)
		return GBE_OUTCOME_DONE;
	undone->rule = plan->rule;
	undone->take_over = gbe_take_over_copy(to);
	/* The backup that it names was not taken. */
	gbe_backup_ref_clear(&undone->take_over->found);
	(void)gbe_plan_add(undone, GBE_ACTION_TAKE_OVER, NULL, TWO_STARTS);
	return gbe_execute(p->app, p->observed, undone, &rejected, &held);
}

/* Another deployment's process may be about to end. */
static gboolean
may_wait(Prerun *p, const GbePlan *plan)
{
	gint64 now = g_get_monotonic_time();

	if (plan->rule != GBE_RULE_0 || !plan->hold)
		return FALSE;
	if (p->open_since == 0)
		p->open_since = now;
	if (now - p->open_since > OPEN_WAIT_USEC)
		return FALSE;
	g_usleep(OPEN_STEP_USEC);
	(void)gbe_app_progress(1, p->app);
	return TRUE;
}

static GbeOutcome
decide_once(Prerun *p)
{
	GbeObserveOptions options = {.repair = TRUE, .lock_data = TRUE};
	GbeObserved *observed;
	g_autoptr(GbePlan) plan = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *rejected = NULL;
	g_autofree char *held = NULL;
	GbeOutcome outcome;

	if ((p->observed == NULL ? !gbe_observe(p->app, &options, &p->observed, &error)
				 : !gbe_observe_again(p->app, &options, p->observed, &error)) ||
	    GBE_FAULT("prerun-observed", &error)) {
		GbeEventFields fields = {.action = "observe", .reason = error->message};

		gbe_event_backup_failed(&fields);
		p->cannot_tell = TRUE;
		p->reason = g_strdup(error->message);
		return GBE_OUTCOME_DONE;
	}
	observed = p->observed;
	if (gbe_observe_wants_inside(observed))
		gbe_observe_inside(observed);
	if (observed->facts->rejected == NULL)
		observed->facts->rejected = g_hash_table_ref(p->rejected);
	plan = gbe_decide(observed->facts);
	/* Without ostree's list and with nothing but the root's own mounts, nothing else is decided. */
	if (p->app->initramfs && (p->give_up || plan->rule != GBE_RULE_2)) {
		gbe_execute_failed_request(p->app, observed, plan);
		return GBE_OUTCOME_DONE;
	}
	if (may_wait(p, plan))
		return GBE_OUTCOME_WAIT;
	if (p->give_up && !gbe_plan_is_idle(plan))
		return give_up(p, plan);
	outcome = gbe_execute(p->app, observed, plan, &rejected, &held);
	if (rejected != NULL)
		g_hash_table_add(p->rejected, g_steal_pointer(&rejected));
	if (held != NULL)
		p->reason = g_steal_pointer(&held);
	return outcome;
}

/* A boot whose command line lacks the request makes it due again. */
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

/* Old backups, old records, what people see: nothing of it is worth a failed boot. */
static void
tidy_up(Prerun *p)
{
	GbeObserveOptions options = {.repair = TRUE};
	GbeObserved *observed = p->observed;
	g_autoptr(GError) error = NULL;

	if (observed == NULL || !gbe_observe_again(p->app, &options, observed, &error)) {
		gbe_note("%s", error != NULL ? error->message : p->reason);
		return;
	}
	if (!p->held && !p->give_up) {
		if (!gbe_state_note_gone(p->app, observed->facts, &error) ||
		    !gbe_ledger_compact(p->app, observed->facts, &error))
			gbe_note("%s", error->message);
		gbe_execute_retention(p->app, observed);
	}
	gbe_status_write(p->app, observed, NULL);
}

static GbeOutcome
decide(Prerun *p)
{
	GbeOutcome outcome = GBE_OUTCOME_AGAIN;

	for (guint round = 0;
	     outcome == GBE_OUTCOME_WAIT || (outcome == GBE_OUTCOME_AGAIN && round < MAX_ROUNDS);
	     round += outcome == GBE_OUTCOME_AGAIN)
		outcome = decide_once(p);
	return outcome;
}

/* Counts this start, and knows how many before it did not come to their end. */
static void
begin_start(Prerun *p)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const char *id = p->booted.id != NULL ? p->booted.id : "";
	g_autoptr(GError) error = NULL;

	gbe_state_observe(p->app, facts);
	say_carried_failure(facts);
	forget_cmdline(p->app, facts);
	p->give_up = GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id)) >= UNFINISHED_MAX;
	if (!gbe_state_begin_start(p->app, id, &error))
		gbe_note("%s", error->message);
}

/* Every answer is an end; what crashed or hung does not come here. On the disk before etcd starts: a take-over
 * whose start has no end is one whose etcd never ran. */
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
	if (!gbe_state_end_start(p->app, id, of, p->held, p->reason, &error))
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
	/* First, and on a tmpfs: the MOTD says from it why etcd is held back, on a full disk as well. */
	gbe_prerun_done_write(p->app, p->held, p->reason);
	tidy_up(p);
	end_start(p);
	return p->held ? EXIT_HELD : 0;
}

/* Nothing can be told, so nothing is done; and etcd starts, unless that is what must not be done without a
 * backup. The supervisor's question, which takes far less to answer. */
static int
ask(GbeApp *app, const char *reason)
{
	g_autofree char *happened =
	    g_strdup_printf("cannot tell what there is to be done (%s)", reason);
	int status = gbe_supervise_ask(app, happened);

	(void)gbe_supervise_show(app, happened);
	return status;
}

/* False: the program is switched off. */
static gboolean
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
	if (app->config->etcd.service != NULL && *app->config->etcd.service != '\0')
		return TRUE;
	gbe_note("off: [etcd] service is empty");
	return FALSE;
}

static gboolean
lock(GbeApp *app)
{
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {NULL};

	if (gbe_app_lock(app, "prerun", LOCK_WAIT_MS, &error))
		return TRUE;
	fields.reason = error->message;
	gbe_event_backup_failed(&fields);
	return FALSE;
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

gboolean
gbe_prerun_requested(GbeApp *app)
{
	Prerun p;

	app->initramfs = TRUE;
	if (app->cmdline.skip || gbe_observe_cmdline(app, NULL) == NULL)
		return FALSE;
	prerun_init(&p, app);
	if (configure(&p) && lock(app)) {
		begin_start(&p);
		if (recover(&p))
			p.held = decide(&p) == GBE_OUTCOME_HELD;
		end_start(&p);
	}
	prerun_clear(&p);
	return TRUE;
}
