/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts after a plan or a recovery was carried out, for status and explain. */
#include "core/decide/decide.h"
#include "core/decide/past.h"

static void
replace_manifest(GbeFacts *facts, const GbeManifest *manifest)
{
	for (guint i = 0; i < facts->backups->len; i++) {
		GbeManifest *old = facts->backups->pdata[i];

		if (!g_str_equal(old->name, manifest->name))
			continue;
		facts->backups->pdata[i] = gbe_manifest_copy(manifest);
		gbe_manifest_free(old);
		return;
	}
}

static void
add_take_over(GbeFacts *facts, const GbeTakeOver *take_over)
{
	gbe_past_add(facts, gbe_take_over_copy(take_over));
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(take_over);
}

void
gbe_decide_after(GbeFacts *facts, const GbePlan *plan)
{
	for (guint i = 0; i < plan->actions->len; i++) {
		const GbeAction *action = plan->actions->pdata[i];

		if (action->kind == GBE_ACTION_BACKUP || action->kind == GBE_ACTION_DISPLACE)
			g_ptr_array_add(facts->backups, gbe_manifest_copy(action->manifest));
		else if (action->kind == GBE_ACTION_GRADE)
			replace_manifest(facts, action->manifest);
	}
	if (plan->take_over != NULL)
		add_take_over(facts, plan->take_over);
}

void
gbe_decide_recovered(GbeFacts *facts)
{
	g_autoptr(GbeIntent) intent = g_steal_pointer(&facts->intent);

	if (intent == NULL)
		return;
	/* Undone, or lost: that changes no fact. At a mount point the directory stays, and recovery ends the exchange. */
	if (intent->entries == NULL && g_strcmp0(facts->tree, intent->tree_new) != 0)
		return;
	if (intent->displaced != NULL && gbe_facts_backup(facts, intent->displaced->name) == NULL)
		g_ptr_array_add(facts->backups, gbe_manifest_copy(intent->displaced));
	for (guint i = 0; intent->consume && i < facts->backups->len; i++) {
		GbeManifest *backup = facts->backups->pdata[i];

		backup->consumed = backup->consumed || g_str_equal(backup->name, intent->backup);
	}
	if (intent->take_over != NULL)
		add_take_over(facts, intent->take_over);
}
