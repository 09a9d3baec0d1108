/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/backup.h"
#include "app/report/status.h"
#include "core/decide/decide.h"

/* The start of @id, which lacks this program. A hand-back belongs to the shutdown before that start. */
static GbePlan *
plan_without_program(const char *id)
{
	GbePlan *plan = gbe_plan_new();

	plan->rule = GBE_RULE_SKIP;
	plan->reason = g_strdup_printf("%s does not carry greenboot-etcd: nothing is backed up or "
				       "restored there",
				       id);
	gbe_plan_add(plan, GBE_ACTION_KEEP, NULL, plan->reason);
	return plan;
}

GbePlan *
gbe_foresee_again(GbeObserved *observed)
{
	const char *id = observed->facts->booted.id;
	const GbeListed *listed = id != NULL ? gbe_facts_listed(observed->facts, id) : NULL;
	g_autoptr(GError) error = NULL;
	GbePlan *plan;

	/* The booted system runs this program, wherever it lies. */
	if (listed != NULL && !listed->booted && listed->has_program == GBE_NO)
		return plan_without_program(id);
	plan = gbe_decide(observed->facts);
	if (gbe_plan_find(plan, GBE_ACTION_BACKUP) != NULL && !gbe_backup_foresee(observed, &error))
		gbe_plan_fail_backup(plan, error);
	return plan;
}

bool
gbe_foresee(GbeObserved *observed, const GbeExplainOptions *options, GbePlan **ret_plan,
	    GError **error)
{
	static const GbeExplainOptions plain = {0};
	const GbeExplainOptions *how = options != NULL ? options : &plain;

	gbe_observe_live(observed, how->live);
	if (!gbe_observe_next_boot(observed, how->booted, how->verdict, how->deliberate, error))
		return false;
	/* As prerun does before it decides. */
	if (gbe_decide_needs_inside(observed->facts))
		gbe_observe_inside(observed);
	*ret_plan = gbe_foresee_again(observed);
	return true;
}
