/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/situation.h"

#include "core/backup-name.h"
#include "core/situation-private.h"

static GbeBaseIs
base_is(const GbeFacts *facts, const GbeView *view, int at)
{
	const GbeManifest *backup = gbe_chain_backup(facts, view, at);

	if (backup == NULL)
		return GBE_BASE_NONE;
	return backup->grade == GBE_GRADE_BAD ? GBE_BASE_BAD : GBE_BASE_VALID;
}

static GbeRequestIs
request_is(const GbeFacts *facts, const GbeView *view)
{
	const GbeManifest *backup;

	if (facts->request.kind == GBE_REQUEST_NONE)
		return GBE_REQUEST_IS_NONE;
	/* Due in a later run than the one in which it was asked; a run that cannot be told is none. */
	if (!facts->request.from_cmdline &&
	    (facts->run == NULL || g_strcmp0(facts->run, facts->request.run) == 0))
		return GBE_REQUEST_IS_NONE;
	backup = gbe_situation_request(facts);
	if (backup == NULL || facts->request_why != NULL || backup->consumed ||
	    gbe_situation_rejected(facts, backup->name))
		return GBE_REQUEST_IS_IMPOSSIBLE;
	/* An undo takes the data displaced last, even if it was graded bad. */
	if (!facts->request.force &&
	    ((backup->grade == GBE_GRADE_BAD && facts->request.kind != GBE_REQUEST_UNDO) ||
	     backup->voters > 1 || view->voters > 1 || !gbe_situation_restorable(facts, backup) ||
	     gbe_situation_backup_usable(facts, backup) == GBE_NO))
		return GBE_REQUEST_IS_IMPOSSIBLE;
	return GBE_REQUEST_IS_READY;
}

static gboolean
closing_back(const GbeFacts *facts, const GbeTakeOver *owner)
{
	const GbeClosing *closing = &owner->closing;
	const GbeManifest *backup = gbe_facts_backup_of(facts, &closing->backup);
	gint64 since;

	if (backup == NULL || backup->grade == GBE_GRADE_BAD ||
	    !gbe_situation_restorable(facts, backup) || gbe_situation_rejected(facts, backup->name))
		return FALSE;
	if (closing->next == NULL || g_str_equal(closing->next, owner->deployment.id))
		return FALSE;
	if (facts->last_write < 0 || closing->at <= 0)
		return FALSE;
	since = facts->last_write - closing->at;
	return since >= 0 && (guint64)since <= facts->config->restore.trial_limit;
}

static GbeTri
same_run(const char *a, const char *b)
{
	if (a == NULL || b == NULL || !gbe_run_id_valid(a) || !gbe_run_id_valid(b))
		return GBE_UNKNOWN;
	return gbe_tri(g_str_equal(a, b));
}

static GbeTri
older_listed(const GbeFacts *facts)
{
	const GbeListed *self = NULL;

	if (facts->listed == NULL)
		return GBE_UNKNOWN;
	for (guint i = 0; i < facts->listed->len && self == NULL; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (gbe_deployment_same(&listed->ref, &facts->booted))
			self = listed;
	}
	if (self == NULL)
		return GBE_UNKNOWN;
	for (guint i = 0; i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (listed == self || listed->staged)
			continue;
		if (listed->timestamp < self->timestamp ||
		    (listed->timestamp == self->timestamp && listed->index > self->index))
			return GBE_YES;
	}
	return GBE_NO;
}

static GbeTri
view_usable(const GbeFacts *facts, const GbeView *view, const GbeManifest *candidate)
{
	GbeVersion app = facts->data_version;
	GbeTri above;

	if (view->source != NULL) {
		app = gbe_version_parse(view->source->data_version);
		above = gbe_version_above(gbe_version_parse(gbe_manifest_needs(view->source)),
					  facts->etcd_version);
	} else {
		above = gbe_version_above(facts->storage_version.known ? facts->storage_version
								       : facts->cluster_version,
					  facts->etcd_version);
	}
	if (above == GBE_YES)
		return GBE_NO;
	if (candidate != NULL && candidate != view->source &&
	    gbe_version_above(app, gbe_version_parse(candidate->data_version)) == GBE_YES)
		return GBE_NO;
	return above == GBE_UNKNOWN ? GBE_UNKNOWN : GBE_YES;
}

static void
derive_chain(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	int own = gbe_chain_own(facts, view);

	s->base = base_is(facts, view, 0);
	s->in_chain = own >= 0;
	s->chain_own = base_is(facts, view, own);
	s->chain_end = base_is(facts, view, gbe_chain_end(facts, view));
	s->unwound = base_is(facts, view, gbe_chain_unwound(facts, view));
}

/* Etcd's own part says that somebody else has written; the rest only that it is not unchanged. */
static GbeClosingIs
closing_is(const GbeClosing *closing, const GbeFingerprint *now)
{
	if (!closing->present || !now->present)
		return GBE_CLOSING_NONE;
	if (gbe_fingerprint_equal(&closing->fingerprint, now))
		return GBE_CLOSING_EQUAL;
	return gbe_fingerprint_same_etcd(&closing->fingerprint, now) ? GBE_CLOSING_NONE
								     : GBE_CLOSING_DIFFERS;
}

static void
derive_owner(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	s->owner = GBE_OWNER_UNKNOWN;
	s->same_run = GBE_UNKNOWN;
	s->verdict = view->verdict;
	s->healthy = view->health == GBE_HEALTH_HEALTHY;
	s->judged = view->judged;
	s->trial = view->trial.on;
	if (view->used < 0)
		s->used_within = GBE_UNKNOWN;
	else
		s->used_within = gbe_tri((guint64)view->used <= facts->config->restore.trial_limit);
	if (!view->owner_known)
		return;

	if (gbe_situation_is_of(facts, view->owner, view->sequence, &facts->booted))
		s->owner = GBE_OWNER_SAME;
	else
		s->owner = GBE_OWNER_OTHER;
	if (s->owner == GBE_OWNER_SAME && view->source == NULL)
		s->same_run = same_run(view->run, facts->run);
	if (view->take_over != NULL && view->source == NULL) {
		s->higher_minor =
		    gbe_version_above(facts->etcd_version,
				      gbe_version_parse(view->take_over->etcd_version)) == GBE_YES;
		s->closing = closing_is(&view->take_over->closing, &facts->fingerprint);
		s->closing_back =
		    s->owner == GBE_OWNER_SAME && closing_back(facts, view->take_over);
	}
}

static void
derive_booted(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	const GbeManifest *candidate = gbe_situation_candidate(facts, FALSE);

	s->ran =
	    s->owner == GBE_OWNER_SAME ? GBE_YES : gbe_situation_ran_before(facts, &facts->booted);
	s->own_trial = s->owner == GBE_OWNER_SAME ? view->trial.on
						  : gbe_situation_trial_of(facts, &facts->booted);
	s->candidate = candidate != NULL;
	s->usable_candidate = gbe_situation_candidate(facts, TRUE) != NULL;
	s->contains = GBE_UNKNOWN;
	if (candidate != NULL && facts->data == GBE_NO && view->source == NULL)
		s->contains = GBE_NO;
	else if (candidate != NULL && view->lineage != NULL)
		s->contains =
		    gbe_lineage_contains(view->lineage, view->sequence, candidate->lineage.line,
					 gbe_manifest_place(candidate));
	s->usable = view_usable(facts, view, candidate);
	if (view->was_default == GBE_NO || facts->booted_is_default == GBE_NO)
		s->deliberate = GBE_NO;
	else if (view->was_default == GBE_YES && facts->booted_is_default == GBE_YES)
		s->deliberate = GBE_YES;
	s->same_commit = s->owner == GBE_OWNER_OTHER &&
			 gbe_deployment_same_commit(view->owner->id, facts->booted.id);
	s->older_listed = older_listed(facts);
}

void
gbe_situation_derive(const GbeFacts *facts, const GbeView *view, gboolean last_pass,
		     GbeSituation *ret_situation)
{
	const GbeConfig *config = facts->config;
	GbeSituation s = {0};

	s.ostree = facts->ostree;
	s.booted_known = facts->booted.id != NULL;
	s.data = view->source != NULL ? GBE_YES : facts->data;
	s.data_open = facts->data == GBE_NO ? GBE_NO : facts->data_open;
	s.skip = facts->skip;
	s.request = view->source != NULL ? GBE_REQUEST_IS_NONE : request_is(facts, view);
	s.last_pass = last_pass;
	s.mount_lost = view->mount_point == GBE_YES && facts->mount_point != GBE_YES;
	s.one_voter = view->voters <= 1;
	s.clones = facts->clones == GBE_YES;
	s.sound = view->source == NULL ? facts->sound : GBE_UNKNOWN;
	s.service_failed = facts->service_failed != GBE_NO;
	derive_owner(facts, view, &s);
	derive_chain(facts, view, &s);
	derive_booted(facts, view, &s);

	s.retry_trial = config->restore.retry_trial;
	s.on_rollback = config->restore.on_rollback;
	s.on_corrupt = config->restore.on_corrupt_data;
	s.on_missing = config->restore.on_missing_data;
	s.on_failed = config->restore.on_upgrade_from_failed;
	s.hold_without_backup = config->backup.on_upgrade_failure == GBE_UPGRADE_FAIL_REFUSE ||
				(config->backup.on_upgrade_failure == GBE_UPGRADE_FAIL_AUTO &&
				 facts->can_roll_back == GBE_YES);
	*ret_situation = s;
}
