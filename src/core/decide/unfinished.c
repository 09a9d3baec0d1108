/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decisions where prerun does not end: for the next start, and for the supervisor. */
#include "core/decide/decision.h"

#define TWO_STARTS "two starts in a row did not come to their end"
#define GOES_ON ": etcd starts on what is there, nothing is backed up or restored in this boot"
#define NO_BACKUP                                                                                  \
	", and this deployment must not get the data without a backup: look into `journalctl -u "  \
	"greenboot-etcd-prerun`, then start the service again"
#define NO_DATA                                                                                    \
	", and without the backup that is due etcd has no data that it can read: look into "       \
	"`journalctl -u greenboot-etcd-prerun`, then start the service again"

/* How many starts of a deployment in a row may fail to end before one that begins nothing. */
#define UNFINISHED_MAX 2

bool
gbe_decide_gives_up(const GbeFacts *facts)
{
	const char *id = facts->booted.id != NULL ? facts->booted.id : "";

	return GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id)) > UNFINISHED_MAX;
}

GbePlan *
gbe_decide_unopened(const GbeFacts *facts)
{
	g_autofree char *objection = gbe_decide_fallback(facts);
	GbePlan *plan = gbe_plan_new();

	plan->rule = GBE_RULE_0;
	plan->reason =
	    g_strdup_printf("%s%s%s", facts->unopened_why,
			    objection != NULL ? "; and " : "; etcd starts on what is there",
			    objection != NULL ? objection : "");
	plan->hold = objection != NULL;
	(void)gbe_plan_add(plan, plan->hold ? GBE_ACTION_HOLD : GBE_ACTION_KEEP, NULL,
			   plan->reason);
	return plan;
}

GbePlan *
gbe_decide_unfinished(const GbePlan *plan)
{
	bool restores = gbe_plan_find(plan, GBE_ACTION_RESTORE) != NULL;
	/* Without ostree, etcd goes on with what it has. */
	bool has_deployment = plan->take_over != NULL && plan->take_over->deployment.id != NULL;
	/* The take-over of a restore says what lies there once it is done. */
	const GbeTakeOver *to = restores ? plan->instead : plan->take_over;
	GbePlan *undone = gbe_plan_new();

	undone->rule = plan->rule;
	undone->unfinished = true;
	undone->must_record = plan->must_record;
	undone->opened = plan->opened;
	if (plan->forward || plan->hold || (restores && to == NULL && has_deployment)) {
		undone->hold = true;
		undone->reason = g_strdup(plan->forward || plan->hold ? TWO_STARTS NO_BACKUP
								      : TWO_STARTS NO_DATA);
		(void)gbe_plan_add(undone, GBE_ACTION_HOLD, NULL, undone->reason);
		return undone;
	}
	undone->reason = g_strdup(TWO_STARTS GOES_ON);
	if (to == NULL)
		return undone;
	undone->take_over = gbe_take_over_copy(to);
	/* The backup that ->found names was not taken. */
	gbe_backup_ref_clear(&undone->take_over->found);
	(void)gbe_plan_add(undone, GBE_ACTION_TAKE_OVER, NULL, TWO_STARTS);
	return undone;
}

char *
gbe_decide_fallback(const GbeFacts *facts)
{
	const GbeTakeOver *last;

	if (facts->ledger == GBE_UNKNOWN)
		return g_strdup_printf("whether an operation on the data is open cannot be told "
				       "(%s)",
				       facts->ledger_why);
	if (facts->intent != NULL || facts->intent_why != NULL)
		return g_strdup("an operation on the data is open");
	/* Without ostree no other deployment can have had the data. */
	if (facts->ostree == GBE_NO || facts->skip || gbe_config_is_off(facts->config))
		return NULL;
	if (facts->member && gbe_facts_lack_log(facts))
		return g_strdup("this is a member of a cluster, and its data, or its log, is gone");
	if (facts->booted.id == NULL)
		return g_strdup_printf("the booted deployment cannot be told (%s)",
				       facts->booted_why);
	/* Data behind a link has no owner here. It is another deployment's only where the ledger knows of one. */
	last = facts->owner;
	if (last == NULL && facts->unopened_why != NULL && !facts->holes && !facts->lost) {
		if (facts->take_overs->len == 0)
			return NULL;
		last = facts->take_overs->pdata[facts->take_overs->len - 1];
	}
	if (last == NULL)
		return g_strdup_printf("who had the data last is not known (%s)", facts->owner_why);
	if (!gbe_deployment_same(&last->deployment, &facts->booted))
		return g_strdup("another deployment had the data last");
	return NULL;
}
