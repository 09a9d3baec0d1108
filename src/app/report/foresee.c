/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/backup.h"
#include "app/report/status.h"
#include "core/decide/decide.h"

GbePlan *
gbe_foresee_again(GbeObserved *observed)
{
	GbePlan *plan = gbe_decide(observed->facts);
	g_autoptr(GError) error = NULL;

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
