/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/configuration.h"
#include "app/execute.h"
#include "app/recover.h"
#include "app/state.h"
#include "app/status.h"
#include "app/supervise.h"
#include "app/use-cases.h"
#include "base/fault.h"
#include "core/decide.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/reserve.h"
#include "fs/write.h"
#include "sys/events.h"

#include <string.h>

/* Rule 2 and up to three candidates that do not validate: more rounds than that are a loop. */
#define MAX_ROUNDS 6
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
	gboolean
	    give_up; /* two starts in a row did not come to their end: nothing is begun any more */
	char *reason;
} Prerun;

static void
say_carried_failure(GbeApp *app)
{
	g_autoptr(JsonObject) failure = NULL;
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {0};

	if (!gbe_state_read(app, GBE_STATE_FAILURE, TRUE, &failure, &error) || failure == NULL)
		return;
	fields.action = gbe_json_string(failure, "operation", NULL);
	fields.reason = gbe_json_string(failure, "reason", NULL);
	gbe_event_carried(&fields);
	/* Said; it stays in the last operation for status. */
	if (!gbe_state_remove(app, GBE_STATE_FAILURE, &error))
		gbe_note("%s", error->message);
}

/* The stamp is written on the data's file system, which by default is the store's. */
static bool
has_own_reserve(GbeApp *app, const GbeStore *store)
{
	return store->fd >= 0 && !gbe_same_filesystem(store->fd, app->state_fd);
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
	if (has_own_reserve(p->app, store))
		gbe_reserve_release_at(store->fd, "." GBE_RESERVE_NAME);
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

/* Two starts did not come to their end; this third one begins nothing, so that it does. Only an upgrade
 * may not have the data without its backup. */
static GbeOutcome
give_up(Prerun *p, const GbePlan *plan)
{
	GbeEventFields fields = {.rule = gbe_rule_to_string(plan->rule)};
	g_autoptr(GError) error = NULL;
	GbeRule last = plan->also->len > 0 ? g_array_index(plan->also, GbeRule, plan->also->len - 1)
					   : plan->rule;
	gboolean forward = last == GBE_RULE_11 || last == GBE_RULE_12 || plan->hold;

	fields.reason =
	    forward ? "two starts in a row did not come to their end, and this deployment "
		      "must not get the data without a backup: look into `journalctl -u "
		      "greenboot-etcd-prerun`, then start the service again"
		    : "two starts in a row did not come to their end: etcd starts on what is "
		      "there, nothing is backed up or restored in this boot";
	if (forward)
		gbe_event_held_back(&fields);
	else
		gbe_event_restore_failed(&fields);
	/* What etcd writes now is still the recorded owner's. */
	if (!forward && !gbe_data_clear_closing(p->observed->data, &error))
		gbe_note("closing record: %s", error->message);
	p->reason = g_strdup(fields.reason);
	return forward ? GBE_OUTCOME_HELD : GBE_OUTCOME_DONE;
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

	if (p->observed == NULL ? !gbe_observe(p->app, &options, &p->observed, &error)
				: !gbe_observe_again(p->app, &options, p->observed, &error)) {
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
	if (GBE_FAULT("prerun-decided", &error))
		return GBE_OUTCOME_DONE;
	/* Without ostree's list and with nothing but the root's own mounts, nothing else is decided. */
	if (p->app->initramfs && (p->give_up || plan->rule != GBE_RULE_2)) {
		gbe_execute_failed_request(p->app, observed, plan);
		return GBE_OUTCOME_DONE;
	}
	if (p->give_up && !gbe_plan_is_idle(plan))
		return give_up(p, plan);
	outcome = gbe_execute(p->app, observed, plan, &rejected, &held);
	if (rejected != NULL)
		g_hash_table_add(p->rejected, g_steal_pointer(&rejected));
	if (held != NULL)
		p->reason = g_steal_pointer(&held);
	return outcome;
}

/* The next boot whose command line lacks the request makes it due again. */
static void
forget_cmdline(GbeApp *app)
{
	g_autoptr(GError) error = NULL;

	if (app->cmdline.restore == NULL && !gbe_state_remove(app, GBE_STATE_CMDLINE, &error))
		gbe_note("%s", error->message);
	g_clear_error(&error);
	if (app->cmdline.rd_restore == NULL && !gbe_state_remove(app, GBE_STATE_RD_CMDLINE, &error))
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
		    !gbe_state_prune_runs(p->app, observed->facts, &error))
			gbe_note("%s", error->message);
		gbe_execute_retention(p->app, observed);
	}
	gbe_status_write(p->app, observed, NULL);
}

static void
write_done(Prerun *p)
{
	g_autoptr(JsonObject) done = json_object_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	gbe_autofd int run_fd = -1;

	json_object_set_int_member(done, "ended", g_get_real_time() / G_USEC_PER_SEC);
	json_object_set_int_member(done, "monotonic_usec", g_get_monotonic_time());
	json_object_set_boolean_member(done, "held", p->held);
	gbe_json_set_string(done, "reason", p->reason);
	text = gbe_json_print_object(done);
	if (!gbe_make_dirs(p->app->root_fd, GBE_RUN_DIR, 0755, &run_fd, &error) ||
	    !gbe_write_file_at(run_fd, GBE_PRERUN_DONE, text, strlen(text), 0644, GBE_WRITE_LATER,
			       &error))
		gbe_note("%s", error->message);
}

static GbeOutcome
decide(Prerun *p)
{
	GbeOutcome outcome = GBE_OUTCOME_AGAIN;

	for (guint round = 0; outcome == GBE_OUTCOME_AGAIN && round < MAX_ROUNDS; round++)
		outcome = decide_once(p);
	return outcome;
}

static int
run_locked(Prerun *p)
{
	say_carried_failure(p->app);
	forget_cmdline(p->app);
	if (recover(p))
		p->held = decide(p) == GBE_OUTCOME_HELD;
	if (p->cannot_tell)
		return 0;
	/* First, and on a tmpfs: the MOTD says from it why etcd is held back, on a full disk as well. */
	write_done(p);
	tidy_up(p);
	if (p->observed != NULL && has_own_reserve(p->app, p->observed->store))
		gbe_reserve_keep_at(p->observed->store->fd, "." GBE_RESERVE_NAME);
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
configure(GbeApp *app)
{
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *complaint = NULL;

	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	gbe_configuration_load_for_boot(app, deployments->booted.id, &complaint);
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
	g_hash_table_unref(p->rejected);
	g_free(p->reason);
	gbe_app_unlock(p->app);
}

int
gbe_prerun_run(GbeApp *app, guint unfinished)
{
	Prerun p = {.app = app, .give_up = unfinished >= 2};
	g_autofree char *reason = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	if (!configure(app))
		return 0;
	if (!lock(app) || GBE_FAULT("prerun-locked", &error))
		return EXIT_ASK_SUPERVISOR;
	p.rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	status = run_locked(&p);
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
	Prerun p = {.app = app};
	const char *record;

	app->initramfs = TRUE;
	if (app->cmdline.skip || gbe_state_cmdline(app, &record) == NULL)
		return FALSE;
	p.give_up = gbe_state_begin_start(app) >= 2;
	if (configure(app) && lock(app)) {
		p.rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		if (recover(&p))
			(void)decide(&p);
		prerun_clear(&p);
	}
	gbe_state_end_start(app);
	return TRUE;
}
