/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in the words of people: no rule numbers. */
#include "core/decide/plan.h"

/* Why a backup comes back. */
static char *
restore_words(const GbePlan *plan, const char *name)
{
	if (plan->rule == GBE_RULE_2)
		return g_strdup_printf("backup %s is restored, as requested", name);
	if (plan->rule == GBE_RULE_9 || plan->rule == GBE_RULE_10A)
		return g_strdup("the data from before the update comes back");
	if (plan->rule == GBE_RULE_10B)
		return g_strdup("the data that this system left comes back");
	return g_strdup_printf("backup %s replaces the %sdata", name,
			       plan->rule == GBE_RULE_5A ? "damaged " : "");
}

char *
gbe_plan_words(const GbePlan *plan)
{
	const GbeAction *restore = gbe_plan_find(plan, GBE_ACTION_RESTORE);

	if (plan->hold)
		return g_strdup("etcd is held back");
	if (restore != NULL)
		return restore_words(plan, restore->name);
	if (gbe_plan_find(plan, GBE_ACTION_FRESH) != NULL)
		return g_strdup("etcd starts without data");
	if (gbe_plan_find(plan, GBE_ACTION_BACKUP) != NULL)
		return g_strdup("the data is kept and backed up");
	return g_strdup("the data is kept");
}
