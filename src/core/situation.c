/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/situation.h"

#include "core/backup-name.h"

#include <string.h>

gboolean
gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
		    const GbeDeployment *ref)
{
	if (!gbe_deployment_same(of, ref))
		return FALSE;
	for (guint i = 0; i < facts->gone->len; i++) {
		const GbeGone *gone = facts->gone->pdata[i];

		if (sequence <= gone->sequence && g_str_equal(gone->id, of->id))
			return FALSE;
	}
	return TRUE;
}

const GbeStamp *
gbe_situation_stamp(const GbeFacts *facts)
{
	const GbeStamp *copy = facts->copy;

	if (facts->stamp != NULL)
		return facts->stamp;
	if (copy == NULL)
		return NULL;
	/* A fresh start is recorded without a handle, before the directory exists. */
	if (facts->data == GBE_NO || copy->data_handle == NULL)
		return copy;
	if (facts->data_handle != NULL && g_str_equal(copy->data_handle, facts->data_handle))
		return copy;
	/* Another directory with the same ids: etcd's own snapshot restore gives new ones, a copy
	 * made by hand keeps them. Under the same deployment nobody can tell whose it is. */
	if (facts->member_id != NULL && g_strcmp0(copy->member_id, facts->member_id) == 0 &&
	    g_strcmp0(copy->cluster_id, facts->cluster_id) == 0 &&
	    !gbe_situation_is_of(facts, &copy->deployment, copy->sequence, &facts->booted))
		return copy;
	return NULL;
}

gboolean
gbe_situation_was_green(const GbeFacts *facts, const GbeDeployment *ref)
{
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->verdict == GBE_VERDICT_GREEN &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return TRUE;
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->verdict == GBE_VERDICT_GREEN &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref))
			return TRUE;
	}
	return FALSE;
}

GbeTri
gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeStamp *copy = facts->copy;
	guint64 newest = 0;
	GbeTri trial = GBE_UNKNOWN;

	if (gbe_situation_was_green(facts, ref))
		return GBE_NO;
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->sequence >= newest &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, ref)) {
			newest = run->sequence;
			trial = run->trial;
		}
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->sequence >= newest && backup->origin != GBE_ORIGIN_MANUAL &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref)) {
			newest = backup->sequence;
			trial = backup->trial.on;
		}
	}
	if (copy != NULL && copy->sequence > newest &&
	    gbe_situation_is_of(facts, &copy->deployment, copy->sequence, ref))
		trial = copy->trial.on;
	return trial;
}

static GbeTri
ran_before(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeStamp *stamps[] = {facts->stamp, facts->copy};

	for (guint i = 0; i < G_N_ELEMENTS(stamps); i++)
		if (stamps[i] != NULL &&
		    gbe_situation_is_of(facts, &stamps[i]->deployment, stamps[i]->sequence, ref))
			return GBE_YES;
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return GBE_YES;
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->origin != GBE_ORIGIN_MANUAL &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref))
			return GBE_YES;
	}
	/* A store that is not there might have said so. */
	return facts->store == GBE_NO ? GBE_UNKNOWN : GBE_NO;
}

/* The data in view: the live one, or a backup. */

static gboolean
trial_outlived(const GbeFacts *facts, const GbeTrial *trial, gint64 used)
{
	/* Where nobody judges, long use ends a trial; a judge who did not come (a hang) is not nobody. */
	return trial->judges != GBE_YES && !trial->judged && used >= 0 &&
	       (guint64)used > facts->config->restore.trial_limit;
}

static GbeTri
trial_now(const GbeFacts *facts, const GbeStamp *stamp, const GbeRunRecord *run,
	  const GbeTrial *trial, gint64 used)
{
	if (stamp->trial.on != GBE_YES)
		return stamp->trial.on;
	if (gbe_situation_was_green(facts, &stamp->deployment))
		return GBE_NO;
	/* The run's record is made before its stamp. It is gone: so might be a green one. */
	if (run == NULL)
		return GBE_UNKNOWN;
	if (trial->judges != GBE_YES && !trial->judged && used < 0)
		return GBE_UNKNOWN;
	return trial_outlived(facts, trial, used) ? GBE_NO : GBE_YES;
}

static gint64
used_in_last_run(const GbeFacts *facts, const GbeStamp *stamp)
{
	if (stamp->closing.present)
		return stamp->closing.used;
	if (facts->last_write < 0 || stamp->stamped <= 0 || facts->last_write < stamp->stamped)
		return -1;
	return facts->last_write - stamp->stamped;
}

void
gbe_view_live(const GbeFacts *facts, GbeView *ret_view)
{
	const GbeStamp *stamp = gbe_situation_stamp(facts);
	const GbeRunRecord *run;
	gint64 used;

	memset(ret_view, 0, sizeof *ret_view);
	ret_view->used = -1;
	ret_view->voters = facts->voters;
	if (stamp == NULL)
		return;

	run = gbe_facts_run(facts, stamp->sequence);
	used = used_in_last_run(facts, stamp);
	ret_view->owner_known = TRUE;
	ret_view->owner = &stamp->deployment;
	ret_view->run = stamp->run;
	ret_view->sequence = stamp->sequence;
	ret_view->lineage = &stamp->lineage;
	ret_view->previous = stamp->previous;
	ret_view->verdict = run != NULL ? run->verdict : GBE_VERDICT_NONE;
	ret_view->health = run != NULL ? run->health : GBE_HEALTH_NOT_ASKED;
	ret_view->judged = ret_view->verdict != GBE_VERDICT_NONE;
	ret_view->used = used < 0 || stamp->trial.used < 0 ? -1 : used + stamp->trial.used;
	ret_view->trial = stamp->trial;
	ret_view->trial.used = ret_view->used;
	ret_view->trial.judged = stamp->trial.judged || ret_view->judged;
	ret_view->trial.on = trial_now(facts, stamp, run, &ret_view->trial, ret_view->used);
	ret_view->was_default = stamp->was_default;
	ret_view->mount_point = stamp->mount_point;
	ret_view->stamp = stamp;
	if (facts->voters == 0 || (facts->voters == GBE_VOTERS_UNCLEAR && stamp->voters == 1))
		ret_view->voters = stamp->voters;
}

void
gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view)
{
	memset(ret_view, 0, sizeof *ret_view);
	ret_view->source = source;
	ret_view->owner_known = source->deployment.id != NULL;
	ret_view->owner = &source->deployment;
	ret_view->run = source->run;
	ret_view->sequence = source->sequence;
	ret_view->lineage = &source->lineage;
	ret_view->previous = source->previous;
	ret_view->trial = source->trial;
	if (ret_view->owner_known && gbe_situation_was_green(facts, &source->deployment))
		ret_view->trial.on = GBE_NO;
	ret_view->verdict = source->verdict;
	ret_view->health = source->health;
	ret_view->judged = source->verdict != GBE_VERDICT_NONE;
	ret_view->used = source->trial.used;
	ret_view->voters = source->voters;
}

void
gbe_view_requested(const GbeView *live, const GbeManifest *source, GbeView *ret_view)
{
	*ret_view = *live;
	ret_view->source = source;
	ret_view->lineage = &source->lineage;
	ret_view->verdict = GBE_VERDICT_NONE;
	ret_view->health = GBE_HEALTH_NOT_ASKED;
	ret_view->judged = FALSE;
	ret_view->used = 0;
	ret_view->trial.used = 0;
	ret_view->voters = source->voters;
}

/* Backups. */

static gboolean
rejected(const GbeFacts *facts, const char *name)
{
	return facts->rejected != NULL && g_hash_table_contains(facts->rejected, name);
}

static gboolean
exhausted(const GbeFacts *facts, const char *name)
{
	for (guint i = 0; i < facts->attempts->len; i++) {
		const GbeAttempt *attempt = facts->attempts->pdata[i];

		if (attempt->count >= GBE_ATTEMPTS_MAX && g_str_equal(attempt->backup, name) &&
		    g_strcmp0(attempt->deployment, facts->booted.id) == 0)
			return TRUE;
	}
	return FALSE;
}

/* Could this be put in place of the data at all? Its grade is another question. */
static gboolean
restorable(const GbeFacts *facts, const GbeManifest *backup)
{
	if (backup->consumed || backup->voters > 1)
		return FALSE;
	return backup->data_dir == NULL || facts->data_dir == NULL ||
	       g_str_equal(backup->data_dir, facts->data_dir);
}

static GbeTri
backup_usable(const GbeFacts *facts, const GbeManifest *backup)
{
	GbeTri above =
	    gbe_version_above(gbe_version_parse(backup->etcd_version), facts->etcd_version);

	return above == GBE_UNKNOWN ? GBE_UNKNOWN : gbe_tri(above == GBE_NO);
}

static gboolean
better(const GbeManifest *a, const GbeManifest *b)
{
	gboolean a_manual = a->origin == GBE_ORIGIN_MANUAL;
	gboolean b_manual = b->origin == GBE_ORIGIN_MANUAL;

	if (a_manual != b_manual)
		return !a_manual;
	return a->sequence > b->sequence;
}

const GbeManifest *
gbe_situation_candidate(const GbeFacts *facts, gboolean usable)
{
	const GbeManifest *best = NULL;

	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->grade == GBE_GRADE_BAD || backup->set_aside ||
		    !restorable(facts, backup) || rejected(facts, backup->name) ||
		    exhausted(facts, backup->name) ||
		    !gbe_situation_is_of(facts, &backup->deployment, backup->sequence,
					 &facts->booted))
			continue;
		if (usable && backup_usable(facts, backup) == GBE_NO)
			continue;
		if (best == NULL || better(backup, best))
			best = backup;
	}
	return best;
}

/* The newest good one of the booted deployment; where it has none, of anybody. */
static const GbeManifest *
last_good(const GbeFacts *facts)
{
	const GbeManifest *own = NULL, *any = NULL;

	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->grade != GBE_GRADE_GOOD || !restorable(facts, backup))
			continue;
		if (any == NULL || better(backup, any))
			any = backup;
		if (gbe_situation_is_of(facts, &backup->deployment, backup->sequence,
					&facts->booted) &&
		    (own == NULL || better(backup, own)))
			own = backup;
	}
	return own != NULL ? own : any;
}

const GbeManifest *
gbe_situation_request(const GbeFacts *facts)
{
	switch (facts->request.kind) {
	case GBE_REQUEST_RESTORE:
		return gbe_facts_backup(facts, facts->request.name);
	case GBE_REQUEST_LAST_GOOD:
		return last_good(facts);
	case GBE_REQUEST_UNDO:
		return gbe_facts_backup(facts, facts->undo);
	case GBE_REQUEST_NONE:
	default:
		return NULL;
	}
}

const GbeManifest *
gbe_situation_unchanged(const GbeFacts *facts)
{
	const GbeManifest *newest = NULL;

	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (!backup->consumed && backup->grade != GBE_GRADE_BAD &&
		    backup->verified != GBE_VERIFIED_NO &&
		    g_strcmp0(backup->data_dir, facts->data_dir) == 0 &&
		    gbe_fingerprint_equal(&backup->fingerprint, &facts->fingerprint) &&
		    (newest == NULL || backup->sequence > newest->sequence))
			newest = backup;
	}
	return newest;
}

/* Derivation, item by item. */

static GbePreviousIs
previous_is(const GbeFacts *facts, const char *name)
{
	const GbeManifest *backup = gbe_facts_backup(facts, name);

	if (backup == NULL || !restorable(facts, backup) || exhausted(facts, name))
		return GBE_PREVIOUS_NONE;
	if (rejected(facts, name))
		return GBE_PREVIOUS_REJECTED;
	return backup->deployment.id != NULL ? GBE_PREVIOUS_OWNED : GBE_PREVIOUS_ADOPTED;
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
	    rejected(facts, backup->name))
		return GBE_REQUEST_IS_IMPOSSIBLE;
	if (!facts->request.force && (backup->grade == GBE_GRADE_BAD || backup->voters > 1 ||
				      view->voters > 1 || !restorable(facts, backup)))
		return GBE_REQUEST_IS_IMPOSSIBLE;
	return GBE_REQUEST_IS_READY;
}

static gboolean
closing_back(const GbeFacts *facts, const GbeStamp *stamp)
{
	const GbeClosing *closing = &stamp->closing;
	const GbeManifest *backup = gbe_facts_backup(facts, closing->backup);
	gint64 since;

	if (backup == NULL || backup->grade == GBE_GRADE_BAD || !restorable(facts, backup) ||
	    rejected(facts, backup->name) || exhausted(facts, backup->name))
		return FALSE;
	if (closing->next == NULL || g_str_equal(closing->next, stamp->deployment.id))
		return FALSE;
	if (closing->used < 0 || stamp->stamped <= 0 || facts->last_write < 0)
		return FALSE;
	since = facts->last_write - (stamp->stamped + closing->used);
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
		above = gbe_version_above(gbe_version_parse(view->source->etcd_version),
					  facts->etcd_version);
	} else {
		above = gbe_version_above(facts->cluster_version, facts->etcd_version);
	}
	if (above == GBE_YES)
		return GBE_NO;
	if (candidate != NULL && candidate != view->source &&
	    gbe_version_above(app, gbe_version_parse(candidate->data_version)) == GBE_YES)
		return GBE_NO;
	return above == GBE_UNKNOWN ? GBE_UNKNOWN : GBE_YES;
}

static void
derive_owner(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	const GbeManifest *previous;

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
	s->previous = previous_is(facts, view->previous);
	previous = gbe_facts_backup(facts, view->previous);
	s->previous_valid = previous != NULL && previous->grade != GBE_GRADE_BAD;
	if (!view->owner_known)
		return;

	if (gbe_situation_is_of(facts, view->owner, view->sequence, &facts->booted))
		s->owner = GBE_OWNER_SAME;
	else
		s->owner = GBE_OWNER_OTHER;
	if (s->owner == GBE_OWNER_SAME)
		s->same_run = same_run(view->run, facts->run);
	if (view->stamp != NULL && view->source == NULL) {
		const GbeClosing *closing = &view->stamp->closing;

		s->higher_minor =
		    gbe_version_above(facts->etcd_version,
				      gbe_version_parse(view->stamp->etcd_version)) == GBE_YES;
		if (closing->present && facts->fingerprint.present) {
			s->closing =
			    gbe_fingerprint_equal(&closing->fingerprint, &facts->fingerprint)
				? GBE_CLOSING_EQUAL
				: GBE_CLOSING_DIFFERS;
			s->closing_back =
			    s->owner == GBE_OWNER_SAME && closing_back(facts, view->stamp);
		}
	}
}

static void
derive_booted(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	const GbeManifest *candidate = gbe_situation_candidate(facts, FALSE);

	s->ran = s->owner == GBE_OWNER_SAME ? GBE_YES : ran_before(facts, &facts->booted);
	s->own_trial = s->owner == GBE_OWNER_SAME ? view->trial.on
						  : gbe_situation_trial_of(facts, &facts->booted);
	s->candidate = candidate != NULL;
	s->usable_candidate = gbe_situation_candidate(facts, TRUE) != NULL;
	s->contains = GBE_UNKNOWN;
	if (candidate != NULL && facts->data == GBE_NO && view->source == NULL)
		s->contains = GBE_NO;
	else if (candidate != NULL && view->owner_known)
		s->contains = gbe_lineage_contains(view->lineage, view->sequence,
						   candidate->lineage.line, candidate->sequence);
	s->usable = view_usable(facts, view, candidate);
	if (view->was_default == GBE_NO || facts->booted_is_default == GBE_NO)
		s->deliberate = GBE_NO;
	else if (view->was_default == GBE_YES && facts->booted_is_default == GBE_YES)
		s->deliberate = GBE_YES;
	s->same_commit =
	    view->owner_known && gbe_deployment_same_commit(view->owner->id, facts->booted.id);
	s->older_listed = older_listed(facts);
}

void
gbe_situation_derive(const GbeFacts *facts, const GbeView *view, gboolean requested,
		     gboolean last_pass, GbeSituation *ret_situation)
{
	const GbeConfig *config = facts->config;
	GbeSituation s = {0};

	s.ostree = facts->ostree;
	s.booted_known = facts->booted.id != NULL;
	s.data = view->source != NULL ? GBE_YES : facts->data;
	s.data_open = facts->data == GBE_NO ? GBE_NO : facts->data_open;
	s.skip = facts->skip;
	s.request = requested ? GBE_REQUEST_IS_NONE : request_is(facts, view);
	s.requested = requested;
	s.last_pass = last_pass;
	s.mount_lost = view->mount_point == GBE_YES && facts->mount_point != GBE_YES;
	s.one_voter = view->voters <= 1;
	s.clones = facts->clones == GBE_YES;
	s.sound = view->source == NULL ? facts->sound : GBE_UNKNOWN;
	derive_owner(facts, view, &s);
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
