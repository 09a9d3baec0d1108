/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/situation.h"

#include "core/backup-name.h"

#include <string.h>

/* ---- the backups as sources for a restore ---- */

static bool
is_rejected(const GbeFacts *facts, const char *name)
{
	return facts->rejected != NULL && g_hash_table_contains(facts->rejected, name);
}

static bool
is_restorable(const GbeManifest *backup)
{
	return !backup->consumed && backup->voters <= 1;
}

/* A backup that no record names as the state to restore must come from the directory that it would replace. */
static bool
is_of_directory(const GbeFacts *facts, const GbeManifest *backup)
{
	return backup->data_dir == NULL || facts->data_dir == NULL ||
	       g_str_equal(backup->data_dir, facts->data_dir);
}

static GbeTri
backup_usable(const GbeFacts *facts, const GbeManifest *backup)
{
	GbeTri above =
	    gbe_version_above(gbe_version_parse(gbe_manifest_needs(backup)), facts->etcd_version);

	return above == GBE_UNKNOWN ? GBE_UNKNOWN : gbe_tri(above == GBE_NO);
}

static bool
is_better(const GbeManifest *a, const GbeManifest *b)
{
	bool manual = a->origin == GBE_ORIGIN_MANUAL;

	return manual == (b->origin == GBE_ORIGIN_MANUAL) ? a->sequence > b->sequence : !manual;
}

static bool
may_be_candidate(const GbeFacts *facts, const GbeManifest *backup, bool usable)
{
	return backup->grade != GBE_GRADE_BAD && is_restorable(backup) &&
	       !is_rejected(facts, backup->name) &&
	       (!usable || backup_usable(facts, backup) != GBE_NO);
}

/* The backup of the state that @ref left, of any origin. Without one, the newest valid backup of @ref that an automatic
 * restore may take. */
static const GbeManifest *
candidate_of(const GbeFacts *facts, const GbeDeployment *ref, bool usable)
{
	const GbeManifest *best = gbe_situation_left(facts, ref).backup;

	if (best != NULL && may_be_candidate(facts, best, usable))
		return best;
	best = NULL;
	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		/* A periodic backup of an update on trial can be restored by hand, but not automatically. An update that
		 * was green at that time is not on trial. */
		if (backup->origin == GBE_ORIGIN_PERIODIC && backup->trial.on != GBE_NO &&
		    backup->grade != GBE_GRADE_GOOD)
			continue;
		if (!backup->set_aside && is_of_directory(facts, backup) &&
		    may_be_candidate(facts, backup, usable) &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref) &&
		    (best == NULL || is_better(backup, best)))
			best = backup;
	}
	return best;
}

const GbeManifest *
gbe_situation_candidate(const GbeFacts *facts, bool usable)
{
	return candidate_of(facts, &facts->booted, usable);
}

const GbeManifest *
gbe_situation_owner_left(const GbeFacts *facts)
{
	return facts->owner != NULL && facts->owner->deployment.id != NULL
		   ? candidate_of(facts, &facts->owner->deployment, true)
		   : NULL;
}

const GbeManifest *
gbe_situation_last_good(const GbeFacts *facts)
{
	const GbeManifest *best = NULL;
	guint best_rank = 0;

	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		guint rank;

		if (backup->grade != GBE_GRADE_GOOD || !is_restorable(backup) ||
		    !is_of_directory(facts, backup))
			continue;
		/* A backup that the booted etcd can read goes first, then one of the booted deployment. */
		rank = (backup_usable(facts, backup) != GBE_NO ? 2 : 0) +
		       gbe_situation_is_of(facts, &backup->deployment, backup->sequence,
					   &facts->booted);
		if (best == NULL || rank > best_rank ||
		    (rank == best_rank && is_better(backup, best))) {
			best = backup;
			best_rank = rank;
		}
	}
	return best;
}

const GbeManifest *
gbe_situation_restorable(const GbeFacts *facts)
{
	const GbeManifest *best = gbe_situation_last_good(facts);

	if (best != NULL && may_be_candidate(facts, best, true))
		return best;
	best = NULL;
	GBE_EACH(const GbeManifest *, backup, facts->backups)
		if (is_of_directory(facts, backup) && may_be_candidate(facts, backup, true) &&
		    (best == NULL || is_better(backup, best)))
			best = backup;
	return best;
}

const GbeManifest *
gbe_situation_undo(const GbeFacts *facts, bool *ret_failed)
{
	const GbeManifest *backup = gbe_facts_backup_of(facts, &facts->undo);

	*ret_failed = backup != NULL && !facts->undo_asked && backup->grade == GBE_GRADE_BAD;
	return backup;
}

const GbeManifest *
gbe_situation_request(const GbeFacts *facts)
{
	switch (facts->request.kind) {
	case GBE_REQUEST_RESTORE:
		return gbe_facts_backup(facts, facts->request.name);
	case GBE_REQUEST_LAST_GOOD:
		return gbe_situation_last_good(facts);
	case GBE_REQUEST_UNDO:
		return gbe_facts_backup_of(facts, &facts->undo);
	case GBE_REQUEST_NONE:
	default:
		return NULL;
	}
}

const GbeManifest *
gbe_situation_unchanged(const GbeFacts *facts)
{
	const GbeManifest *newest = NULL;

	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		/* A periodic backup is removed when its time is over, even if a record names it. Data that a person set
		 * aside is restored only by hand. */
		if (!backup->consumed && !backup->set_aside &&
		    backup->origin != GBE_ORIGIN_PERIODIC && backup->grade != GBE_GRADE_BAD &&
		    backup->verified != GBE_VERIFIED_NO &&
		    g_strcmp0(backup->data_dir, facts->data_dir) == 0 &&
		    gbe_fingerprint_equal(&backup->fingerprint, &facts->fingerprint) &&
		    (newest == NULL || backup->sequence > newest->sequence))
			newest = backup;
	}
	return newest;
}

/* ---- the chain of bases (decisions.md, "Terms"), as the take-over of the data in view recorded it ---- */

static const GbeLink *
link_at(const GbeView *view, int at)
{
	const GPtrArray *chain = view->take_over != NULL ? view->take_over->chain : NULL;

	return chain != NULL && at >= 0 && (guint)at < chain->len ? chain->pdata[at] : NULL;
}

static int
chain_length(const GbeView *view)
{
	return view->take_over != NULL ? (int)view->take_over->chain->len : 0;
}

int
gbe_chain_own(const GbeFacts *facts, const GbeView *view)
{
	for (int i = 0; i < chain_length(view); i++) {
		const GbeLink *link = link_at(view, i);

		/* An attempt of O itself cannot be O's base. */
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
	for (int i = chain_length(view) - 1; i >= 0; i--)
		if (gbe_chain_backup(facts, view, i) != NULL)
			return i;
	return -1;
}

int
gbe_chain_unwound(const GbeFacts *facts, const GbeView *view)
{
	for (int i = 0; i < chain_length(view); i++)
		if (!link_at(view, i)->failed && gbe_chain_backup(facts, view, i) != NULL)
			return i;
	return gbe_chain_end(facts, view);
}

const GbeManifest *
gbe_chain_backup(const GbeFacts *facts, const GbeView *view, int at)
{
	const GbeLink *link = link_at(view, at);
	const GbeManifest *backup = link != NULL ? gbe_facts_backup_of(facts, &link->backup) : NULL;

	if (backup == NULL || !is_restorable(backup) || is_rejected(facts, backup->name))
		return NULL;
	return backup;
}

/* ---- the data in view: the live data, or a backup that will replace it ---- */

static GbeTri
trial_now(const GbeFacts *facts, const GbeTakeOver *owner, const GbeTrial *trial, gint64 used)
{
	if (owner->trial.on != GBE_YES)
		return owner->trial.on;
	if (gbe_situation_was_green(facts, &owner->deployment))
		return GBE_NO;
	/* Long use ends a trial if greenboot does not judge. A judge that hangs still judges. */
	if (trial->judges == GBE_YES || trial->judged)
		return GBE_YES;
	/* If a record after the take-over is lost, the owner is unknown. The content of the take-over still
	 * counts. */
	if (used < 0)
		return GBE_UNKNOWN;
	return (guint64)used > facts->config->restore.trial_limit ? GBE_NO : GBE_YES;
}

void
gbe_view_ended(const GbeFacts *facts, gint64 used, GbeView *ret_view)
{
	const GbeTakeOver *owner = facts->owner;
	const GbeRunRecord *run;
	guint told;

	memset(ret_view, 0, sizeof *ret_view);
	ret_view->used = -1;
	ret_view->voters = facts->voters;
	if (owner == NULL)
		return;

	run = gbe_facts_run(facts, owner->sequence);
	ret_view->owner_known = true;
	ret_view->owner = &owner->deployment;
	ret_view->run = owner->run;
	ret_view->sequence = owner->sequence;
	ret_view->lineage = &owner->lineage;
	ret_view->verdict = run != NULL ? run->verdict : GBE_VERDICT_NONE;
	ret_view->health = run != NULL ? run->health : GBE_HEALTH_NOT_ASKED;
	ret_view->judged = ret_view->verdict != GBE_VERDICT_NONE;
	ret_view->used = used < 0 || owner->trial.used < 0 ? -1 : used + owner->trial.used;
	ret_view->trial = owner->trial;
	ret_view->trial.used = ret_view->used;
	ret_view->trial.judged = owner->trial.judged || ret_view->judged;
	ret_view->trial.on = trial_now(facts, owner, &ret_view->trial, ret_view->used);
	ret_view->was_default = owner->was_default;
	ret_view->mount_point = owner->mount_point;
	ret_view->take_over = owner;
	/* The check of the last run counted the voters after the take-over. */
	told = run != NULL && run->voters > 0 ? run->voters : owner->voters;
	if (facts->voters == 0 || (facts->voters == GBE_VOTERS_UNCLEAR && told == 1))
		ret_view->voters = told;
	/* Any client of an update's etcd can add members. That must not prevent the rollback. */
	if (ret_view->trial.on == GBE_YES && owner->voters > 0)
		ret_view->voters = owner->voters;
}

void
gbe_view_live(const GbeFacts *facts, GbeView *ret_view)
{
	const GbeTakeOver *owner = facts->owner;
	gint64 used = -1;

	/* Less than trial-limit unless a record says more: an interrupted run counts as a short one. */
	if (owner != NULL && owner->closing.present)
		used = owner->closing.used;
	else if (owner != NULL)
		used = owner->used_beyond ? (gint64)facts->config->restore.trial_limit + 1 : 0;
	gbe_view_ended(facts, used, ret_view);
}

bool
gbe_view_failed(const GbeFacts *facts, const GbeView *view)
{
	return view->trial.on == GBE_YES && view->judged && view->verdict != GBE_VERDICT_GREEN &&
	       view->used >= 0 && (guint64)view->used <= facts->config->restore.trial_limit;
}

void
gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view)
{
	memset(ret_view, 0, sizeof *ret_view);
	ret_view->source = source;
	ret_view->owner_known = source->deployment.id != NULL;
	ret_view->owner = &source->deployment;
	ret_view->run = source->run;
	ret_view->sequence = gbe_manifest_place(source);
	ret_view->lineage = &source->lineage;
	ret_view->trial = source->trial;
	if (ret_view->owner_known && gbe_situation_was_green(facts, &source->deployment))
		ret_view->trial.on = GBE_NO;
	ret_view->verdict = source->verdict;
	ret_view->health = source->health;
	ret_view->judged = source->verdict != GBE_VERDICT_NONE;
	ret_view->used = source->trial.used;
	ret_view->voters = source->voters;
}

/* The newest backup of the state that the closing record names, valid. */
static bool
has_closing_backup(const GbeFacts *facts, const GbeClosing *closing)
{
	const GbeManifest *backup =
	    closing->present ? gbe_facts_backup_of(facts, &closing->backup) : NULL;

	return backup != NULL && may_be_candidate(facts, backup, true);
}

static GbeBaseIs
base_is(const GbeFacts *facts, const GbeView *view, int at)
{
	const GbeManifest *backup = gbe_chain_backup(facts, view, at);

	return backup == NULL			? GBE_BASE_NONE
	       : backup->grade == GBE_GRADE_BAD ? GBE_BASE_BAD
						: GBE_BASE_VALID;
}

static GbeRequestIs
request_is(const GbeFacts *facts, const GbeView *view)
{
	const GbeManifest *backup;

	if (facts->request.kind == GBE_REQUEST_NONE)
		return GBE_REQUEST_IS_NONE;
	/* A request is due in a run after the run of the request. An unknown run does not count as later. */
	if (!facts->request.from_cmdline &&
	    (facts->run == NULL || g_strcmp0(facts->run, facts->request.run) == 0))
		return GBE_REQUEST_IS_NONE;
	/* The request waits for the mount of the data, which may also have the backups. */
	if (!facts->request.force && view->mount_point == GBE_YES && facts->mount_point != GBE_YES)
		return GBE_REQUEST_IS_NONE;
	backup = gbe_situation_request(facts);
	/* The request also waits for an absent directory of backups. */
	if (backup == NULL && facts->request_why == NULL && facts->store == GBE_NO)
		return GBE_REQUEST_IS_NONE;
	if (backup == NULL || facts->request_why != NULL || backup->consumed ||
	    is_rejected(facts, backup->name))
		return GBE_REQUEST_IS_IMPOSSIBLE;
	/* An undo takes the data displaced last, even if it was graded bad. */
	if (!facts->request.force &&
	    ((backup->grade == GBE_GRADE_BAD && facts->request.kind != GBE_REQUEST_UNDO) ||
	     view->voters > 1 || !is_restorable(backup) || !is_of_directory(facts, backup) ||
	     backup_usable(facts, backup) == GBE_NO))
		return GBE_REQUEST_IS_IMPOSSIBLE;
	return GBE_REQUEST_IS_READY;
}

static bool
closing_back(const GbeFacts *facts, const GbeTakeOver *owner)
{
	const GbeClosing *closing = &owner->closing;
	const GbeListed *next;
	gint64 since;

	if (!has_closing_backup(facts, closing) || closing->next == NULL ||
	    g_str_equal(closing->next, owner->deployment.id))
		return false;
	/* A deployment with this program would have taken the data over. */
	next = gbe_facts_listed(facts, closing->next);
	if (next != NULL && next->has_program == GBE_YES)
		return false;
	if (facts->last_write < 0 || closing->at <= 0)
		return false;
	since = facts->last_write - closing->at;
	return since >= 0 && (guint64)since <= facts->config->restore.trial_limit;
}

static GbeTri
older_listed(const GbeFacts *facts)
{
	const GbeListed *self = gbe_facts_listed(facts, facts->booted.id);

	if (self == NULL)
		return GBE_UNKNOWN;
	GBE_EACH(const GbeListed *, listed, facts->listed) {
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
	GbeVersion needs =
	    facts->storage_version.known ? facts->storage_version : facts->cluster_version;
	GbeTri above;

	if (view->source != NULL) {
		app = gbe_version_parse(view->source->data_version);
		needs = gbe_version_parse(gbe_manifest_needs(view->source));
	}
	above = gbe_version_above(needs, facts->etcd_version);
	if (above == GBE_YES ||
	    (candidate != NULL && candidate != view->source &&
	     gbe_version_above(app, gbe_version_parse(candidate->data_version)) == GBE_YES))
		return GBE_NO;
	return above == GBE_UNKNOWN ? GBE_UNKNOWN : GBE_YES;
}

/* Was that backup taken, but is missing now? */
static bool
is_unseen(const GbeFacts *facts, const GbeBackupRef *ref)
{
	return ref->name != NULL && (facts->unread != NULL || facts->store == GBE_NO) &&
	       gbe_facts_backup_of(facts, ref) == NULL;
}

/* D's own state, as the chain of a failed update names it. If D is not in the chain, any state of the chain, or the
 * state that D left last. */
static bool
own_is_unseen(const GbeFacts *facts, const GbeView *view, int own)
{
	bool failed = view->trial.on == GBE_YES;
	bool unseen = false;
	GbeLeft left;

	if (failed && own >= 0)
		return is_unseen(facts, &link_at(view, own)->backup);
	for (int i = 0; failed && i < chain_length(view) && !unseen; i++)
		unseen = is_unseen(facts, &link_at(view, i)->backup);
	if (unseen || facts->booted.id == NULL)
		return unseen;
	left = gbe_situation_left(facts, &facts->booted);
	return is_unseen(facts, &left.ref);
}

static void
derive_owner(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	const GbeClosing *closing;

	s->owner = GBE_OWNER_UNKNOWN;
	s->same_run = s->used_within = GBE_UNKNOWN;
	s->etcd_elsewhere = facts->etcd_here == GBE_NO;
	s->verdict = view->verdict;
	s->healthy = view->health == GBE_HEALTH_HEALTHY;
	s->judged = view->judged;
	s->trial = view->trial.on;
	if (view->used >= 0)
		s->used_within = gbe_tri((guint64)view->used <= facts->config->restore.trial_limit);
	if (!view->owner_known)
		return;

	s->owner = gbe_situation_is_of(facts, view->owner, view->sequence, &facts->booted)
		       ? GBE_OWNER_SAME
		       : GBE_OWNER_OTHER;
	if (s->owner == GBE_OWNER_SAME && view->source == NULL && gbe_run_id_valid(view->run) &&
	    gbe_run_id_valid(facts->run))
		s->same_run = gbe_tri(g_str_equal(view->run, facts->run));
	if (view->take_over == NULL || view->source != NULL)
		return;

	closing = &view->take_over->closing;
	s->higher_minor =
	    gbe_version_above(facts->etcd_version,
			      gbe_version_parse(view->take_over->etcd_version)) == GBE_YES;
	/* A difference in etcd's own files means that another program has written. Any other difference only means that
	 * the data is not unchanged. */
	if (closing->present && facts->fingerprint.present) {
		if (gbe_fingerprint_equal(&closing->fingerprint, &facts->fingerprint))
			s->closing = GBE_CLOSING_EQUAL;
		else if (!gbe_fingerprint_same_etcd(&closing->fingerprint, &facts->fingerprint))
			s->closing = GBE_CLOSING_DIFFERS;
	}
	s->closing_backup = has_closing_backup(facts, closing);
	s->closing_back = s->owner == GBE_OWNER_SAME && closing_back(facts, view->take_over);
	/* The log was next to the database when the run ended, and nothing has written to the database since. */
	if (s->closing_backup && facts->log == GBE_NO && closing->present &&
	    closing->fingerprint.wal_name != NULL &&
	    gbe_fingerprint_same_db(&closing->fingerprint, &facts->fingerprint))
		s->sound = GBE_NO;
}

static void
derive_booted(const GbeFacts *facts, const GbeView *view, GbeSituation *s)
{
	const GbeManifest *candidate = gbe_situation_candidate(facts, false);

	s->ran = s->owner == GBE_OWNER_SAME ? GBE_YES : gbe_situation_ran(facts, &facts->booted);
	s->own_trial = s->owner == GBE_OWNER_SAME ? view->trial.on
						  : gbe_situation_trial_of(facts, &facts->booted);
	s->candidate = candidate != NULL;
	s->usable_candidate = gbe_situation_candidate(facts, true) != NULL;
	s->contains = GBE_UNKNOWN;
	if (candidate != NULL && facts->data == GBE_NO && view->source == NULL) {
		s->contains = GBE_NO;
	} else if (candidate != NULL && view->lineage != NULL) {
		GbeLeft left = gbe_situation_left(facts, &facts->booted);

		/* If the data contains the state that D left, an older backup of D is not restored instead. */
		if (left.known && left.backup == NULL)
			s->contains = gbe_lineage_contains(view->lineage, view->sequence, left.line,
							   left.began);
		if (s->contains != GBE_YES)
			s->contains = gbe_lineage_contains(view->lineage, view->sequence,
							   candidate->lineage.line,
							   gbe_manifest_place(candidate));
	}
	s->usable = view_usable(facts, view, candidate);
	if (view->was_default == GBE_NO || facts->booted_is_default == GBE_NO ||
	    (facts->fell_back != NULL && g_strcmp0(facts->fell_back, facts->booted.id) == 0))
		s->deliberate = GBE_NO;
	else if (view->was_default == GBE_YES && facts->booted_is_default == GBE_YES)
		s->deliberate = GBE_YES;
	s->same_commit = s->owner == GBE_OWNER_OTHER &&
			 gbe_deployment_same_commit(view->owner->id, facts->booted.id);
	s->older_listed = older_listed(facts);
}

static bool
trial_ends(const GbeFacts *facts)
{
	return facts->counted == GBE_YES || (facts->next != NULL && facts->booted.id != NULL &&
					     !g_str_equal(facts->next, facts->booted.id));
}

bool
gbe_situation_failed_and_stays(const GbeFacts *facts)
{
	GbeView view;

	gbe_view_live(facts, &view);
	return gbe_facts_taken_in_this_run(facts) && gbe_view_failed(facts, &view) &&
	       !trial_ends(facts);
}

void
gbe_situation_derive(const GbeFacts *facts, const GbeView *view, bool last_pass,
		     GbeSituation *ret_situation)
{
	const GbeConfig *config = facts->config;
	int own = gbe_chain_own(facts, view);
	GbeSituation s = {0};

	s.ostree = facts->ostree;
	s.booted_known = facts->booted.id != NULL;
	s.data = view->source != NULL ? GBE_YES : facts->data;
	s.data_open = facts->data == GBE_NO ? GBE_NO : facts->data_open;
	s.skip = facts->skip;
	s.request = view->source != NULL ? GBE_REQUEST_IS_NONE : request_is(facts, view);
	s.last_pass = last_pass;
	s.emptied =
	    facts->joining || (view->take_over != NULL && gbe_take_over_empties(view->take_over));
	s.mount_lost = view->mount_point == GBE_YES && facts->mount_point != GBE_YES;
	s.left_elsewhere = view->source == NULL && facts->left_at != NULL;
	s.one_voter = view->voters <= 1;
	s.log_lost = view->source == NULL && gbe_facts_lack_log(facts) &&
		     (facts->leaving != NULL || facts->member || (facts->began && !s.one_voter));
	s.sound = view->source == NULL ? facts->sound : GBE_UNKNOWN;
	s.no_log = view->source == NULL && facts->data == GBE_YES && facts->log == GBE_NO;
	s.ends = trial_ends(facts);
	GBE_EACH(const GbeTakeOver *, take_over, facts->take_overs)
		s.known_before = s.known_before || take_over->tree != NULL;
	s.owner_left = facts->data == GBE_NO && gbe_situation_owner_left(facts) != NULL;
	derive_owner(facts, view, &s);
	s.base = base_is(facts, view, 0);
	s.in_chain = own >= 0;
	s.chain_own = base_is(facts, view, own);
	s.chain_end = base_is(facts, view, gbe_chain_end(facts, view));
	s.unwound = base_is(facts, view, gbe_chain_unwound(facts, view));
	s.unseen = own_is_unseen(facts, view, own);
	derive_booted(facts, view, &s);

	s.retry_trial = config->restore.retry_trial;
	s.on_rollback = config->restore.on_rollback;
	s.on_corrupt = config->restore.on_corrupt_data;
	s.on_missing = config->restore.on_missing_data;
	s.on_failed = config->restore.on_upgrade_from_failed;
	s.hold_without_backup = config->backup.on_upgrade_failure == GBE_UPGRADE_FAIL_REFUSE ||
				(config->backup.on_upgrade_failure == GBE_UPGRADE_FAIL_AUTO &&
				 facts->can_roll_back != GBE_NO);
	*ret_situation = s;
}
