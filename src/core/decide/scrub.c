/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/scrub.h"

#include "core/decide/situation.h"

static bool
settled(const GbeFacts *facts)
{
	GbeView view;

	if (facts->judges == GBE_NO)
		return true;
	if (!gbe_facts_taken_in_this_run(facts))
		return false;
	gbe_view_live(facts, &view);
	return view.verdict == GBE_VERDICT_GREEN;
}

/* A clock that stands still, or went back, causes one reading too many at most. */
static bool
due(const GbeManifest *backup, gint64 now)
{
	if (backup->consumed || backup->grade == GBE_GRADE_BAD)
		return false;
	return backup->scrubbed < 0 || backup->scrubbed > now ||
	       now - backup->scrubbed >= GBE_SCRUB_INTERVAL;
}

static gint
by_need(gconstpointer a, gconstpointer b)
{
	const GbeManifest *x = *(const GbeManifest *const *)a, *y = *(const GbeManifest *const *)b;

	if (x->scrubbed != y->scrubbed)
		return x->scrubbed < y->scrubbed ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence > y->sequence ? -1 : 1;
	return g_strcmp0(x->name, y->name);
}

GPtrArray *
gbe_scrub_plan(const GbeFacts *facts)
{
	GPtrArray *plan = g_ptr_array_new();

	if (facts->config->backup.verify == GBE_BACKUP_VERIFY_NONE || !settled(facts))
		return plan;
	for (guint i = 0; i < facts->backups->len; i++)
		if (due(facts->backups->pdata[i], facts->now))
			g_ptr_array_add(plan, facts->backups->pdata[i]);
	g_ptr_array_sort(plan, by_need);
	return plan;
}
