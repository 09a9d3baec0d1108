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

typedef struct {
	GbeSession session;
	const char *name; /* of the backup; NULL: the run is marked */
	const char *reason;
	bool good;
} Mark;

static bool
judge_run(gpointer change, GError **error)
{
	Mark *mark = change;
	const GbeFacts *facts = mark->session.observed->facts;
	GbeApp *app = mark->session.change.app;
	const GbeEventFields fields = {.action = mark->good ? "green" : "red",
				       .reason = mark->reason,
				       .deployment = facts->booted.id,
				       .run = facts->run};
	g_autoptr(GbeRunRecord) after = NULL;
	g_autofree char *why = NULL;
	const GbeTakeOver *own = gbe_situation_own(facts, &why);

	if (own == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "this run cannot be judged: %s; start "
				 "greenboot-etcd-prerun.service, or name a backup",
				 why);
	if (mark->session.how.dry_run)
		return true;
	after = gbe_verdict_record(facts, own);
	after->verdict = mark->good ? GBE_VERDICT_GREEN : GBE_VERDICT_RED;
	after->by_hand = true;
	g_free(after->reason);
	after->reason = g_strdup(mark->reason);
	if (mark->good && after->health != GBE_HEALTH_HEALTHY) {
		g_autoptr(GbeHealthLook) look = gbe_health_look_new(app);

		gbe_health_look_expect_own(look);
		/* The person accepts the empty database. */
		look->facts->began_empty = false;
		gbe_health_look_now(look, PROBE_MS);
		gbe_verdict_note_health(after, look->facts, look->report);
	}
	if (!gbe_state_judge_run(app, gbe_facts_run(facts, own->sequence), after, error))
		return false;
	gbe_verdict_regrade(mark->session.observed, after);
	gbe_event_verdict(&fields);
	return true;
}

static bool
grade_backup(gpointer change, GError **error)
{
	Mark *mark = change;
	GbeSession *session = &mark->session;
	GbeStore *store = session->observed->store;
	GbeEventFields fields = {.backup = mark->name,
				 .action = mark->good ? "good" : "bad",
				 .reason = mark->reason};
	g_autoptr(GbeManifest) changed = NULL;
	const GbeManifest *manifest;

	if (!gbe_session_find(session->observed, mark->name, &manifest, error))
		return false;
	if (mark->good && !manifest->consumed &&
	    !gbe_restore_validate(session->change.app, store, manifest, NULL, error))
		return false;
	if (session->how.dry_run)
		return true;
	changed = gbe_manifest_copy(manifest);
	changed->grade = mark->good ? GBE_GRADE_GOOD : GBE_GRADE_BAD;
	g_free(changed->grade_reason);
	changed->grade_reason = g_strdup(mark->reason != NULL ? mark->reason
					 : mark->good	      ? NULL
							      : "marked by hand");
	if (!gbe_store_write_manifest(store, changed, error))
		return false;
	gbe_state_note_entry(session->change.app, GBE_LEDGER_GRADED, changed,
			     changed->grade_reason);
	gbe_session_record(session, "done", mark->reason, mark->name);
	fields.deployment = changed->deployment.id;
	gbe_event_graded(&fields);
	return true;
}

bool
gbe_by_hand_mark(GbeApp *app, const char *name, bool good, const char *reason, bool dry_run,
		 GError **error)
{
	Mark mark = {.session.how = {.operation = "mark", .dry_run = dry_run},
		     .name = name,
		     .reason = reason,
		     .good = good};

	if (name != NULL && !gbe_backup_name_check(name, error))
		return false;
	if (reason != NULL && !g_utf8_validate(reason, -1, NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "the reason is not UTF-8");
	return name != NULL ? gbe_session_do(&mark, app, "mark-backup-graded", grade_backup, error)
			    : gbe_session_do(&mark, app, "mark-run-judged", judge_run, error);
}
