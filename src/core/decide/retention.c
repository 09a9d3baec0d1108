/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/retention.h"

#include "core/decide/situation.h"

typedef struct {
	const GbeFacts *facts;
	GPtrArray *sorted; /* of const GbeManifest, newest first */
	GHashTable *kept;  /* names */
	GHashTable *room;  /* names of those that stay only where etcd has room to start */
	guint keep_good;
} Retention;

static bool
is_valid(const GbeManifest *backup)
{
	return backup->grade != GBE_GRADE_BAD && !backup->consumed;
}

static void
keep(Retention *r, const GbeManifest *backup)
{
	if (backup != NULL)
		g_hash_table_add(r->kept, backup->name);
}

/* Keeps a bad backup as long as etcd has room to start without its removal. */
static void
keep_if_roomy(Retention *r, const GbeManifest *backup)
{
	g_hash_table_add(r->facts->cramped == GBE_YES ? r->room : r->kept, backup->name);
}

/* Periodic backups come and go by the clock and count for nothing else. The backups that an OS rollback needs stay as
 * if there were no periodic ones. */
static bool
is_periodic(const GbeManifest *backup)
{
	return backup->origin == GBE_ORIGIN_PERIODIC;
}

static bool
is_kept(const Retention *r, const GbeManifest *backup)
{
	return g_hash_table_contains(r->kept, backup->name);
}

static bool
is_of(const Retention *r, const GbeManifest *backup, const GbeDeployment *ref)
{
	return gbe_situation_is_of(r->facts, &backup->deployment, backup->sequence, ref);
}

/* The displaced data is not wanted back: etcd was healthy, and its run green, on the restored data. */
static bool
is_discarded(const Retention *r, const GbeManifest *backup)
{
	GBE_EACH(const GbeRunRecord *, run, backup->discard ? r->facts->runs : NULL)
		if (run->sequence > backup->sequence && run->verdict == GBE_VERDICT_GREEN &&
		    run->health == GBE_HEALTH_HEALTHY)
			return true;
	return false;
}

static bool
of_a_listed_one(const Retention *r, const GbeManifest *backup)
{
	GBE_EACH(const GbeListed *, listed, r->facts->listed)
		if (is_of(r, backup, &listed->ref))
			return true;
	return false;
}

static void
keep_asked_for(Retention *r)
{
	const GbeFacts *facts = r->facts;
	const GbeManifest *set_aside = NULL;
	const GbeManifest *undo = gbe_facts_backup_of(facts, &facts->undo);

	GBE_EACH(const GbeManifest *, backup, r->sorted) {
		if (backup->pinned || backup->origin == GBE_ORIGIN_MANUAL)
			keep(r, backup);
		/* Data set aside is kept until the next one: the newest is first. */
		if (backup->set_aside && set_aside == NULL && !is_discarded(r, backup))
			set_aside = backup;
	}
	keep(r, set_aside);
	if (undo != NULL && undo->grade == GBE_GRADE_BAD && !undo->set_aside &&
	    !is_discarded(r, undo))
		keep_if_roomy(r, undo);
	else if (undo != NULL && !is_discarded(r, undo))
		keep(r, undo);
	keep(r, gbe_situation_request(facts));
}

/* Keeps the backups that the newest take-over of a deployment may come back to. */
static void
keep_for_take_over(Retention *r, const GbeTakeOver *take_over)
{
	const GbeFacts *facts = r->facts;
	const GbeRunRecord *run = gbe_facts_run(facts, take_over->sequence);
	const GbeManifest *found = gbe_facts_backup_of(facts, &take_over->found);

	/* A person may choose the same backup once more. Adopted data stays in the start that adopted it. */
	if (take_over->asked)
		keep(r, gbe_facts_backup(facts, take_over->source));
	if (found != NULL && found->deployment.id == NULL && found->grade != GBE_GRADE_BAD)
		keep(r, found);
	/* An unknown trial counts as no for a restore, and as yes for the backups that a restore might need. */
	if ((run == NULL || run->trial != GBE_NO) &&
	    !gbe_situation_was_green(facts, &take_over->deployment))
		GBE_EACH(const GbeLink *, link, take_over->chain)
			keep(r, gbe_facts_backup_of(facts, &link->backup));
	if (take_over->closing.present)
		keep(r, gbe_facts_backup_of(facts, &take_over->closing.backup));
}

static void
keep_for_trials(Retention *r)
{
	const GPtrArray *all = r->facts->take_overs;
	const GbeManifest *left;

	if (r->facts->owner != NULL)
		keep_for_take_over(r, r->facts->owner);
	if (all->len > 0)
		keep_for_take_over(r, all->pdata[all->len - 1]);
	GBE_EACH(const GbeListed *, listed, r->facts->listed) {
		/* A rollback may bring back what a deployment left. */
		left = gbe_situation_left(r->facts, &listed->ref).backup;
		if (left != NULL && left->grade != GBE_GRADE_BAD)
			keep(r, left);
		for (guint k = all->len; k > 0; k--) {
			const GbeTakeOver *take_over = all->pdata[k - 1];

			if (!gbe_situation_is_of(r->facts, &take_over->deployment,
						 take_over->sequence, &listed->ref))
				continue;
			keep_for_take_over(r, take_over);
			break;
		}
	}
}

static void
keep_for_deployment(Retention *r, const GbeDeployment *ref)
{
	bool green = gbe_situation_was_green(r->facts, ref);
	const GbeManifest *newest_valid = NULL;
	guint good = 0;

	GBE_EACH(const GbeManifest *, backup, r->sorted) {
		if (!is_of(r, backup, ref) || !is_valid(backup) || backup->set_aside ||
		    is_periodic(backup))
			continue;
		if (newest_valid == NULL)
			newest_valid = backup;
		if (backup->grade == GBE_GRADE_GOOD && green && good < r->keep_good) {
			keep(r, backup);
			good++;
		}
	}
	/* This is the newest unproven backup if it is newer. For a deployment that was never green, it is the only one
	 * to return to. */
	keep(r, newest_valid);
}

/* Keeps periodic backups by hours and days, of whichever deployment. */
static void
keep_periodic(Retention *r)
{
	const GbeConfig *config = r->facts->config;
	g_autoptr(GPtrArray) ours = g_ptr_array_new();
	g_autofree GbePeriodPoint *points = g_new0(GbePeriodPoint, r->sorted->len + 1);

	for (guint i = r->sorted->len; i > 0; i--) {
		const GbeManifest *backup = r->sorted->pdata[i - 1];

		if (!is_periodic(backup) || !is_valid(backup))
			continue;
		points[ours->len].time = backup->created;
		g_ptr_array_add(ours, (gpointer)backup);
	}
	gbe_retention_periods(points, ours->len, config->backup.hourly, config->backup.daily);
	for (guint i = 0; i < ours->len; i++)
		if (points[i].keep)
			keep(r, ours->pdata[i]);
}

/* One valid backup always remains, of @ref (NULL: of the store) and @line (NULL: of any). If a good one exists, a
 * good one remains. Only backups that were set aside, or whose deployment is not listed, get this far. The floor is
 * computed as if there were no periodic backups, then with them (@all). */
static void
keep_floor(Retention *r, const GbeDeployment *ref, const GbeLineage *line, bool all)
{
	const GbeManifest *any = NULL, *good = NULL;
	bool have = false, have_good = false;

	GBE_EACH(const GbeManifest *, backup, r->sorted) {
		if (!is_valid(backup) || (!all && is_periodic(backup)) ||
		    (ref != NULL && !is_of(r, backup, ref)) ||
		    (line != NULL && !gbe_lineage_related(&backup->lineage, line)))
			continue;
		have = have || is_kept(r, backup);
		any = any != NULL ? any : backup;
		if (backup->grade == GBE_GRADE_GOOD) {
			have_good = have_good || is_kept(r, backup);
			good = good != NULL ? good : backup;
		}
	}
	if (!have_good && good != NULL)
		keep(r, good);
	else if (!have)
		keep(r, any);
}

/* Was etcd's data of this origin ever green? */
static bool
line_was_green(const GbeFacts *facts, const GbeLineage *line)
{
	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		if (backup->verdict == GBE_VERDICT_GREEN &&
		    gbe_lineage_related(&backup->lineage, line))
			return true;
	}
	GBE_EACH(const GbeTakeOver *, to, facts->take_overs) {
		const GbeRunRecord *run = gbe_facts_run(facts, to->sequence);

		if (run != NULL && gbe_run_record_is_green(run) &&
		    gbe_lineage_related(&to->lineage, line))
			return true;
	}
	return false;
}

static void
keep_floors(Retention *r, bool all)
{
	keep_floor(r, NULL, NULL, all);
	GBE_EACH(const GbeListed *, listed, r->facts->listed) {
		if (gbe_situation_was_green(r->facts, &listed->ref))
			keep_floor(r, &listed->ref, NULL, all);
	}
	/* Data that began with an empty database replaces nothing. The data that was green before keeps its last backup
	 * until a person removes it. */
	GBE_EACH(const GbeManifest *, backup, r->sorted) {
		if (!is_kept(r, backup) && is_valid(backup) && (all || !is_periodic(backup)) &&
		    line_was_green(r->facts, &backup->lineage))
			keep_floor(r, NULL, &backup->lineage, all);
	}
}

static const char *
why_removed(const Retention *r, const GbeManifest *backup)
{
	if (is_periodic(backup))
		return backup->grade == GBE_GRADE_BAD
			   ? "a bad backup of the schedule"
			   : "not the first of an hour or of a day to keep";
	if (backup->grade == GBE_GRADE_BAD)
		return g_hash_table_contains(r->room, backup->name)
			   ? "a bad backup, and etcd has no room to start"
			   : "more bad backups than keep-bad allows";
	if (is_discarded(r, backup))
		return "etcd is healthy on the data that was restored instead, and that data has "
		       "no backup";
	if (backup->set_aside)
		return "a later restore has set aside newer data";
	if (backup->deployment.id == NULL)
		return "data of another program that no update needs any more";
	if (!of_a_listed_one(r, backup))
		return "its deployment is gone";
	return "newer ones take its place";
}

static void
keep_for_the_system(Retention *r)
{
	guint bad = 0;

	keep_for_trials(r);
	GBE_EACH(const GbeListed *, listed, r->facts->listed) {
		keep_for_deployment(r, &listed->ref);
	}
	for (guint i = 0; i < r->sorted->len && bad < r->facts->config->backup.keep_bad; i++) {
		const GbeManifest *backup = r->sorted->pdata[i];

		if (backup->grade == GBE_GRADE_BAD && !backup->consumed && !is_periodic(backup)) {
			keep_if_roomy(r, backup);
			bad++;
		}
	}
	keep_floors(r, false);
	keep_floors(r, true);
}

GArray *
gbe_retention_apply(const GbeFacts *facts)
{
	GArray *removals = g_array_new(false, true, sizeof(GbeRemoval));
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) room = g_hash_table_new(g_str_hash, g_str_equal);
	Retention r = {facts, sorted, names, room, facts->config->backup.keep_good};
	bool system = gbe_facts_know_listed(facts);
	bool good_own = false;

	/* An unreadable record or manifest may be needed itself, or may name a backup that is needed. */
	if (facts->store == GBE_NO || facts->unread != NULL || (!system && facts->ostree != GBE_NO))
		return removals;

	for (guint i = 0; i < facts->backups->len; i++)
		g_ptr_array_add(sorted, facts->backups->pdata[i]);
	g_ptr_array_sort(sorted, gbe_manifest_newest_first);
	if (r.keep_good == 0)
		r.keep_good = facts->clones == GBE_YES ? 2 : 1;
	keep_asked_for(&r);
	keep_periodic(&r);
	if (system)
		keep_for_the_system(&r);
	/* Without ostree no backup belongs to a deployment, so only periodic ones are removed. */
	GBE_EACH(const GbeManifest *, backup, sorted) {
		if (!system && !is_periodic(backup))
			keep(&r, backup);
		good_own = good_own || (system && backup->grade == GBE_GRADE_GOOD &&
					!backup->consumed && !backup->set_aside &&
					!is_periodic(backup) && is_of(&r, backup, &facts->booted));
	}
	if (!system)
		keep_floor(&r, NULL, NULL, true);
	for (guint i = sorted->len; i > 0; i--) {
		const GbeManifest *backup = sorted->pdata[i - 1];
		bool ownerless = backup->grade != GBE_GRADE_BAD && !backup->set_aside &&
				 !is_periodic(backup) &&
				 (backup->deployment.id == NULL || !of_a_listed_one(&r, backup));

		/* Data without an owner, or of gone deployments, stays until there is better. */
		if (!is_kept(&r, backup) && (good_own || !(backup->consumed || ownerless))) {
			GbeRemoval removal = {backup, why_removed(&r, backup),
					      g_hash_table_contains(room, backup->name)};

			g_array_append_val(removals, removal);
		}
	}
	return removals;
}

const GbeManifest *
gbe_retention_least(const GbeFacts *facts, bool *ret_last)
{
	const GbeManifest *least = NULL;
	const char *why = NULL;
	guint best = G_MAXUINT;

	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		bool last = gbe_retention_is_last_valid(facts, backup->name, &why);
		/* The smaller, the better a person can do without it. */
		guint worth = backup->grade == GBE_GRADE_BAD ? 1
			      : last			     ? 4
			      : backup->set_aside	     ? 2
							     : 3;

		/* The booted deployment may need the last one. */
		if (backup->consumed ||
		    (worth == 4 && (facts->booted.id == NULL || backup->deployment.id == NULL ||
				    gbe_deployment_same(&backup->deployment, &facts->booted))))
			continue;
		if (worth > best || (worth == best && backup->sequence > least->sequence))
			continue;
		least = backup;
		best = worth;
		*ret_last = last;
	}
	return least;
}

bool
gbe_retention_is_last_valid(const GbeFacts *facts, const char *name, const char **ret_why)
{
	const GbeManifest *self = gbe_facts_backup(facts, name);
	guint others = 0, others_own = 0, others_of_line = 0;

	if (self == NULL || !is_valid(self))
		return false;
	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		if (backup == self || !is_valid(backup))
			continue;
		others++;
		others_own += gbe_deployment_same(&backup->deployment, &self->deployment);
		others_of_line += gbe_lineage_related(&backup->lineage, &self->lineage);
	}
	if (others == 0) {
		*ret_why = "of the store";
		return true;
	}
	if (others_of_line == 0 && line_was_green(facts, &self->lineage)) {
		*ret_why = "of data that was green and that no other backup comes from";
		return true;
	}
	if (others_own > 0 || self->deployment.id == NULL ||
	    !gbe_situation_was_green(facts, &self->deployment))
		return false;
	GBE_EACH(const GbeListed *, listed, facts->listed) {
		if (gbe_situation_is_of(facts, &self->deployment, self->sequence, &listed->ref)) {
			*ret_why = "of a deployment that is still listed";
			return true;
		}
	}
	return false;
}

#define HOUR 3600
#define DAY (24 * HOUR)
/* 2016-06-30, etcd 3.0. */
#define FIRST_ETCD_3 1467244800

static bool
is_dated(const GbePeriodPoint *point)
{
	return point->time >= FIRST_ETCD_3 && !point->undated;
}

static void
keep_first_of_each(GbePeriodPoint *points, gsize n, gint64 period, guint count)
{
	for (gsize i = n; i-- > 0 && count > 0;)
		if (i == 0 || !is_dated(&points[i]) ||
		    points[i].time / period != points[i - 1].time / period) {
			points[i].keep = true;
			count--;
		}
}

void
gbe_retention_periods(GbePeriodPoint *points, gsize n, guint hourly, guint daily)
{
	for (gsize i = 0; i < n; i++)
		points[i].keep = i == n - 1 || (is_dated(&points[i]) &&
						points[n - 1].time - points[i].time < HOUR);
	keep_first_of_each(points, n, HOUR, hourly);
	keep_first_of_each(points, n, DAY, daily);
}

static gint
by_need(gconstpointer a, gconstpointer b)
{
	const GbeManifest *x = *(const GbeManifest *const *)a, *y = *(const GbeManifest *const *)b;

	return x->scrubbed != y->scrubbed ? (x->scrubbed < y->scrubbed ? -1 : 1)
					  : gbe_manifest_newest_first(a, b);
}

GPtrArray *
gbe_scrub_plan(const GbeFacts *facts)
{
	GPtrArray *plan = g_ptr_array_new();
	GbeView view;

	gbe_view_live(facts, &view);
	if (facts->config->backup.verify == GBE_BACKUP_VERIFY_NONE ||
	    (facts->judges != GBE_NO &&
	     (!gbe_facts_taken_in_this_run(facts) || view.verdict != GBE_VERDICT_GREEN)))
		return plan;
	GBE_EACH(GbeManifest *, backup, facts->backups) {
		/* A clock that stands still, or went back, causes one reading too many at most. */
		if (!backup->consumed && backup->grade != GBE_GRADE_BAD &&
		    (backup->scrubbed < 0 || backup->scrubbed > facts->now ||
		     facts->now - backup->scrubbed >= GBE_SCRUB_INTERVAL))
			g_ptr_array_add(plan, backup);
	}
	g_ptr_array_sort(plan, by_need);
	return plan;
}
