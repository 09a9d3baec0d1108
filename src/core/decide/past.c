/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/past.h"

#include "core/decide/situation.h"
#include "core/json/parse.h"

#include <string.h>

/* ---- the fold: the records of a ledger, one after the other, into facts ---- */

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

/* The closing record, if any, no longer counts. */
static void
end_closings(GbeFacts *facts)
{
	GBE_EACH(GbeTakeOver *, take_over, facts->take_overs)
		if (take_over->closing.present)
			gbe_closing_clear(&take_over->closing);
}

void
gbe_past_add(GbeFacts *facts, GbeTakeOver *take_over)
{
	const char *request = take_over->request;
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
	if (take_over->source != NULL || take_over->asked) {
		gbe_backup_ref_set(&facts->undo, take_over->found);
		facts->undo_asked = take_over->asked;
	}
	/* A start does one request: the request of the command line cancels a waiting one. A restore by hand is newer
	 * than a request that waits for the next boot. */
	if (request != NULL || take_over->asked)
		gbe_request_clear(&facts->request);
	if (request != NULL && g_str_has_prefix(request, GBE_CMDLINE_RESTORE))
		set_copy(&facts->cmdline_done, request + strlen(GBE_CMDLINE_RESTORE));
	else if (request != NULL && g_str_has_prefix(request, GBE_CMDLINE_RD_RESTORE))
		set_copy(&facts->rd_cmdline_done, request + strlen(GBE_CMDLINE_RD_RESTORE));
	facts->handed_back = false;
	run = gbe_run_record_of(take_over);
	run->ended = take_over->late; /* etcd has the data already */
	g_ptr_array_add(facts->take_overs, take_over);
	g_ptr_array_add(facts->runs, run);
}

static void
fold_verdict(GbeFacts *facts, JsonObject *object, GbeRunRecord *run)
{
	g_autofree char *before = g_strdup(run->etcd_version);

	run->was_green = gbe_run_record_is_green(run);
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
	/* Perhaps the end of its prerun could not be written. */
	if (run->health == GBE_HEALTH_HEALTHY)
		run->ended = true;
}

/* The records that name a take-over: @of and @run, where they are known. */
static void
fold_later(GbeFacts *facts, const GbeLedgerRecord *record, GbeTakeOver *of, GbeRunRecord *run)
{
	JsonObject *object = record->object;
	JsonNode *mount_point = json_object_get_member(object, "mount_point");

	/* etcd may have had the data. */
	if (run != NULL && (record->kind == GBE_LEDGER_OPENED || record->kind == GBE_LEDGER_END ||
			    (record->kind == GBE_LEDGER_TREE && of != NULL)))
		run->ended = true;
	if (record->kind == GBE_LEDGER_TREE && of != NULL) {
		set_text(&of->tree, object, "tree");
		if (gbe_json_string(object, "nonce", NULL) != NULL)
			set_text(&of->nonce, object, "nonce");
		if (mount_point != NULL && JSON_NODE_HOLDS_VALUE(mount_point))
			of->mount_point = gbe_tri(gbe_json_bool(object, "mount_point", false));
	} else if (record->kind == GBE_LEDGER_VERDICT && run != NULL) {
		fold_verdict(facts, object, run);
	} else if (record->kind == GBE_LEDGER_CLOSING && of != NULL && run != NULL) {
		gbe_closing_from_json(object, &of->closing);
		gbe_backup_ref_set(&run->left, of->closing.backup);
		/* No start took the data over after this one, so the run left this data. */
		run->ended = true;
	} else if (record->kind == GBE_LEDGER_OPENED) {
		end_closings(facts);
		if (run != NULL)
			gbe_backup_ref_clear(&run->left);
	} else if (record->kind == GBE_LEDGER_USED && of != NULL) {
		of->used_beyond = true;
	} else if (record->kind == GBE_LEDGER_END) {
		/* A finished start of any deployment ends the row of unfinished starts. */
		g_hash_table_remove_all(facts->starts);
		/* This holds until the take-over: greenboot makes the deployment the default in the same boot. */
		if (gbe_json_bool(object, "fell_back", false) && of == NULL)
			set_text(&facts->fell_back, object, "deployment");
	}
}

static void
fold_record(GbeFacts *facts, const GbeLedgerRecord *record)
{
	JsonObject *object = record->object;
	g_autoptr(GError) error = NULL;
	GbeTakeOver *take_over = NULL;

	if (record->kind == GBE_LEDGER_TAKE_OVER &&
	    gbe_take_over_from_json(object, &take_over, NULL)) {
		gbe_past_add(facts, take_over);
	} else if (record->kind == GBE_LEDGER_TAKE_OVER || record->kind == GBE_LEDGER_HOLE) {
		/* The lost record may have been a take-over. */
		facts->holes = true;
		facts->lost = true;
	} else if (record->kind == GBE_LEDGER_HANDED_BACK) {
		end_closings(facts);
		end_intent(facts);
		facts->handed_back = true;
	} else if (record->kind == GBE_LEDGER_START) {
		const char *id = gbe_json_string(object, "deployment", "");
		guint before = GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id));

		/* This start reports the failure of the last shutdown. */
		g_clear_pointer(&facts->failure, g_free);
		g_clear_pointer(&facts->failure_why, g_free);
		g_hash_table_insert(facts->starts, g_strdup(id), GUINT_TO_POINTER(before + 1));
	} else if (record->kind == GBE_LEDGER_INTENT) {
		/* The closing record still counts, since an undone intent has changed nothing. */
		end_intent(facts);
		if (!gbe_intent_from_json(object, &facts->intent, &error))
			facts->intent_why = g_strdup(error->message);
	} else if (record->kind == GBE_LEDGER_INTENT_ENDED) {
		end_intent(facts);
	} else if (record->kind == GBE_LEDGER_REQUEST) {
		if (!gbe_request_from_json(object, &facts->request, NULL))
			gbe_request_clear(&facts->request);
	} else if (record->kind == GBE_LEDGER_REQUEST_ENDED) {
		gbe_request_clear(&facts->request);
	} else if (record->kind == GBE_LEDGER_CMDLINE) {
		set_text(&facts->cmdline_done, object, "restore");
		set_text(&facts->rd_cmdline_done, object, "rd_restore");
	} else if (record->kind == GBE_LEDGER_GONE) {
		GbeGone *gone = g_new0(GbeGone, 1);

		gone->id = g_strdup(gbe_json_string(object, "deployment", ""));
		gone->sequence = gbe_ledger_number(object, "upto");
		g_ptr_array_add(facts->gone, gone);
	} else if (record->kind == GBE_LEDGER_OPERATION) {
		gbe_last_operation_from_json(object, &facts->last);
	} else if (record->kind == GBE_LEDGER_FAILURE) {
		set_text(&facts->failure, object, "operation");
		set_text(&facts->failure_why, object, "reason");
	} else {
		guint64 of = gbe_ledger_number(object, "of");

		fold_later(facts, record, (GbeTakeOver *)gbe_facts_take_over(facts, of),
			   find_run(facts, of));
	}
}

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
	GBE_EACH(const GbeLedgerRecord *, record, ledger->records)
		fold_record(facts, record);
}

/* ---- the records that a newly written ledger keeps ---- */

/* The newest records are all kept, for people. A service that fails and is restarted again and again writes three
 * records each time. Periodic backups also write records, and a device may run for a year between two take-overs. */
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
add_sequence(GHashTable *set, guint64 sequence)
{
	g_hash_table_add(set, g_memdup2(&sequence, sizeof(sequence)));
}

static bool
has_sequence(GHashTable *set, JsonObject *object, const char *key)
{
	gint64 sequence = gbe_json_int(object, key, 0);

	return g_hash_table_contains(set, &sequence);
}

static GHashTable *
needed_take_overs(const GbeFacts *facts)
{
	GHashTable *set = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GArray) next = g_array_new(false, false, sizeof(guint64));
	guint len = facts->runs->len;

	for (guint i = len > GBE_LEDGER_RUNS_KEPT ? len - GBE_LEDGER_RUNS_KEPT : 0; i < len; i++)
		add_sequence(set, ((GbeRunRecord *)facts->runs->pdata[i])->sequence);
	/* The last two take-overs of a listed deployment and its last green one tell which data it left, and if it was
	 * green. */
	GBE_EACH(const GbeListed *, listed, facts->listed) {
		guint kept = 0;
		bool green = false;

		for (guint i = len; i > 0; i--) {
			const GbeRunRecord *run = facts->runs->pdata[i - 1];
			bool is_green = gbe_run_record_is_green(run);

			if (!gbe_situation_is_of(facts, &run->deployment, run->sequence,
						 &listed->ref))
				continue;
			if (kept < 2 || (is_green && !green))
				add_sequence(set, run->sequence);
			kept += run->ended;
			green = green || is_green;
		}
	}
	/* The next take-over of each says in which state the deployment left the data, and whether it was on trial. */
	GBE_EACH(const GbeTakeOver *, to, facts->take_overs)
		if (to->after != 0 && g_hash_table_contains(set, &to->after))
			(void)g_array_append_val(next, to->sequence);
	for (guint i = 0; i < next->len; i++)
		add_sequence(set, g_array_index(next, guint64, i));
	/* The newest take-over with each place of the store: the backups there are found by it. */
	for (guint i = facts->take_overs->len; i > 0; i--) {
		const GbeTakeOver *to = facts->take_overs->pdata[i - 1];

		if (to->store_path != NULL && g_hash_table_add(places, to->store_path))
			add_sequence(set, to->sequence);
	}
	return set;
}

/* For very frequent kinds: is @record the newest of its kind? */
static bool
is_last_of_many(Needed *needed, const GbeLedgerRecord *record)
{
	bool is;

	if (record->kind == GBE_LEDGER_START)
		return !needed->end;
	if (record->kind == GBE_LEDGER_END) {
		is = has_sequence(needed->take_overs, record->object, "of") &&
		     !has_sequence(needed->ends, record->object, "of");
		add_sequence(needed->ends, (guint64)gbe_json_int(record->object, "of", 0));
		needed->end = true;
		if (gbe_json_bool(record->object, "fell_back", false) && !needed->fell_back)
			is = needed->fell_back = true;
		return is;
	}
	is = !needed->operation;
	needed->operation = true;
	return is;
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

/* Called for the newest record first. @newer: the number of newer records. */
static bool
is_needed(Needed *needed, const GbeLedgerRecord *record, guint newer)
{
	JsonObject *object = record->object;
	const char *backup = gbe_json_string(object, "backup", NULL);
	Keep keep = keeps[record->kind];
	bool undo;

	if (keep == KEEP_NEVER || keep == KEEP_ALWAYS)
		return keep == KEEP_ALWAYS;
	if (keep == KEEP_LAST)
		return is_last_of_many(needed, record) || newer < NEWEST_KEPT;
	if (keep == KEEP_BACKUP)
		return newer < NEWEST_KEPT ||
		       (backup != NULL && gbe_facts_backup(needed->facts, backup) != NULL);
	/* `undo` restores the data that the last restore displaced, or that a person set aside. A finished request
	 * must not be done again. */
	undo = keep == KEEP_TAKE_OVER && !needed->undo &&
	       (gbe_json_string(object, "source", NULL) != NULL ||
		gbe_json_bool(object, "asked", false));
	needed->undo = needed->undo || undo;
	if (undo ||
	    (keep == KEEP_TAKE_OVER && (has_sequence(needed->take_overs, object, "sequence") ||
					gbe_json_string(object, "request", NULL) != NULL)))
		return true;
	return record->sequence >= needed->recent || has_sequence(needed->take_overs, object, "of");
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
