/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The chain of bases (decisions.md, "Terms"), as the take-over of the data in view recorded it. */
#include "core/situation.h"

#include "core/situation-private.h"

static const GbeLink *
link_at(const GbeView *view, int at)
{
	const GPtrArray *chain = view->take_over != NULL ? view->take_over->chain : NULL;

	return chain != NULL && at >= 0 && (guint)at < chain->len ? chain->pdata[at] : NULL;
}

static int
length(const GbeView *view)
{
	return view->take_over != NULL ? (int)view->take_over->chain->len : 0;
}

int
gbe_chain_own(const GbeFacts *facts, const GbeView *view)
{
	for (int i = 0; i < length(view); i++) {
		const GbeLink *link = link_at(view, i);

		/* An attempt of O's own is no base to come back to. */
		if (link->owner.id != NULL &&
		    gbe_situation_is_of(facts, &link->owner, link->backup.sequence,
					&facts->booted) &&
		    !gbe_deployment_same(&link->owner, view->owner))
			return i;
	}
	return -1;
}

int
gbe_chain_end(const GbeFacts *facts, const GbeView *view)
{
	for (int i = length(view) - 1; i >= 0; i--)
		if (gbe_chain_backup(facts, view, i) != NULL)
			return i;
	return -1;
}

int
gbe_chain_unwound(const GbeFacts *facts, const GbeView *view)
{
	for (int i = 0; i < length(view); i++)
		if (!link_at(view, i)->failed && gbe_chain_backup(facts, view, i) != NULL)
			return i;
	return gbe_chain_end(facts, view);
}

const GbeManifest *
gbe_chain_backup(const GbeFacts *facts, const GbeView *view, int at)
{
	const GbeLink *link = link_at(view, at);
	const GbeManifest *backup = link != NULL ? gbe_facts_backup_of(facts, &link->backup) : NULL;

	if (backup == NULL || !gbe_situation_restorable(facts, backup) ||
	    gbe_situation_rejected(facts, backup->name))
		return NULL;
	return backup;
}
