/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand/by-hand.h"

#include "app/backup/restore.h"
#include "app/by-hand/session.h"
#include "app/health/look.h"
#include "app/health/verdict.h"
#include "app/state/state.h"
#include "core/backup-name.h"
#include "core/decide/situation.h"
#include "sys/systemd/events.h"

#define PROBE_MS 10000

static bool
check_reason(const char *reason, GError **error)
{
	if (reason != NULL && !g_utf8_validate(reason, -1, NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "the reason is not UTF-8");
	return true;
}

static bool
judge_run(GbeSession *session, bool good, const char *reason, bool dry_run, GError **error)
{
	const GbeFacts *facts = session->observed->facts;
	GbeApp *app = session->app;
	GbeEventFields fields = {.action = good ? "green" : "red", .reason = reason};
	g_autoptr(GbeRunRecord) after = NULL;
	g_autofree char *why = NULL;
	const GbeTakeOver *own = gbe_situation_own(facts, &why);

	if (own == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s: only the run that has the data can be judged; start "
				 "greenboot-etcd-prerun.service, or name a backup",
				 why);
	if (dry_run)
		return true;
	after = gbe_verdict_record(facts, own);
	after->verdict = good ? GBE_VERDICT_GREEN : GBE_VERDICT_RED;
	after->by_hand = true;
	g_free(after->reason);
	after->reason = g_strdup(reason);
	if (good && after->health != GBE_HEALTH_HEALTHY) {
		g_autoptr(GbeHealthLook) look = gbe_health_look_new(app);

		gbe_health_look_expect_own(look);
		/* The person accepts the empty database. */
		look->facts->began_empty = false;
		gbe_health_look_now(look, PROBE_MS);
		gbe_verdict_note_health(after, look->facts, look->report);
	}
	if (!gbe_state_judge_run(app, gbe_facts_run(facts, own->sequence), after, error))
		return false;
	gbe_verdict_regrade(session->observed, after);
	fields.deployment = facts->booted.id;
	fields.run = facts->run;
	gbe_event_verdict(&fields);
	return true;
}

bool
gbe_by_hand_mark_run(GbeApp *app, bool good, const char *reason, bool dry_run, GError **error)
{
	GbeSessionOptions how = {.operation = "mark", .dry_run = dry_run};
	GbeSession session;

	return check_reason(reason, error) && gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(&session, judge_run(&session, good, reason, dry_run, error),
				  error);
}

static bool
grade_backup(GbeSession *session, const char *name, bool good, const char *reason, bool dry_run,
	     GError **error)
{
	GbeEventFields fields = {.backup = name, .action = good ? "good" : "bad"};
	g_autoptr(GbeManifest) changed = NULL;
	const GbeManifest *manifest;

	if (!gbe_session_find(session->observed, name, &manifest, error))
		return false;
	if (good && !manifest->consumed &&
	    !gbe_restore_validate(session->app, session->observed->store, manifest, NULL, error))
		return false;
	if (dry_run)
		return true;
	changed = gbe_manifest_copy(manifest);
	changed->grade = good ? GBE_GRADE_GOOD : GBE_GRADE_BAD;
	g_free(changed->grade_reason);
	changed->grade_reason = g_strdup(reason != NULL ? reason : good ? NULL : "marked by hand");
	if (!gbe_store_write_manifest(session->observed->store, changed, error))
		return false;
	gbe_state_note_entry(session->app, GBE_LEDGER_GRADED, changed, changed->grade_reason);
	gbe_session_record(session, "done", reason, name);
	fields.reason = reason;
	fields.deployment = changed->deployment.id;
	gbe_event_graded(&fields);
	return true;
}

bool
gbe_by_hand_mark_backup(GbeApp *app, const char *name, bool good, const char *reason, bool dry_run,
			GError **error)
{
	GbeSessionOptions how = {.operation = "mark", .dry_run = dry_run};
	GbeSession session;

	return gbe_backup_name_check(name, error) && check_reason(reason, error) &&
	       gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(
		   &session, grade_backup(&session, name, good, reason, dry_run, error), error);
}
