/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folds the records of a ledger, one after the other, into facts. */
#include "core/decide/past.h"

#include "core/decide/situation.h"
#include "core/json/parse.h"

#include <string.h>

static GbeTakeOver *
find_take_over(GbeFacts *facts, guint64 sequence)
{
	for (guint i = facts->take_overs->len; i > 0; i--) {
		GbeTakeOver *take_over = facts->take_overs->pdata[i - 1];

		if (take_over->sequence == sequence)
			return take_over;
	}
	return NULL;
}

static GbeRunRecord *
find_run(GbeFacts *facts, guint64 sequence)
{
	return (GbeRunRecord *)gbe_facts_run(facts, sequence);
}

static void
end_intent(GbeFacts *facts)
{
	g_clear_pointer(&facts->intent, gbe_intent_free);
	g_clear_pointer(&facts->intent_why, g_free);
}

static void
end_request(GbeFacts *facts)
{
	gbe_request_clear(&facts->request);
}

static void
set_copy(char **to, const char *text)
{
	g_free(*to);
	*to = g_strdup(text);
}

static void
set_text(char **to, JsonObject *object, const char *key)
{
	set_copy(to, gbe_json_string(object, key, NULL));
}

/* Ends the closing record, if there is one. */
static void
end_closings(GbeFacts *facts)
{
	for (guint i = 0; i < facts->take_overs->len; i++) {
		GbeTakeOver *take_over = facts->take_overs->pdata[i];

		if (take_over->closing.present)
			gbe_closing_clear(&take_over->closing);
	}
}

/* A start carries out one request: one of the command line cancels a waiting one. */
static void
fold_requested(GbeFacts *facts, const char *request)
{
	end_request(facts);
	if (g_str_has_prefix(request, GBE_CMDLINE_RESTORE))
		set_copy(&facts->cmdline_done, request + strlen(GBE_CMDLINE_RESTORE));
	else if (g_str_has_prefix(request, GBE_CMDLINE_RD_RESTORE))
		set_copy(&facts->rd_cmdline_done, request + strlen(GBE_CMDLINE_RD_RESTORE));
}

/* The lost record may have been a take-over. */
static void
fold_hole(GbeFacts *facts, JsonObject *object)
{
	facts->holes = true;
	facts->lost = true;
}

static void
fold_take_over(GbeFacts *facts, JsonObject *object)
{
	GbeTakeOver *take_over = NULL;

	if (gbe_take_over_from_json(object, &take_over, NULL))
		gbe_past_add(facts, take_over);
	else
		fold_hole(facts, object);
}

void
gbe_past_add(GbeFacts *facts, GbeTakeOver *take_over)
{
	GbeRunRecord *before, *run;

	facts->lost = false;
	g_clear_pointer(&facts->fell_back, g_free);
	end_closings(facts);
	end_intent(facts);
	before = find_run(facts, take_over->after);
	if (before != NULL) {
		before->trial = take_over->after_trial;
		if (take_over->found.name != NULL)
			gbe_backup_ref_set(&before->left, take_over->found);
	}
	if (take_over->source != NULL || take_over->asked)
		gbe_backup_ref_set(&facts->undo, take_over->found);
	/* A restore by hand is a later wish than one that waits for the next boot. */
	if (take_over->request != NULL)
		fold_requested(facts, take_over->request);
	else if (take_over->asked)
		end_request(facts);
	facts->handed_back = false;
	run = gbe_run_record_of(take_over);
	run->ended = take_over->late; /* etcd has the data already */
	g_ptr_array_add(facts->take_overs, take_over);
	g_ptr_array_add(facts->runs, run);
}

/* etcd may have had the data. */
static void
note_ended(GbeFacts *facts, guint64 sequence)
{
	GbeRunRecord *run = find_run(facts, sequence);

	if (run != NULL)
		run->ended = true;
}

static void
fold_tree(GbeFacts *facts, JsonObject *object)
{
	GbeTakeOver *of = find_take_over(facts, gbe_ledger_number(object, "of"));
	JsonNode *mount_point = json_object_get_member(object, "mount_point");

	if (of == NULL)
		return;
	note_ended(facts, of->sequence);
	set_text(&of->tree, object, "tree");
	if (gbe_json_string(object, "nonce", NULL) != NULL)
		set_text(&of->nonce, object, "nonce");
	if (mount_point != NULL && JSON_NODE_HOLDS_VALUE(mount_point))
		of->mount_point = gbe_tri(gbe_json_bool(object, "mount_point", false));
}

static void
fold_handed_back(GbeFacts *facts, JsonObject *object)
{
	end_closings(facts);
	end_intent(facts);
	facts->handed_back = true;
}

static void
fold_verdict(GbeFacts *facts, JsonObject *object)
{
	GbeRunRecord *run = find_run(facts, gbe_ledger_number(object, "of"));
	g_autofree char *before = NULL;

	if (run == NULL)
		return;
	run->was_green = gbe_run_record_is_green(run);
	before = g_strdup(run->etcd_version);
	if (!gbe_verdict_from_json(object, run, NULL)) {
		facts->holes = true;
		return;
	}
	if (gbe_version_above(gbe_version_parse(run->etcd_version), gbe_version_parse(before)) ==
	    GBE_YES) {
		g_free(run->updated_from);
		run->updated_from = g_steal_pointer(&before);
	}
	if (run->by_hand && run->verdict == GBE_VERDICT_RED)
		run->was_green = false;
	/* The end of its prerun could not be written, perhaps. */
	if (run->health == GBE_HEALTH_HEALTHY)
		note_ended(facts, run->sequence);
}

static void
fold_closing(GbeFacts *facts, JsonObject *object)
{
	GbeTakeOver *of = find_take_over(facts, gbe_ledger_number(object, "of"));
	GbeRunRecord *run = find_run(facts, gbe_ledger_number(object, "of"));

	if (of == NULL || run == NULL)
		return;
	gbe_closing_from_json(object, &of->closing);
	gbe_backup_ref_set(&run->left, of->closing.backup);
	/* No start took the data over after it, so this is what the run left. */
	run->ended = true;
}

static void
fold_opened(GbeFacts *facts, JsonObject *object)
{
	GbeRunRecord *run = find_run(facts, gbe_ledger_number(object, "of"));

	end_closings(facts);
	note_ended(facts, gbe_ledger_number(object, "of"));
	if (run != NULL)
		gbe_backup_ref_clear(&run->left);
}

static void
fold_used(GbeFacts *facts, JsonObject *object)
{
	GbeTakeOver *of = find_take_over(facts, gbe_ledger_number(object, "of"));

	if (of != NULL)
		of->used_beyond = true;
}

static void
fold_start(GbeFacts *facts, JsonObject *object)
{
	const char *id = gbe_json_string(object, "deployment", "");
	guint before = GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id));

	/* This start reports the failure of the last shutdown. */
	g_clear_pointer(&facts->failure, g_free);
	g_clear_pointer(&facts->failure_why, g_free);
	g_hash_table_insert(facts->starts, g_strdup(id), GUINT_TO_POINTER(before + 1));
}

static void
fold_end(GbeFacts *facts, JsonObject *object)
{
	guint64 of = gbe_ledger_number(object, "of");

	note_ended(facts, of);
	/* A start of any deployment that ended ends the row of unfinished starts. */
	g_hash_table_remove_all(facts->starts);
	/* Until the data is taken over: greenboot makes the deployment the default in that very boot. */
	if (gbe_json_bool(object, "fell_back", false) && find_take_over(facts, of) == NULL) {
		g_free(facts->fell_back);
		facts->fell_back = g_strdup(gbe_json_string(object, "deployment", NULL));
	}
}

static void
fold_intent(GbeFacts *facts, JsonObject *object)
{
	g_autoptr(GError) error = NULL;

	/* The closing record stays: an intent that is undone has changed nothing. */
	end_intent(facts);
	if (!gbe_intent_from_json(object, &facts->intent, &error))
		facts->intent_why = g_strdup(error->message);
}

static void
fold_intent_ended(GbeFacts *facts, JsonObject *object)
{
	end_intent(facts);
}

static void
fold_removed(GbeFacts *facts, JsonObject *object)
{
	if (gbe_ledger_number(object, "number") == facts->undo.sequence &&
	    g_strcmp0(gbe_json_string(object, "backup", NULL), facts->undo.name) == 0)
		gbe_backup_ref_clear(&facts->undo);
}

static void
fold_request(GbeFacts *facts, JsonObject *object)
{
	if (!gbe_request_from_json(object, &facts->request, NULL))
		end_request(facts);
}

static void
fold_request_ended(GbeFacts *facts, JsonObject *object)
{
	end_request(facts);
}

static void
fold_cmdline(GbeFacts *facts, JsonObject *object)
{
	set_text(&facts->cmdline_done, object, "restore");
	set_text(&facts->rd_cmdline_done, object, "rd_restore");
}

static void
fold_gone(GbeFacts *facts, JsonObject *object)
{
	GbeGone *gone = g_new0(GbeGone, 1);

	gone->id = g_strdup(gbe_json_string(object, "deployment", ""));
	gone->sequence = gbe_ledger_number(object, "upto");
	g_ptr_array_add(facts->gone, gone);
}

static void
fold_operation(GbeFacts *facts, JsonObject *object)
{
	gbe_last_operation_from_json(object, &facts->last);
}

static void
fold_failure(GbeFacts *facts, JsonObject *object)
{
	set_text(&facts->failure, object, "operation");
	set_text(&facts->failure_why, object, "reason");
}

typedef void (*Fold)(GbeFacts *facts, JsonObject *object);

static const Fold folds[GBE_LEDGER_KINDS] = {
    [GBE_LEDGER_HOLE] = fold_hole,
    [GBE_LEDGER_TAKE_OVER] = fold_take_over,
    [GBE_LEDGER_TREE] = fold_tree,
    [GBE_LEDGER_HANDED_BACK] = fold_handed_back,
    [GBE_LEDGER_VERDICT] = fold_verdict,
    [GBE_LEDGER_CLOSING] = fold_closing,
    [GBE_LEDGER_OPENED] = fold_opened,
    [GBE_LEDGER_USED] = fold_used,
    [GBE_LEDGER_START] = fold_start,
    [GBE_LEDGER_END] = fold_end,
    [GBE_LEDGER_INTENT] = fold_intent,
    [GBE_LEDGER_INTENT_ENDED] = fold_intent_ended,
    [GBE_LEDGER_REMOVED] = fold_removed,
    [GBE_LEDGER_REQUEST] = fold_request,
    [GBE_LEDGER_REQUEST_ENDED] = fold_request_ended,
    [GBE_LEDGER_CMDLINE] = fold_cmdline,
    [GBE_LEDGER_GONE] = fold_gone,
    [GBE_LEDGER_OPERATION] = fold_operation,
    [GBE_LEDGER_FAILURE] = fold_failure,
};

void
gbe_ledger_fold(const GbeLedger *ledger, GbeFacts *facts)
{
	facts->ledger = gbe_tri(ledger->id != NULL);
	g_free(facts->ledger_id);
	facts->ledger_id = g_strdup(ledger->id);
	facts->ledger_last = ledger->last;
	facts->holes = ledger->holes;
	facts->lost = false;
	facts->next_sequence = MAX(facts->next_sequence, ledger->last + 1);
	for (guint i = 0; i < ledger->records->len; i++) {
		const GbeLedgerRecord *record = ledger->records->pdata[i];

		if (folds[record->kind] != NULL)
			folds[record->kind](facts, record->object);
	}
}

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
