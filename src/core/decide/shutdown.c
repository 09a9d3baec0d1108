/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/shutdown.h"

#include "core/decide/decide.h"

/* P(D) for a next deployment without this program, which could not restore it itself. NULL: the data stays. */
static const GbeManifest *
hand_back(const GbeFacts *facts, const GbeView *view)
{
	const GbeManifest *base = gbe_chain_backup(facts, view, 0);
	const GbeListed *next = gbe_facts_listed(facts, facts->next), *booted = NULL;
	guint others = 0;

	if (!facts->config->restore.hand_back || facts->data != GBE_YES ||
	    !facts->fingerprint.present || facts->intent != NULL || facts->intent_why != NULL ||
	    !gbe_view_failed(facts, view) || view->voters > 1 || base == NULL)
		return NULL;
	if (next == NULL || next->booted || next->has_program != GBE_NO)
		return NULL;
	if (base->deployment.id != NULL)
		return gbe_situation_is_of(facts, &base->deployment, base->sequence, &next->ref)
			   ? base
			   : NULL;
	/* A base without an owner goes to the only older deployment. A rollback changes the order of the list, so the
	 * place in it says nothing. */
	GBE_EACH(const GbeListed *, listed, facts->listed) {
		if (listed->booted)
			booted = listed;
		else
			others += !listed->staged;
	}
	return others == 1 && !next->staged && booted != NULL &&
		       next->timestamp <= booted->timestamp
		   ? base
		   : NULL;
}

static void
decide_close(const GbeFacts *facts, GbeShutdown *shutdown)
{
	const GbeManifest *equal = gbe_situation_unchanged(facts);
	const GbeTakeOver *owner = facts->owner;
	GbeWhen when = facts->config->backup.at_shutdown;
	GbeView view;

	/* CLOCK_BOOTTIME is preferred: a device without a battery for its clock gets the time of day from the network,
	 * during the run. */
	if (owner->uptime >= 0 && facts->uptime >= owner->uptime)
		shutdown->used = facts->uptime - owner->uptime;
	else if (facts->now >= owner->at)
		shutdown->used = facts->now - owner->at;
	gbe_view_ended(facts, shutdown->used, &view);
	if (equal != NULL && gbe_deployment_same(&equal->deployment, view.owner))
		shutdown->equal = equal;
	shutdown->cow_only = when == GBE_WHEN_COW_ONLY;
	/* Reasons to take no backup, although the next start could still take it. */
	if (!facts->fingerprint.present)
		shutdown->why = "the data directory cannot be read";
	else if (shutdown->equal != NULL)
		shutdown->why = "nothing has changed since the backup before";
	else if (when == GBE_WHEN_NEVER)
		shutdown->why = "at-shutdown=never";
	else if (shutdown->cow_only && facts->clones != GBE_YES)
		shutdown->why = "this file system is not known to clone (at-shutdown=cow-only)";
	/* The deployment that boots next displaces this data, by rename. */
	else if (gbe_view_failed(facts, &view) && gbe_chain_backup(facts, &view, 0) != NULL)
		shutdown->why = "the data of a failed update is set aside at the next boot";
	if (shutdown->why == NULL) {
		shutdown->backup =
		    gbe_decide_manifest(facts, &view, NULL, false, facts->next_sequence);
		gbe_decide_note_occasion(facts, shutdown->backup, facts->next, "shutdown");
	}
	shutdown->hand_back = hand_back(facts, &view);
	/* The displaced data becomes a backup: a failed trial with a base gets no closing backup. */
	if (shutdown->hand_back != NULL)
		shutdown->displaced =
		    gbe_decide_displaced(facts, &view, false, "the update was not found good",
					 false, facts->next_sequence);
}

GbeShutdown *
gbe_decide_shutdown(const GbeFacts *facts)
{
	GbeShutdown *shutdown = g_new0(GbeShutdown, 1);

	shutdown->used = -1;
	if (facts->data == GBE_NO || gbe_situation_own(facts, NULL) == NULL) {
		shutdown->step = GBE_SHUTDOWN_NOTHING;
	} else if (facts->data_open != GBE_NO) {
		shutdown->step = GBE_SHUTDOWN_WAIT;
	} else {
		shutdown->step = GBE_SHUTDOWN_CLOSE;
		decide_close(facts, shutdown);
	}
	return shutdown;
}

void
gbe_shutdown_free(GbeShutdown *shutdown)
{
	if (shutdown == NULL)
		return;
	gbe_manifest_free(shutdown->backup);
	gbe_manifest_free(shutdown->displaced);
	g_free(shutdown);
}
