/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A device in memory, for tests that play histories: deployments, a data directory, a store and the
 * state, and on them what prerun, greenboot, finalize and etcd do. Decisions are gbe_decide's and
 * gbe_retention_apply's alone; here they are only carried out, on a model in which data is the set of
 * the runs that have written to it, so that "exactly what it had" is an equality.
 *
 * A world is copied by assignment. What a step makes (manifests, stamps, run records) belongs to the
 * step's arena, which has to outlive the worlds made from it; nothing in it is ever changed.
 */
#pragma once

#include "core/backup-name.h"
#include "core/decide.h"
#include "core/retention.h"

#include <check.h>

/* Check's own assertions write to a file each time, which takes longer than a decision. */
#define world_require(condition)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("%s", #condition);                                            \
	} while (0)

#define WORLD_DEPLOYMENTS 3
#define WORLD_BACKUPS 48
#define WORLD_RUNS 16
#define WORLD_SHORT 600
#define WORLD_LONG (3 * 7 * 86400)

typedef guint64 Content; /* one bit for each run that has written */

typedef struct {
	const GbeManifest *manifest;
	Content content;
} WorldBackup;

typedef struct {
	/* The data directory. */
	gboolean data;
	Content content;
	guint64 txid;
	gint64 last_write;
	guint handle;
	const GbeStamp *stamp;

	/* The state and the store. */
	const GbeStamp *copy;
	guint copy_handle; /* 0: of no directory yet */
	WorldBackup backups[WORLD_BACKUPS];
	guint n_backups;
	const GbeRunRecord *runs[WORLD_RUNS];
	guint n_runs;
	guint attempts[WORLD_BACKUPS][WORLD_DEPLOYMENTS]; /* by the backup's place in ->backups */
	const char *undo;
	guint64 sequence; /* next free one */

	/* The device. */
	guint deployed; /* how many of A, B, C ostree lists */
	guint booted, by_default;
	guint run;
	gint64 now;
	gboolean clones, judges;
} World;

typedef struct {
	GPtrArray *manifests, *stamps, *runs;
} Arena;

static void
arena_init(Arena *arena)
{
	arena->manifests = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_manifest_free);
	arena->stamps = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_stamp_free);
	arena->runs = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_run_record_free);
}

static void
arena_clear(Arena *arena)
{
	g_ptr_array_unref(arena->manifests);
	g_ptr_array_unref(arena->stamps);
	g_ptr_array_unref(arena->runs);
}

static GbeManifest *
arena_manifest(Arena *arena, const GbeManifest *manifest)
{
	GbeManifest *copy = gbe_manifest_copy(manifest);

	g_ptr_array_add(arena->manifests, copy);
	return copy;
}

static GbeStamp *
arena_stamp(Arena *arena, const GbeStamp *stamp)
{
	GbeStamp *copy = gbe_stamp_copy(stamp);

	g_ptr_array_add(arena->stamps, copy);
	return copy;
}

static GbeRunRecord *
arena_run(Arena *arena, const GbeRunRecord *run)
{
	GbeRunRecord *copy = gbe_run_record_copy(run);

	g_ptr_array_add(arena->runs, copy);
	return copy;
}

/* Names. */

static const char *
world_deployment(guint which)
{
	static char *ids[WORLD_DEPLOYMENTS];

	if (ids[which] == NULL) {
		g_autofree char *checksum = g_strnfill(GBE_CHECKSUM_LEN, (char)('a' + which));

		ids[which] = gbe_deployment_id_format("os", checksum, 0);
	}
	return ids[which];
}

static char *
world_run_id(const World *w)
{
	return g_strdup_printf("%032x", w->run);
}

static char *
world_handle(guint handle)
{
	return g_strdup_printf("%04x", handle);
}

static void
world_set_deployment(GbeDeployment *to, guint which)
{
	to->id = g_strdup(world_deployment(which));
	to->handle = g_strdup_printf("d%u", which);
}

/* Facts. */

static void
world_fingerprint(const World *w, GbeFingerprint *fp)
{
	fp->present = TRUE;
	fp->txid[0] = w->txid;
	fp->txid[1] = w->txid - 1;
	fp->wal_name = g_strdup("0000000000000000-0000000000000000.wal");
	fp->snaps = g_strdup("");
	fp->others = g_strdup("");
}

static void
world_list(const World *w, GbeFacts *facts)
{
	facts->listed = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_listed_free);
	for (guint i = 0; i < w->deployed; i++) {
		GbeListed *listed = g_new0(GbeListed, 1);

		world_set_deployment(&listed->ref, i);
		listed->index = w->deployed - 1 - i;
		listed->booted = i == w->booted;
		listed->is_default = i == w->by_default;
		listed->has_program = GBE_YES;
		listed->timestamp = 1000 + i;
		g_ptr_array_add(facts->listed, listed);
	}
}

static void
world_records(const World *w, GbeFacts *facts)
{
	g_ptr_array_set_free_func(facts->backups, NULL);
	g_ptr_array_set_free_func(facts->runs, NULL);
	for (guint i = 0; i < w->n_backups; i++) {
		g_ptr_array_add(facts->backups, (gpointer)w->backups[i].manifest);
		for (guint d = 0; d < WORLD_DEPLOYMENTS; d++) {
			GbeAttempt *attempt;

			if (w->attempts[i][d] == 0)
				continue;
			attempt = g_new0(GbeAttempt, 1);
			attempt->backup = g_strdup(w->backups[i].manifest->name);
			attempt->deployment = g_strdup(world_deployment(d));
			attempt->count = w->attempts[i][d];
			g_ptr_array_add(facts->attempts, attempt);
		}
	}
	for (guint i = 0; i < w->n_runs; i++)
		g_ptr_array_add(facts->runs, (gpointer)w->runs[i]);
	if (w->stamp != NULL)
		facts->stamp = gbe_stamp_copy(w->stamp);
	if (w->copy != NULL) {
		facts->copy = gbe_stamp_copy(w->copy);
		g_clear_pointer(&facts->copy->data_handle, g_free);
		if (w->copy_handle != 0)
			facts->copy->data_handle = world_handle(w->copy_handle);
	}
	facts->undo = g_strdup(w->undo);
}

static GbeFacts *
world_observe(const World *w)
{
	GbeFacts *facts = gbe_facts_new();

	facts->ostree = GBE_YES;
	world_set_deployment(&facts->booted, w->booted);
	facts->run = world_run_id(w);
	world_list(w, facts);
	facts->booted_is_default = gbe_tri(w->booted == w->by_default);
	facts->next = g_strdup(world_deployment(w->by_default));
	facts->judges = gbe_tri(w->judges);
	facts->can_roll_back = GBE_YES;
	facts->data = gbe_tri(w->data);
	facts->data_open = GBE_NO;
	facts->mount_point = GBE_NO;
	facts->data_dir = g_strdup("/var/lib/etcd");
	facts->clones = gbe_tri(w->clones);
	facts->store = GBE_YES;
	facts->next_sequence = w->sequence;
	facts->now = w->now;
	if (w->data) {
		facts->data_handle = world_handle(w->handle);
		facts->member_id = g_strdup("000000000000000a");
		facts->cluster_id = g_strdup("000000000000000b");
		facts->last_write = w->last_write;
		world_fingerprint(w, &facts->fingerprint);
	}
	world_records(w, facts);
	return facts;
}

static int
world_find(const World *w, const char *name)
{
	for (guint i = 0; i < w->n_backups; i++)
		if (g_str_equal(w->backups[i].manifest->name, name))
			return (int)i;
	return -1;
}

/* Effects. */

static void
world_store(World *w, Arena *arena, const GbeManifest *manifest)
{
	WorldBackup *backup = &w->backups[w->n_backups];

	world_require(w->n_backups < WORLD_BACKUPS);
	world_require(world_find(w, manifest->name) < 0);
	world_require(manifest->sequence >= w->sequence);
	w->sequence = manifest->sequence + 1;
	backup->manifest = arena_manifest(arena, manifest);
	backup->content = w->content;
	memset(w->attempts[w->n_backups], 0, sizeof w->attempts[0]);
	w->n_backups++;
}

static void
world_delete(World *w, const char *name)
{
	int at = world_find(w, name);

	world_require(at >= 0);
	w->n_backups--;
	for (guint i = (guint)at; i < w->n_backups; i++) {
		w->backups[i] = w->backups[i + 1];
		memcpy(w->attempts[i], w->attempts[i + 1], sizeof w->attempts[i]);
	}
	if (g_strcmp0(w->undo, name) == 0)
		w->undo = NULL;
}

static void
world_stamped(World *w, Arena *arena, const GbeStamp *stamp, const GbeRunRecord *run)
{
	world_require(w->n_runs < WORLD_RUNS);
	world_require(stamp->sequence >= w->sequence);
	world_require(run->sequence == stamp->sequence);
	w->runs[w->n_runs++] = arena_run(arena, run);
	w->sequence = stamp->sequence + 1;
	w->copy = arena_stamp(arena, stamp);
	w->copy_handle = w->data ? w->handle : 0;
	w->stamp = w->data ? w->copy : NULL;
}

/* The exchange: the displaced tree and the restored one, which is a new directory. */
static void
world_restore(World *w, Arena *arena, const GbePlan *plan, const GbeAction *restore)
{
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	int at = world_find(w, restore->name);
	WorldBackup source;

	world_require(at >= 0);
	source = w->backups[at];
	w->attempts[at][w->booted]++;
	world_require((displace != NULL) == w->data);
	if (displace != NULL) {
		world_store(w, arena, displace->manifest);
		w->undo = w->backups[w->n_backups - 1].manifest->name;
	}
	w->data = TRUE;
	w->content = source.content;
	w->txid = source.manifest->fingerprint.txid[0];
	w->handle++;
}

static void
world_grade(World *w, Arena *arena, const GbeAction *action)
{
	int at = world_find(w, action->name);

	world_require(at >= 0);
	w->backups[at].manifest = arena_manifest(arena, action->manifest);
}

static void
world_execute(World *w, Arena *arena, const GbePlan *plan)
{
	for (guint i = 0; i < plan->actions->len; i++) {
		const GbeAction *action = plan->actions->pdata[i];

		switch (action->kind) {
		case GBE_ACTION_BACKUP:
			if (w->clones || !action->cow_only)
				world_store(w, arena, action->manifest);
			break;
		case GBE_ACTION_RESTORE:
			world_restore(w, arena, plan, action);
			break;
		case GBE_ACTION_GRADE:
			world_grade(w, arena, action);
			break;
		case GBE_ACTION_DELETE:
			world_delete(w, action->name);
			break;
		case GBE_ACTION_DISPLACE:
		case GBE_ACTION_FRESH:
		case GBE_ACTION_HOLD:
		case GBE_ACTION_STAMP:
		case GBE_ACTION_KEEP:
		default:
			break;
		}
	}
	if (plan->stamp != NULL)
		world_stamped(w, arena, plan->stamp, plan->run);
	if (plan->clear_closing) {
		GbeStamp *stamp = arena_stamp(arena, w->stamp);

		stamp->closing.present = FALSE;
		w->stamp = w->copy = stamp;
	}
}

/* Returns what it removed, as the number of backups; the caller looks at the floor. */
static guint
world_prune(World *w)
{
	g_autoptr(GbeFacts) facts = world_observe(w);
	g_autoptr(GArray) removals = gbe_retention_apply(facts);

	for (guint i = 0; i < removals->len; i++)
		world_delete(w, g_array_index(removals, GbeRemoval, i).backup->name);
	return removals->len;
}

/* What etcd does: it writes as soon as it starts, and for as long as it runs. */
static void
world_etcd(World *w, gint64 seconds)
{
	static guint64 txid = 1;

	if (!w->data) {
		w->data = TRUE;
		w->content = 0;
		w->handle++;
		w->stamp = NULL;
	}
	w->content |= (Content)1 << w->run;
	w->txid = ++txid;
	w->now += seconds;
	w->last_write = w->now;
}

/* A fresh start is in the state alone until somebody of this run finds the data. */
static void
world_found(World *w)
{
	if (w->stamp == NULL && w->copy != NULL && w->copy_handle == 0) {
		w->stamp = w->copy;
		w->copy_handle = w->handle;
	}
}

static void
world_verdict(World *w, Arena *arena, GbeVerdict verdict)
{
	guint last = w->n_runs - 1;
	GbeRunRecord *run;

	world_found(w);
	world_require(w->n_runs > 0);
	world_require(w->runs[last]->sequence == w->stamp->sequence);
	run = arena_run(arena, w->runs[last]);
	run->verdict = verdict;
	if (verdict == GBE_VERDICT_GREEN)
		run->health = GBE_HEALTH_HEALTHY;
	w->runs[last] = run;
	if (verdict == GBE_VERDICT_GREEN)
		for (guint i = 0; i < w->n_backups; i++)
			w->attempts[i][w->booted] = 0;
}

/* The closing record and, where it costs nothing, the backup that the next start would take. */
static void
world_finalize(World *w, Arena *arena, guint next, gint64 used)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeManifest) manifest = NULL;
	const GbeManifest *same;
	GbeStamp *stamp;
	GbeView view;

	world_found(w);
	stamp = arena_stamp(arena, w->stamp);
	stamp->closing.present = TRUE;
	world_fingerprint(w, &stamp->closing.fingerprint);
	stamp->closing.used = used;
	g_free(stamp->closing.next);
	stamp->closing.next = g_strdup(world_deployment(next));
	w->stamp = stamp;
	if (w->clones) {
		facts = world_observe(w);
		gbe_view_live(facts, &view);
		same = gbe_situation_unchanged(facts);
		if (same == NULL) {
			manifest = gbe_decide_manifest(facts, &view, NULL, FALSE, w->sequence);
			world_store(w, arena, manifest);
			same = manifest;
		}
		stamp->closing.backup = g_strdup(same->name);
	}
	w->copy = w->stamp;
	w->copy_handle = w->handle;
}
