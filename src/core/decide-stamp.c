/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stamps that plans carry. */
#include "core/decide.h"

#include "core/decide-private.h"

void
gbe_decide_stamp_common(const GbeFacts *facts, const GbeView *view, const GbeManifest *source,
			guint64 sequence, GbeStamp *stamp)
{
	stamp->format = GBE_FORMAT;
	stamp->sequence = sequence;
	stamp->run = g_strdup(facts->run != NULL ? facts->run : "unknown");
	gbe_deployment_copy(&stamp->deployment, &facts->booted);
	if (source != NULL) {
		gbe_lineage_grow(&stamp->lineage, &source->lineage, source->sequence, sequence);
		stamp->restored_from = g_strdup(source->name);
	} else if (view->owner_known) {
		gbe_lineage_copy(&stamp->lineage, view->lineage);
	} else {
		stamp->lineage.line = sequence;
	}
	stamp->etcd_version = gbe_decide_version_text(facts->etcd_version);
	stamp->voters = view->voters == GBE_VOTERS_UNCLEAR ? 0 : view->voters;
	stamp->mount_point = facts->mount_point;
	stamp->was_default = facts->booted_is_default;
	stamp->stamped = facts->now;
	stamp->uptime = facts->uptime;
	stamp->store_path = g_strdup(facts->store_path);
	stamp->store_fs = g_strdup(facts->store_fs);
	/* The data that is looked at is not the one that comes in its place. */
	stamp->member_id = g_strdup(source != NULL ? source->member_id : facts->member_id);
	stamp->cluster_id = g_strdup(source != NULL ? source->cluster_id : facts->cluster_id);
}

static GbeTrial
new_trial(const Decision *d, guint64 sequence)
{
	GbeTri own = d->situation.own_trial;
	GbeTrial trial = {.on = GBE_YES, .since = sequence};

	if (own == GBE_NO || gbe_situation_was_green(d->facts, &d->facts->booted))
		trial.on = GBE_NO;
	else if (d->ruling.rule == GBE_RULE_10B)
		trial.on = own; /* unknown: counts as no, and stays what it is */
	return trial;
}

void
gbe_decide_stamp_trial(const Decision *d, GbeStamp *stamp)
{
	const GbeFacts *facts = d->facts;

	if (d->ruling.upgrade) {
		stamp->previous =
		    g_strdup(d->ruling.rule == GBE_RULE_10A && d->source != NULL ? d->source->name
										 : d->previous);
		stamp->trial = new_trial(d, stamp->sequence);
	} else if (d->source != NULL && d->source != d->view.source &&
		   d->ruling.move != GBE_DATA_PREVIOUS) {
		/* D's own state comes back with its own past. */
		stamp->previous = g_strdup(d->source->previous);
		stamp->trial = d->source->trial;
		if (gbe_situation_was_green(facts, &facts->booted))
			stamp->trial.on = GBE_NO;
	} else {
		stamp->previous = g_strdup(d->view.previous);
		stamp->trial = d->view.trial;
		if (d->ruling.move == GBE_DATA_PREVIOUS)
			stamp->trial.used = 0;
	}
	stamp->trial.judges = facts->judges;
}

GbeRunRecord *
gbe_decide_run_record(const GbeStamp *stamp)
{
	GbeRunRecord *record = gbe_run_record_new();

	record->sequence = stamp->sequence;
	gbe_deployment_copy(&record->deployment, &stamp->deployment);
	record->run = g_strdup(stamp->run);
	record->trial = stamp->trial.on;
	return record;
}

GbeStamp *
gbe_decide_stamp_by_hand(const GbeFacts *facts, const GbeView *view, const GbeManifest *source,
			 guint64 sequence)
{
	GbeStamp *stamp = g_new0(GbeStamp, 1);
	GbeTri own = gbe_situation_trial_of(facts, &facts->booted);

	gbe_decide_stamp_common(facts, view, source, sequence, stamp);
	if (view->owner_known &&
	    gbe_situation_is_of(facts, view->owner, view->sequence, &facts->booted)) {
		stamp->previous = g_strdup(view->previous);
		stamp->trial = view->trial;
		stamp->trial.used = 0;
	} else {
		stamp->trial.on = own;
		stamp->trial.since = sequence;
	}
	stamp->trial.judges = facts->judges;
	return stamp;
}

void
gbe_decide_stamp_requested(Decision *d, GbeStamp *stamp)
{
	const GbeView *live = &d->live;

	if (live->owner_known) {
		gbe_deployment_clear(&stamp->deployment);
		gbe_deployment_copy(&stamp->deployment, live->owner);
		g_free(stamp->run);
		stamp->run = g_strdup(live->run);
		stamp->previous = g_strdup(live->previous);
		stamp->trial = live->trial;
		stamp->trial.used = 0;
		stamp->was_default = live->was_default;
	} else {
		stamp->trial = new_trial(d, stamp->sequence);
	}
	stamp->by_request = TRUE;
}
