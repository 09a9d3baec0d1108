/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records that a newly written ledger keeps. */
#include "core/decide/past.h"

#include "core/decide/situation.h"
#include "core/json/parse.h"

/* The newest records are all kept, for people. A service that fails and is restarted again and again writes three
 * records each time, and periodic backups write records, too: a device may run for a year between two take-overs. */
#define NEWEST_KEPT 128

/* The take-overs whose records are needed, and what was seen of the newer records. */
typedef struct {
	const GbeFacts *facts;
	GHashTable *take_overs; /* by sequence */
	GHashTable *ends;	/* take-overs whose newest end was seen */
	guint64 recent;		/* sequence of the oldest run that is kept; newer records stay */
	bool undo, operation, end, fell_back;
} Needed;

static void
add(GHashTable *set, guint64 sequence)
{
	g_hash_table_add(set, g_memdup2(&sequence, sizeof(sequence)));
}

static bool
has(GHashTable *set, JsonObject *object, const char *key)
{
	gint64 sequence = gbe_json_int(object, key, 0);

	return g_hash_table_contains(set, &sequence);
}

/* Adds the last two take-overs of a listed deployment and its last green one: they say what data it left, and that it
 * was green. */
static void
add_listed(const GbeFacts *facts, const GbeDeployment *ref, GHashTable *set)
{
	guint kept = 0;
	bool green = false;

	for (guint i = facts->runs->len; i > 0; i--) {
		const GbeRunRecord *run = facts->runs->pdata[i - 1];
		bool is_green = gbe_run_record_is_green(run);

		if (!gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			continue;
		if (kept < 2 || (is_green && !green))
			add(set, run->sequence);
		kept += run->ended;
		green = green || is_green;
	}
}

/* Adds the next take-over of each: it says in which state the deployment left the data, and whether it was on trial. */
static void
add_next(const GbeFacts *facts, GHashTable *set)
{
	g_autoptr(GArray) next = g_array_new(false, false, sizeof(guint64));

	for (guint i = 0; i < facts->take_overs->len; i++) {
		const GbeTakeOver *take_over = facts->take_overs->pdata[i];

		if (take_over->after != 0 && g_hash_table_contains(set, &take_over->after))
			(void)g_array_append_val(next, take_over->sequence);
	}
	for (guint i = 0; i < next->len; i++)
		add(set, g_array_index(next, guint64, i));
}

/* Adds the newest take-over with each place of the store: the backups there are found by it. */
static void
add_places(const GbeFacts *facts, GHashTable *set)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = facts->take_overs->len; i > 0; i--) {
		const GbeTakeOver *to = facts->take_overs->pdata[i - 1];

		if (to->store_path != NULL && g_hash_table_add(seen, to->store_path))
			add(set, to->sequence);
	}
}

static GHashTable *
needed_take_overs(const GbeFacts *facts)
{
	GHashTable *set = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	guint len = facts->runs->len;

	for (guint i = len > GBE_LEDGER_RUNS_KEPT ? len - GBE_LEDGER_RUNS_KEPT : 0; i < len; i++)
		add(set, ((GbeRunRecord *)facts->runs->pdata[i])->sequence);
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++)
		add_listed(facts, &((GbeListed *)facts->listed->pdata[i])->ref, set);
	add_next(facts, set);
	add_places(facts, set);
	return set;
}

/* For kinds that come by the thousand: is @record the newest of its kind? */
static bool
is_last_of_many(Needed *needed, const GbeLedgerRecord *record)
{
	bool is;

	if (record->kind == GBE_LEDGER_START)
		return !needed->end;
	if (record->kind == GBE_LEDGER_END) {
		is = has(needed->take_overs, record->object, "of") &&
		     !has(needed->ends, record->object, "of");
		add(needed->ends, (guint64)gbe_json_int(record->object, "of", 0));
		needed->end = true;
		if (gbe_json_bool(record->object, "fell_back", false) && !needed->fell_back)
			is = needed->fell_back = true;
		return is;
	}
	is = !needed->operation;
	needed->operation = true;
	return is;
}

/* `undo` brings back the data that the last restore displaced, or that a person set aside. And a request that was
 * carried out must not come back to life. */
static bool
is_needed_take_over(Needed *needed, JsonObject *object)
{
	bool is = has(needed->take_overs, object, "sequence") ||
		  gbe_json_string(object, "request", NULL) != NULL;

	if (needed->undo || (gbe_json_string(object, "source", NULL) == NULL &&
			     !gbe_json_bool(object, "asked", false)))
		return is;
	needed->undo = true;
	return true;
}

/* Why a record is needed, unless it is one of the newest. KEEP_OF_RUN: its take-over is needed, or it is newer than the
 * oldest run that is kept. */
typedef enum { KEEP_OF_RUN, KEEP_NEVER, KEEP_ALWAYS, KEEP_LAST, KEEP_TAKE_OVER, KEEP_BACKUP } Keep;

static const Keep keeps[GBE_LEDGER_KINDS] = {
    [GBE_LEDGER_OTHER] = KEEP_ALWAYS,
    [GBE_LEDGER_HOLE] = KEEP_NEVER,
    [GBE_LEDGER_TAKE_OVER] = KEEP_TAKE_OVER,
    [GBE_LEDGER_START] = KEEP_LAST,
    [GBE_LEDGER_END] = KEEP_LAST,
    [GBE_LEDGER_OPERATION] = KEEP_LAST,
    [GBE_LEDGER_BACKUP] = KEEP_BACKUP,
    [GBE_LEDGER_GRADED] = KEEP_BACKUP,
    [GBE_LEDGER_REMOVED] = KEEP_BACKUP,
    /* These are few, and the last of them counts. */
    [GBE_LEDGER_REQUEST] = KEEP_ALWAYS,
    [GBE_LEDGER_REQUEST_ENDED] = KEEP_ALWAYS,
    [GBE_LEDGER_CMDLINE] = KEEP_ALWAYS,
    [GBE_LEDGER_GONE] = KEEP_ALWAYS,
};

/* Called for the newest record first. @behind: the number of newer records. */
static bool
is_needed(Needed *needed, const GbeLedgerRecord *record, guint behind)
{
	JsonObject *object = record->object;
	const char *backup = gbe_json_string(object, "backup", NULL);
	Keep keep = keeps[record->kind];

	if (keep == KEEP_NEVER || keep == KEEP_ALWAYS)
		return keep == KEEP_ALWAYS;
	if (keep == KEEP_LAST)
		return is_last_of_many(needed, record) || behind < NEWEST_KEPT;
	if (keep == KEEP_BACKUP)
		return behind < NEWEST_KEPT ||
		       (backup != NULL && gbe_facts_backup(needed->facts, backup) != NULL);
	if (keep == KEEP_TAKE_OVER && is_needed_take_over(needed, object))
		return true;
	return record->sequence >= needed->recent || has(needed->take_overs, object, "of");
}

GPtrArray *
gbe_ledger_needed(const GbeLedger *ledger, const GbeFacts *facts)
{
	g_autoptr(GHashTable) take_overs = needed_take_overs(facts);
	g_autoptr(GHashTable) ends =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	Needed needed = {.facts = facts, .take_overs = take_overs, .ends = ends};
	GPtrArray *records = g_ptr_array_new();
	guint len = facts->runs->len;

	if (len > GBE_LEDGER_RUNS_KEPT)
		needed.recent =
		    ((GbeRunRecord *)facts->runs->pdata[len - GBE_LEDGER_RUNS_KEPT])->sequence;
	for (guint i = ledger->records->len; i > 0; i--) {
		GbeLedgerRecord *record = ledger->records->pdata[i - 1];

		if (is_needed(&needed, record, ledger->records->len - i))
			g_ptr_array_add(records, record);
	}
	for (guint i = 0, last = records->len; i + 1 < last--; i++) {
		gpointer swapped = records->pdata[i];

		records->pdata[i] = records->pdata[last];
		records->pdata[last] = swapped;
	}
	return records;
}
