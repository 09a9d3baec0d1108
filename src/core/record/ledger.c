/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/ledger.h"

#include "core/json/parse.h"

/* More than twice this number of records are not kept in memory. Far fewer are needed. A longer file was never
 * rewritten, and its beginning is as good as lost. */
#define RECORDS_MAX 8192

static const char *const kinds[GBE_LEDGER_KINDS] = {
    [GBE_LEDGER_OTHER] = "other",
    [GBE_LEDGER_HOLE] = "unreadable",
    [GBE_LEDGER_HEAD] = "ledger",
    [GBE_LEDGER_TAKE_OVER] = "take-over",
    [GBE_LEDGER_TREE] = "tree",
    [GBE_LEDGER_HANDED_BACK] = "handed-back",
    [GBE_LEDGER_VERDICT] = "verdict",
    [GBE_LEDGER_CLOSING] = "closing",
    [GBE_LEDGER_OPENED] = "opened",
    [GBE_LEDGER_USED] = "used",
    [GBE_LEDGER_START] = "start",
    [GBE_LEDGER_END] = "end",
    [GBE_LEDGER_INTENT] = "intent",
    [GBE_LEDGER_INTENT_ENDED] = "intent-ended",
    [GBE_LEDGER_BACKUP] = "backup",
    [GBE_LEDGER_GRADED] = "graded",
    [GBE_LEDGER_REMOVED] = "removed",
    [GBE_LEDGER_REQUEST] = "request",
    [GBE_LEDGER_REQUEST_ENDED] = "request-ended",
    [GBE_LEDGER_CMDLINE] = "cmdline",
    [GBE_LEDGER_GONE] = "gone",
    [GBE_LEDGER_OPERATION] = "operation",
    [GBE_LEDGER_FAILURE] = "failure",
};

const char *
gbe_ledger_kind_to_string(GbeLedgerKind kind)
{
	return (guint)kind < G_N_ELEMENTS(kinds) ? kinds[kind] : "?";
}

static void
record_free(gpointer data)
{
	GbeLedgerRecord *record = data;

	json_object_unref(record->object);
	g_free(record);
}

GbeLedger *
gbe_ledger_new(void)
{
	GbeLedger *ledger = g_new0(GbeLedger, 1);

	ledger->records = g_ptr_array_new_with_free_func(record_free);
	return ledger;
}

void
gbe_ledger_free(GbeLedger *ledger)
{
	if (ledger == NULL)
		return;
	g_free(ledger->id);
	g_ptr_array_unref(ledger->records);
	g_free(ledger);
}

guint64
gbe_ledger_number(JsonObject *object, const char *key)
{
	gint64 value = gbe_json_int(object, key, 0);

	return value > 0 && (guint64)value <= GBE_LEDGER_SEQUENCE_MAX ? (guint64)value : 0;
}

static GbeLedgerRecord *
hole_new(guint64 line, guint64 lines, const char *reason)
{
	GbeLedgerRecord *record = g_new0(GbeLedgerRecord, 1);

	record->kind = GBE_LEDGER_HOLE;
	record->object = json_object_new();
	json_object_set_int_member(record->object, "line", (gint64)line);
	json_object_set_int_member(record->object, "lines", (gint64)lines);
	gbe_json_set_string(record->object, "reason", reason);
	return record;
}

static void
append_record(GbeLedger *ledger, GbeLedgerRecord *record)
{
	g_ptr_array_add(ledger->records, record);
	if (ledger->records->len < 2 * RECORDS_MAX)
		return;
	g_ptr_array_remove_range(ledger->records, 0, RECORDS_MAX);
	g_ptr_array_insert(ledger->records, 0, hole_new(1, 0, "too many records"));
	ledger->holes = true;
}

void
gbe_ledger_add_hole(GbeLedger *ledger, guint64 line, const char *reason)
{
	guint len = ledger->records->len;
	GbeLedgerRecord *last = len > 0 ? ledger->records->pdata[len - 1] : NULL;
	gint64 lines;

	ledger->holes = true;
	if (last == NULL || last->kind != GBE_LEDGER_HOLE) {
		append_record(ledger, hole_new(line, 1, reason));
		return;
	}
	lines = gbe_json_int(last->object, "lines", 0);
	json_object_set_int_member(last->object, "lines", lines + 1);
}

bool
gbe_ledger_add(GbeLedger *ledger, JsonObject *object, GError **error)
{
	guint64 sequence = gbe_ledger_number(object, "sequence");
	const char *kind = gbe_json_string(object, "kind", NULL);
	JsonObject *intent = gbe_json_object(object, "take_over");
	GbeLedgerRecord *record;

	if (sequence == 0 || kind == NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "a record without a sequence number or a kind");
	/* A sequence that an intent has reserved counts as given out, whichever program appended the intent. */
	ledger->last = MAX(ledger->last, MAX(sequence, gbe_ledger_number(object, "staged")));
	if (intent != NULL)
		ledger->last = MAX(ledger->last, gbe_ledger_number(intent, "sequence"));
	record = g_new0(GbeLedgerRecord, 1);
	record->sequence = sequence;
	record->kind = GBE_LEDGER_OTHER;
	for (guint i = GBE_LEDGER_HEAD; i < G_N_ELEMENTS(kinds); i++)
		if (g_str_equal(kind, kinds[i]))
			record->kind = (GbeLedgerKind)i;
	record->object = json_object_ref(object);
	if (record->kind != GBE_LEDGER_HEAD) {
		append_record(ledger, record);
		return true;
	}
	if (ledger->id == NULL)
		ledger->id = g_strdup(gbe_json_string(object, "id", NULL));
	record_free(record);
	return true;
}

bool
gbe_ledger_has_healed(const GbeLedger *ledger)
{
	guint runs = 0;

	for (guint i = ledger->records->len; i > 0; i--) {
		const GbeLedgerRecord *record = ledger->records->pdata[i - 1];

		if (record->kind == GBE_LEDGER_HOLE)
			return runs >= GBE_LEDGER_RUNS_KEPT;
		runs += record->kind == GBE_LEDGER_TAKE_OVER;
	}
	return false;
}
