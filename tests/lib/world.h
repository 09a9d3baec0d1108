/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A device in memory, for tests that play histories. It has deployments, a data directory, a store and the ledger, and
 * it plays prerun, greenboot, finalize and etcd. All decisions come from gbe_decide and gbe_retention_apply; the past
 * comes from gbe_ledger_fold and gbe_identify. The model only applies them. Its data is the set of all writes, so that
 * "exactly what it had" is an equality.
 *
 * A world is copied by assignment. The results of a step (manifests, records, the past) belong to its arena, which has
 * to outlive the worlds made from it. Only world_own()'s copy of the past is changed.
 */
#pragma once

#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "core/decide/past.h"
#include "core/decide/retention.h"
#include "core/decide/shutdown.h"
#include "core/record/ledger.h"

#include <check.h>

/* Check's own assertions write to a file each time, which takes longer than a decision. */
#define world_require(condition)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("%s", #condition);                                            \
	} while (0)

#define WORLD_LEDGER "00000000000000ff"
#define WORLD_DEPLOYMENTS 3
#define WORLD_BACKUPS 64
#define WORLD_SHORT 600
#define WORLD_LONG (3 * 7 * 86400)

typedef guint64 Content; /* one bit for each write of etcd */

typedef struct {
	const GbeManifest *manifest;
	Content content;
} WorldBackup;

/* A record of the ledger, linked to those before it. */
typedef struct WorldRecord {
	JsonObject *object;
	const struct WorldRecord *before;
} WorldRecord;

typedef struct {
	/* The data directory. */
	bool data;
	Content content;
	guint64 txid;
	gint64 last_write;
	guint tree;    /* each directory has its own handle */
	guint64 nonce; /* the take-over that it names; 0: none */

	/* The ledger and the store. */
	GbeFacts *past; /* folded */
	const WorldRecord *records;
	WorldBackup backups[WORLD_BACKUPS];
	guint n_backups;
	/* A restore that was cut: the content of the staging tree, and which tree it is. */
	WorldBackup staged;
	guint staged_tree;

	/* The device. */
	guint deployed; /* how many of A, B, C ostree lists */
	guint booted, by_default;
	guint without;	/* a bit for each that lacks this program */
	bool upgrading; /* to the newest deployment, which is staged */
	guint run;
	guint writes; /* how often etcd wrote */
	gint64 now;
	bool clones, judges, skip;
	guint keep_good;
	GbeRequestKind cmdline; /* of the kernel command line */
	gint cut;		/* the power fails after this many more effects; -1: never */
} World;

typedef struct {
	GPtrArray *manifests, *pasts, *objects, *records;
} Arena;

static void
arena_init(Arena *arena)
{
	arena->manifests = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_manifest_free);
	arena->pasts = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_facts_free);
	arena->objects = g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
	arena->records = g_ptr_array_new_with_free_func(g_free);
}

static void
arena_clear(Arena *arena)
{
	g_ptr_array_unref(arena->manifests);
	g_ptr_array_unref(arena->pasts);
	g_ptr_array_unref(arena->objects);
	g_ptr_array_unref(arena->records);
}

static GbeManifest *
arena_manifest(Arena *arena, const GbeManifest *manifest)
{
	GbeManifest *copy = gbe_manifest_copy(manifest);

	g_ptr_array_add(arena->manifests, copy);
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
world_tree(guint tree)
{
	return g_strdup_printf("fs0:%04x", tree);
}

static char *
world_nonce(guint64 take_over)
{
	return g_strdup_printf("%016" G_GINT64_MODIFIER "x", take_over);
}

static void
world_set_deployment(GbeDeployment *to, guint which)
{
	to->id = g_strdup(world_deployment(which));
	to->handle = g_strdup_printf("fs0:d%u", which);
}

/* The ledger. */

static void
world_copy_past(const GbeFacts *from, GbeFacts *to)
{
	GHashTableIter iter;
	gpointer id, count;

	to->ledger = from->ledger;
	to->ledger_id = g_strdup(from->ledger_id);
	to->ledger_last = from->ledger_last;
	to->next_sequence = from->next_sequence;
	to->handed_back = from->handed_back;
	gbe_backup_ref_set(&to->undo, from->undo);
	to->request = from->request;
	to->request.name = g_strdup(from->request.name);
	to->request.run = g_strdup(from->request.run);
	to->request.text = g_strdup(from->request.text);
	to->cmdline_done = g_strdup(from->cmdline_done);
	g_hash_table_iter_init(&iter, from->starts);
	while (g_hash_table_iter_next(&iter, &id, &count))
		g_hash_table_insert(to->starts, g_strdup(id), count);
}

/* A later step may add records: the worlds that this one was copied from keep their past. */
static void
world_own(World *w, Arena *arena)
{
	/* Not gbe_facts_new(): its configuration costs more than all the rest. */
	GbeFacts *past = g_new0(GbeFacts, 1);

	past->config_borrowed = true;
	past->backups = g_ptr_array_new();
	past->take_overs = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_take_over_free);
	past->runs = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_run_record_free);
	past->gone = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_gone_free);
	past->starts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	past->next_sequence = 1;
	if (w->past != NULL) {
		world_copy_past(w->past, past);
		for (guint i = 0; i < w->past->take_overs->len; i++) {
			g_ptr_array_add(past->take_overs,
					gbe_take_over_copy(w->past->take_overs->pdata[i]));
			g_ptr_array_add(past->runs, gbe_run_record_copy(w->past->runs->pdata[i]));
		}
		/* An intent is open only across a cut, where no copy is made. */
		past->intent = g_steal_pointer(&w->past->intent);
	}
	w->past = past;
	g_ptr_array_add(arena->pasts, past);
}

static void
world_append(World *w, Arena *arena, GbeLedgerKind kind, JsonObject *object)
{
	g_autoptr(GbeLedger) ledger = gbe_ledger_new();
	WorldRecord *record = g_new0(WorldRecord, 1);

	if (!json_object_has_member(object, "sequence"))
		json_object_set_int_member(object, "sequence", (gint64)w->past->ledger_last + 1);
	json_object_set_string_member(object, "kind", gbe_ledger_kind_to_string(kind));
	record->object = object;
	record->before = w->records;
	w->records = record;
	g_ptr_array_add(arena->records, record);
	g_ptr_array_add(arena->objects, object);
	/* Folds record by record. The result must equal that of all records at once: world_check_fold(). */
	ledger->id = g_strdup(WORLD_LEDGER);
	ledger->last = w->past->ledger_last;
	world_require(gbe_ledger_add(ledger, object, NULL));
	gbe_ledger_fold(ledger, w->past);
	world_require(!w->past->holes);
}

static JsonObject *
world_about(guint64 of)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "of", (gint64)of);
	return object;
}

/* Sequence numbers that a plan assigned are not assigned again. */
static void
world_reserve(World *w, guint64 upto)
{
	w->past->ledger_last = MAX(w->past->ledger_last, upto);
	w->past->next_sequence = MAX(w->past->next_sequence, upto + 1);
}

static const GbeTakeOver *
world_last(const World *w)
{
	const GPtrArray *all = w->past->take_overs;

	return all->len > 0 ? all->pdata[all->len - 1] : NULL;
}

/* Facts. */

static void
world_fingerprint(const World *w, GbeFingerprint *fp)
{
	fp->present = true;
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
		listed->staged = w->upgrading && i == w->deployed - 1;
		listed->has_program = gbe_tri((w->without & (1u << i)) == 0);
		listed->timestamp = 1000 + i;
		g_ptr_array_add(facts->listed, listed);
	}
}

static void
world_records(const World *w, GbeFacts *facts)
{
	world_copy_past(w->past, facts);
	g_ptr_array_set_free_func(facts->backups, NULL);
	g_ptr_array_set_free_func(facts->runs, NULL);
	g_ptr_array_set_free_func(facts->take_overs, NULL);
	for (guint i = 0; i < w->n_backups; i++)
		g_ptr_array_add(facts->backups, (gpointer)w->backups[i].manifest);
	for (guint i = 0; i < w->past->runs->len; i++) {
		g_ptr_array_add(facts->runs, w->past->runs->pdata[i]);
		g_ptr_array_add(facts->take_overs, w->past->take_overs->pdata[i]);
	}
	if (w->cmdline == GBE_REQUEST_NONE)
		return;
	gbe_request_clear(&facts->request);
	facts->request.kind = w->cmdline;
	facts->request.from_cmdline = true;
	facts->request.text =
	    g_strdup(w->cmdline == GBE_REQUEST_UNDO ? GBE_CMDLINE_RESTORE "undo"
						    : GBE_CMDLINE_RESTORE "last-good");
	/* "Due again only after a boot whose command line lacked it." */
	if (facts->cmdline_done != NULL &&
	    g_str_has_suffix(facts->request.text, facts->cmdline_done))
		gbe_request_clear(&facts->request);
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
	facts->counted = GBE_YES;
	facts->data = gbe_tri(w->data);
	facts->data_open = GBE_NO;
	facts->mount_point = GBE_NO;
	facts->data_dir = g_strdup("/var/lib/etcd");
	facts->clones = gbe_tri(w->clones);
	facts->store = GBE_YES;
	facts->now = w->now;
	facts->skip = w->skip;
	facts->config->backup.keep_good = w->keep_good;
	if (w->data) {
		facts->tree = world_tree(w->tree);
		if (w->nonce != 0) {
			facts->nonce.ledger = g_strdup(WORLD_LEDGER);
			facts->nonce.sequence = w->nonce;
			facts->nonce.nonce = world_nonce(w->nonce);
		}
		facts->member_id = g_strdup("000000000000000a");
		facts->cluster_id = g_strdup("000000000000000b");
		facts->last_write = w->last_write;
		world_fingerprint(w, &facts->fingerprint);
	}
	world_records(w, facts);
	gbe_identify(facts);
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

/* Effects. The power may fail after each of them. */

static bool
world_effect(World *w)
{
	if (w->cut == 0)
		return false;
	if (w->cut > 0)
		w->cut--;
	return true;
}

static void
world_store(World *w, Arena *arena, const GbeManifest *manifest, Content content)
{
	WorldBackup *backup = &w->backups[w->n_backups];

	world_require(w->n_backups < WORLD_BACKUPS);
	world_require(world_find(w, manifest->name) < 0);
	world_reserve(w, manifest->sequence);
	backup->manifest = arena_manifest(arena, manifest);
	backup->content = content;
	w->n_backups++;
}

static void
world_delete(World *w, const char *name)
{
	int at = world_find(w, name);

	world_require(at >= 0);
	w->n_backups--;
	for (guint i = (guint)at; i < w->n_backups; i++)
		w->backups[i] = w->backups[i + 1];
}

static void
world_record_take_over(World *w, Arena *arena, const GbeTakeOver *plan)
{
	g_autoptr(GbeTakeOver) to = gbe_take_over_copy(plan);

	world_require(world_last(w) == NULL || to->sequence > world_last(w)->sequence);
	g_free(to->tree);
	to->tree = w->data ? world_tree(w->tree) : NULL;
	to->nonce = w->data ? world_nonce(to->sequence) : NULL;
	world_append(w, arena, GBE_LEDGER_TAKE_OVER, gbe_take_over_to_json(to));
	w->nonce = w->data ? to->sequence : 0;
}

/* After the exchange: the displaced tree gets its name, and the take-over ends the intent. */
static bool
world_finish(World *w, Arena *arena, const GbeManifest *displaced, const GbeTakeOver *to)
{
	if (displaced != NULL && w->staged_tree != 0) {
		if (!world_effect(w))
			return false;
		world_store(w, arena, displaced, w->staged.content);
		w->staged_tree = 0;
	}
	if (!world_effect(w))
		return false;
	world_record_take_over(w, arena, to);
	return true;
}

/* The exchange: the displaced tree and the restored one, which is a new directory. */
static bool
world_restore(World *w, Arena *arena, const GbePlan *plan, const GbeAction *restore)
{
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	int at = world_find(w, restore->name);
	GbeIntent intent = {.operation = GBE_OPERATION_RESTORE,
			    .sequence = plan->take_over->sequence,
			    .backup = restore->name,
			    .displaced = displace != NULL ? displace->manifest : NULL,
			    .take_over = plan->take_over};
	g_autofree char *new = world_tree(w->tree + 1);

	world_require(at >= 0);
	world_require((displace != NULL) == w->data);
	if (!world_effect(w))
		return false;
	intent.tree_new = new;
	world_append(w, arena, GBE_LEDGER_INTENT, gbe_intent_to_json(&intent));
	if (!world_effect(w))
		return false;
	w->staged.content = w->content;
	w->staged_tree = w->data ? w->tree : 0;
	w->tree++;
	w->data = true;
	w->nonce = plan->take_over->sequence;
	w->content = w->backups[at].content;
	w->txid = w->backups[at].manifest->fingerprint.txid[0];
	return world_finish(w, arena, intent.displaced, plan->take_over);
}

/* Finishes or undoes a restore that was cut. */
static inline void
world_recover(World *w, Arena *arena)
{
	g_autoptr(GbeIntent) intent = g_steal_pointer(&w->past->intent);
	g_autofree char *tree = w->data ? world_tree(w->tree) : NULL;
	JsonObject *ended = json_object_new();

	if (intent == NULL) {
		json_object_unref(ended);
		return;
	}
	if (g_strcmp0(tree, intent->tree_new) == 0) {
		json_object_unref(ended);
		world_require(world_finish(w, arena, intent->displaced, intent->take_over));
		return;
	}
	w->staged_tree = 0;
	world_append(w, arena, GBE_LEDGER_INTENT_ENDED, ended);
}

static void
world_grade(World *w, Arena *arena, const GbeAction *action)
{
	int at = world_find(w, action->name);

	world_require(at >= 0);
	w->backups[at].manifest = arena_manifest(arena, action->manifest);
}

static bool
world_act(World *w, Arena *arena, const GbePlan *plan, const GbeAction *action)
{
	switch (action->kind) {
	case GBE_ACTION_BACKUP:
		if (!w->clones && action->cow_only)
			return true;
		if (!world_effect(w))
			return false;
		world_store(w, arena, action->manifest, w->content);
		return true;
	case GBE_ACTION_RESTORE:
		return world_restore(w, arena, plan, action);
	case GBE_ACTION_GRADE:
		if (!world_effect(w))
			return false;
		world_grade(w, arena, action);
		return true;
	case GBE_ACTION_FRESH:
	case GBE_ACTION_TAKE_OVER:
		if (!world_effect(w))
			return false;
		world_record_take_over(w, arena, plan->take_over);
		return true;
	case GBE_ACTION_DISPLACE:
	case GBE_ACTION_DELETE:
	case GBE_ACTION_HOLD:
	case GBE_ACTION_KEEP:
	default:
		return true;
	}
}

/* false: the power failed. */
static bool
world_execute(World *w, Arena *arena, const GbePlan *plan)
{
	world_reserve(w, plan->last_sequence);
	if (plan->drop_request)
		world_append(w, arena, GBE_LEDGER_REQUEST_ENDED, json_object_new());
	for (guint i = 0; i < plan->actions->len; i++)
		if (!world_act(w, arena, plan, plan->actions->pdata[i]))
			return false;
	if (plan->opened)
		world_append(w, arena, GBE_LEDGER_OPENED, world_about(world_last(w)->sequence));
	return true;
}

static inline void
world_start(World *w, Arena *arena)
{
	JsonObject *start = json_object_new();

	json_object_set_string_member(start, "deployment", world_deployment(w->booted));
	world_append(w, arena, GBE_LEDGER_START, start);
}

/* prerun has ended: etcd may have the data. */
static void
world_end(World *w, Arena *arena)
{
	JsonObject *end = world_about(world_last(w) != NULL ? world_last(w)->sequence : 0);

	json_object_set_string_member(end, "deployment", world_deployment(w->booted));
	world_append(w, arena, GBE_LEDGER_END, end);
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

/* etcd writes as soon as it starts, and for as long as it runs. */
static void
world_etcd(World *w, gint64 seconds)
{
	static guint64 txid = 1;

	if (!w->data) {
		w->data = true;
		w->content = 0;
		w->tree++;
		w->nonce = 0;
	}
	world_require(w->writes < 64);
	w->content |= (Content)1 << w->writes++;
	w->txid = ++txid;
	w->now += seconds;
	w->last_write = w->now;
}

/* A fresh start is a take-over without a tree, until a program of this run finds the data. */
static void
world_found(World *w, Arena *arena)
{
	g_autofree char *tree = world_tree(w->tree);
	g_autofree char *nonce = NULL;
	JsonObject *object;

	if (world_last(w) == NULL || world_last(w)->tree != NULL)
		return;
	object = world_about(world_last(w)->sequence);
	json_object_set_string_member(object, "tree", tree);
	json_object_set_boolean_member(object, "mount_point", false);
	nonce = world_nonce(world_last(w)->sequence);
	json_object_set_string_member(object, "nonce", nonce);
	w->nonce = world_last(w)->sequence;
	world_append(w, arena, GBE_LEDGER_TREE, object);
}

static void
world_verdict(World *w, Arena *arena, GbeVerdict verdict)
{
	g_autoptr(GbeRunRecord) run = NULL;

	world_found(w, arena);
	run = gbe_run_record_copy(gbe_facts_run(w->past, world_last(w)->sequence));
	run->verdict = verdict;
	run->health = GBE_HEALTH_NOT_ASKED;
	if (verdict == GBE_VERDICT_GREEN)
		run->health = GBE_HEALTH_HEALTHY;
	world_append(w, arena, GBE_LEDGER_VERDICT, gbe_verdict_to_json(run));
}

/* The timer's record, which is made once. */
static void
world_used_beyond(World *w, Arena *arena)
{
	world_append(w, arena, GBE_LEDGER_USED, world_about(world_last(w)->sequence));
}

/* Puts the base's data in the place of this run's, for a deployment that lacks the program. */
static void
world_hand_back(World *w, Arena *arena, const GbeShutdown *shutdown)
{
	int at = world_find(w, shutdown->hand_back->name);

	world_require(at >= 0);
	world_store(w, arena, shutdown->displaced, w->content);
	w->tree++;
	w->nonce = 0;
	w->content = w->backups[at].content;
	w->txid = w->backups[at].manifest->fingerprint.txid[0];
	world_append(w, arena, GBE_LEDGER_HANDED_BACK, world_about(world_last(w)->sequence));
}

static void
world_close(World *w, Arena *arena, const GbeFacts *facts, const GbeShutdown *shutdown)
{
	const GbeManifest *backup = shutdown->backup != NULL ? shutdown->backup : shutdown->equal;
	const GbeClosing closing = {
	    .present = true,
	    .fingerprint = facts->fingerprint,
	    .used = shutdown->used,
	    .at = facts->now,
	    .next = facts->next,
	    .backup = backup != NULL ? gbe_manifest_ref(backup) : (GbeBackupRef){0},
	};
	JsonObject *object;

	if (shutdown->backup != NULL)
		world_store(w, arena, shutdown->backup, w->content);
	object = gbe_closing_to_json(&closing);
	json_object_set_int_member(object, "of", (gint64)facts->owner->sequence);
	world_append(w, arena, GBE_LEDGER_CLOSING, object);
}

/* false: the data is not this run's, and nothing is done. */
static bool
world_finalize(World *w, Arena *arena)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeShutdown) shutdown = NULL;

	world_found(w, arena);
	facts = world_observe(w);
	shutdown = gbe_decide_shutdown(facts);
	if (shutdown->step == GBE_SHUTDOWN_NOTHING)
		return false;
	world_require(shutdown->step == GBE_SHUTDOWN_CLOSE);
	world_close(w, arena, facts, shutdown);
	if (shutdown->hand_back != NULL)
		world_hand_back(w, arena, shutdown);
	return true;
}

/* Folding the whole ledger at once gives the same result as record by record. */
static void
world_check_fold(const World *w)
{
	g_autoptr(GbeLedger) ledger = gbe_ledger_new();
	g_autoptr(GPtrArray) records = g_ptr_array_new();
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	guint len;

	for (const WorldRecord *record = w->records; record != NULL; record = record->before)
		g_ptr_array_add(records, record->object);
	ledger->id = g_strdup(WORLD_LEDGER);
	for (guint i = records->len; i > 0; i--)
		world_require(gbe_ledger_add(ledger, records->pdata[i - 1], NULL));
	gbe_ledger_fold(ledger, facts);
	len = facts->take_overs->len;
	world_require(len == w->past->take_overs->len && facts->runs->len == len);
	world_require(g_strcmp0(facts->undo.name, w->past->undo.name) == 0);
	world_require(facts->request.kind == w->past->request.kind);
	for (guint i = 0; i < len; i++) {
		const GbeTakeOver *a = facts->take_overs->pdata[i];
		const GbeTakeOver *b = w->past->take_overs->pdata[i];
		const GbeRunRecord *x = facts->runs->pdata[i], *y = w->past->runs->pdata[i];

		world_require(a->sequence == b->sequence && x->sequence == a->sequence);
		world_require(a->closing.present == b->closing.present && x->ended == y->ended);
		world_require(x->verdict == y->verdict && x->trial == y->trial);
		world_require(x->left.sequence == y->left.sequence);
	}
}
