/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/log.h"

#include "app/report/log-words.h"
#include "app/state/ledger.h"
#include "core/json/members.h"
#include "core/json/parse.h"

/* The state while the records are read, oldest first. */
typedef struct {
	GHashTable *take_overs; /* sequence -> its record's object, borrowed */
	JsonObject *last;	/* the last of them */
	const char *rule;	/* of the open operation */
	GHashTable *detail;	/* records that only repeat or complete others */
} Log;

/* A judgement of a run about which a later record says more. */
static bool
was_judged(const GbeLedgerRecord *record, GHashTable *judged)
{
	gint64 of = gbe_json_int(record->object, "of", 0);
	bool later = g_hash_table_contains(judged, &of);

	g_hash_table_add(judged, g_memdup2(&of, sizeof(of)));
	return later && g_str_equal(gbe_json_string(record->object, "verdict", ""), "judging");
}

/* Newest first: a start with an end, and an operation that a take-over ended, need no words of their own. */
static void
mark_details(const GbeLedger *ledger, GHashTable *detail)
{
	g_autoptr(GHashTable) ended = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) judged =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	bool carried_out = false;

	for (guint i = ledger->records->len; i > 0; i--) {
		GbeLedgerRecord *record = ledger->records->pdata[i - 1];
		const char *id = gbe_json_string(record->object, "deployment", "");
		bool is = record->kind == GBE_LEDGER_TREE || record->kind == GBE_LEDGER_OPENED ||
			  record->kind == GBE_LEDGER_OTHER;

		if (record->kind == GBE_LEDGER_END) {
			g_hash_table_add(ended, (gpointer)id);
			is = !gbe_json_bool(record->object, "held", false);
		} else if (record->kind == GBE_LEDGER_START) {
			is = g_hash_table_remove(ended, id);
		} else if (record->kind == GBE_LEDGER_INTENT) {
			is = carried_out;
			carried_out = false;
		} else if (record->kind == GBE_LEDGER_OPERATION) {
			const char *result = gbe_json_string(record->object, "result", "");

			is = g_str_equal(result, "done") || g_str_equal(result, "held");
		} else if (record->kind == GBE_LEDGER_VERDICT) {
			is = was_judged(record, judged);
		}
		if (record->kind == GBE_LEDGER_TAKE_OVER || record->kind == GBE_LEDGER_HANDED_BACK)
			carried_out = true;
		else if (record->kind == GBE_LEDGER_INTENT_ENDED)
			carried_out = false;
		if (is)
			g_hash_table_add(detail, record);
	}
}

static bool
names(JsonNode *node, const char *name)
{
	g_autoptr(GList) members = NULL;

	if (JSON_NODE_HOLDS_VALUE(node))
		return json_node_get_value_type(node) == G_TYPE_STRING &&
		       g_str_equal(json_node_get_string(node), name);
	if (JSON_NODE_HOLDS_ARRAY(node)) {
		JsonArray *array = json_node_get_array(node);

		for (guint i = 0; i < json_array_get_length(array); i++)
			if (names(json_array_get_element(array, i), name))
				return true;
		return false;
	}
	if (!JSON_NODE_HOLDS_OBJECT(node))
		return false;
	members = json_object_get_values(json_node_get_object(node));
	for (GList *member = members; member != NULL; member = member->next)
		if (names(member->data, name))
			return true;
	return false;
}

static bool
is_wanted(const GbeLedgerRecord *record, gint64 since, const char *backup)
{
	g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), record->object);

	/* An unreadable record may have been anything. */
	if (record->kind == GBE_LEDGER_HOLE)
		return true;
	return gbe_json_int(record->object, "time", 0) >= since &&
	       (backup == NULL || names(node, backup));
}

/* The take-over that a record concerns: its own, the named one, or else the last one before it. */
static JsonObject *
take_over_of(Log *log, const GbeLedgerRecord *record)
{
	gint64 of = gbe_json_int(record->object, "of", 0);
	JsonObject *named = of > 0 ? g_hash_table_lookup(log->take_overs, &of) : NULL;

	if (record->kind == GBE_LEDGER_TAKE_OVER) {
		gint64 sequence = (gint64)record->sequence;

		log->last = record->object;
		g_hash_table_insert(log->take_overs, g_memdup2(&sequence, sizeof(sequence)),
				    record->object);
	}
	return named != NULL ? named : log->last;
}

/* A prerun may belong to a run that takes nothing over, so its record names the deployment. */
static void
set_whose(JsonObject *object, const GbeLedgerRecord *record, JsonObject *of)
{
	JsonObject *whose = of != NULL ? gbe_json_object(of, "deployment") : NULL;
	const char *run = of != NULL ? gbe_json_string(of, "run", NULL) : NULL;
	const char *id = whose != NULL ? gbe_json_string(whose, "id", NULL) : NULL;

	if (record->kind == GBE_LEDGER_START ||
	    (record->kind == GBE_LEDGER_END && gbe_json_int(record->object, "of", 0) == 0)) {
		id = gbe_json_string(record->object, "deployment", NULL);
		id = id != NULL && *id != '\0' ? id : NULL;
		run = NULL;
	}
	gbe_json_set_string(object, "deployment", id);
	gbe_json_set_string(object, "run", run);
}

static JsonObject *
describe(Log *log, const GbeLedgerRecord *record)
{
	JsonObject *object = gbe_json_answer(), *of = take_over_of(log, record);
	bool detail = g_hash_table_contains(log->detail, record);
	gint64 time = gbe_json_int(record->object, "time", 0);
	g_autofree char *text = record->kind == GBE_LEDGER_START && detail
				    ? g_strdup("A start began")
				    : gbe_log_words(record, log->rule);

	gbe_json_set_known(object, "sequence",
			   record->sequence > 0 ? (gint64)record->sequence : -1);
	gbe_json_set_known(object, "time", time > 0 ? time : -1);
	gbe_json_set_string(object, "kind",
			    record->kind == GBE_LEDGER_OTHER
				? gbe_json_string(record->object, "kind", "?")
				: gbe_ledger_kind_to_string(record->kind));
	set_whose(object, record, of);
	gbe_json_set_string(object, "text", text);
	json_object_set_boolean_member(object, "detail", detail);
	json_object_set_object_member(object, "record", gbe_json_copy_object(record->object));
	if (record->kind == GBE_LEDGER_INTENT)
		log->rule = gbe_json_string(record->object, "rule", NULL);
	else if (record->kind == GBE_LEDGER_TAKE_OVER || record->kind == GBE_LEDGER_INTENT_ENDED)
		log->rule = NULL;
	return object;
}

bool
gbe_log_read(GbeApp *app, gint64 since, const char *backup, JsonArray **ret_log, GError **error)
{
	g_autoptr(GHashTable) take_overs =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) detail = g_hash_table_new(NULL, NULL);
	Log log = {.take_overs = take_overs, .detail = detail};
	const GbeLedger *ledger;
	JsonArray *array;

	if (!gbe_ledger_load(app, &ledger, error))
		return false;
	mark_details(ledger, detail);
	array = json_array_new();
	for (guint i = 0; i < ledger->records->len; i++) {
		const GbeLedgerRecord *record = ledger->records->pdata[i];
		g_autoptr(JsonObject) object = describe(&log, record);

		if (is_wanted(record, since, backup))
			json_array_add_object_element(array, g_steal_pointer(&object));
	}
	*ret_log = array;
	return true;
}
