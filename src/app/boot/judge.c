/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * green and red write the verdict first, durably, since a reboot may follow at once. Then they do what follows from
 * it, as far as possible.
 *
 * used records once, during a run, that the run has used the data for longer than [restore] trial-limit. After a power
 * cut there is no closing record, but this record still ends the trial of a system without a judge.
 */
#include "app/boot/boot.h"

#include <time.h>

#include "app/backup/retention.h"
#include "app/health/verdict.h"
#include "app/report/status.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "sys/systemd/events.h"

#define ASK_SECONDS 10

/* greenboot 0.15 shows these lines of green.d in its status. */
#define PREFIX_SHOWN 5

typedef struct Judge {
	GbeApp *app;
	GbeVerdict verdict;
	GbeDeployment booted;
	GbeRunRecord *record; /* the record as it was written; NULL: the data is not this run's */
	bool (*complete)(struct Judge *judge, GError **error); /* asks etcd; NULL: not asked */
} Judge;

static void
say_verdict(const Judge *judge, const char *reason)
{
	GbeEventFields fields = {.action = gbe_verdict_to_string(judge->verdict),
				 .deployment = judge->booted.id,
				 .reason = reason};

	if (judge->record != NULL)
		fields.run = judge->record->run;
	gbe_event_verdict(&fields);
}

/* Writes the verdict for the run that has the data. */
static bool
write_verdict(Judge *judge, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeRunRecord) record = NULL;
	g_autofree char *why = NULL;
	g_autofree char *reason = NULL;
	const GbeTakeOver *own;

	gbe_verdict_finish_restore(judge->app);
	if (!gbe_verdict_note_use(judge->app, error) ||
	    !gbe_verdict_look(judge->app, &judge->booted, &facts, error))
		return false;
	own = gbe_situation_own(facts, &why);
	if (own == NULL) {
		reason = g_strdup_printf("kept as evidence only: %s", why);
		say_verdict(judge, reason);
		return true;
	}
	record = gbe_verdict_record(facts, own);
	record->verdict = judge->verdict;
	record->by_hand = false;
	if (!gbe_state_judge_run(judge->app, gbe_facts_run(facts, own->sequence), record, error))
		return false;
	judge->record = g_steal_pointer(&record);
	return !GBE_FAULT("verdict-judged", error);
}

/* When health did not run, or did not finish, etcd is looked at once, now. */
static bool
complete_health(Judge *judge, GError **error)
{
	g_autoptr(GbeRunRecord) before = gbe_run_record_copy(judge->record);

	gbe_health_ask(judge->app, ASK_SECONDS, judge->record);
	return gbe_state_judge_run(judge->app, before, judge->record, error);
}

static bool
judge_run(Judge *judge, GError **error)
{
	GbeObserveOptions options = {.repair = true};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) later = NULL;

	if (!write_verdict(judge, error))
		return false;
	if (judge->record == NULL)
		return true;
	if (judge->complete != NULL && judge->record->health == GBE_HEALTH_NOT_ASKED &&
	    !judge->complete(judge, &later)) {
		gbe_note("etcd's health is not known: %s", later->message);
		g_clear_error(&later);
	}
	say_verdict(judge,
		    judge->record->health == GBE_HEALTH_HEALTHY ? NULL : judge->record->reason);
	/* Grades, retention, status.json. The verdict stands; the next start repeats the rest. */
	if (!gbe_observe(judge->app, &options, &observed, &later)) {
		gbe_note("%s", later->message);
		return true;
	}
	gbe_verdict_regrade(observed, judge->record);
	/* Nothing is removed while an operation is open: its trees would look like leftovers. */
	if (judge->verdict == GBE_VERDICT_GREEN && observed->facts->intent == NULL &&
	    observed->facts->intent_why == NULL)
		(void)gbe_retention_run(judge->app, observed, NULL, NULL, NULL);
	gbe_status_write(judge->app, observed, NULL);
	return true;
}

static int
run_judge(Judge judge, const char *operation)
{
	GbeApp *app = judge.app;
	g_autoptr(GError) error = NULL;
	bool ok = true;

	if (gbe_verdict_configure(app, &judge.booted)) {
		g_autoptr(GbeGreenboot) greenboot = gbe_greenboot_load(app->root_fd);

		if (judge.verdict == GBE_VERDICT_GREEN && greenboot->flavour == GBE_GREENBOOT_SHELL)
			gbe_events_set_prefix(PREFIX_SHOWN);
		ok = gbe_app_lock(app, operation, GBE_WAIT_VERDICT, &error) &&
		     judge_run(&judge, &error);
		gbe_app_unlock(app);
	}
	if (!ok) {
		g_autofree char *reason = g_strdup_printf("not recorded: %s", error->message);

		say_verdict(&judge, reason);
	}
	gbe_run_record_free(judge.record);
	gbe_deployment_clear(&judge.booted);
	return ok ? 0 : 1;
}

int
gbe_green_run(GbeApp *app)
{
	return run_judge(
	    (Judge){.app = app, .verdict = GBE_VERDICT_GREEN, .complete = complete_health},
	    "green");
}

int
gbe_red_run(GbeApp *app)
{
	return run_judge((Judge){.app = app, .verdict = GBE_VERDICT_RED}, "red");
}

static bool
note_used(GbeApp *app, const GbeDeployment *booted, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autofree char *why = NULL;
	const GbeTakeOver *own;
	struct timespec uptime;

	gbe_verdict_finish_restore(app);
	if (!gbe_verdict_note_use(app, error) || !gbe_verdict_look(app, booted, &facts, error))
		return false;
	own = gbe_situation_own(facts, &why);
	if (own == NULL) {
		gbe_note("the use of the data is not recorded: %s", why);
		return true;
	}
	/* A restore during the run restarts the time: the timer comes again. The clock counts suspended time, as the
	 * take-over does. */
	if (own->used_beyond || own->uptime < 0 || clock_gettime(CLOCK_BOOTTIME, &uptime) < 0 ||
	    uptime.tv_sec - own->uptime < (gint64)app->config->restore.trial_limit)
		return true;
	return gbe_state_note_used(app, own->sequence, error);
}

int
gbe_used_run(GbeApp *app)
{
	GbeDeployment booted = {0};
	g_autoptr(GError) error = NULL;
	bool ok = true;

	if (gbe_verdict_configure(app, &booted)) {
		ok = gbe_app_lock(app, "used", GBE_WAIT_UNIT, &error) &&
		     note_used(app, &booted, &error);
		gbe_app_unlock(app);
	}
	if (!ok)
		gbe_complain("the use of the data is not recorded: %s", error->message);
	gbe_deployment_clear(&booted);
	return ok ? 0 : 1;
}
