/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/state/ledger.h"
#include "core/json/members.h"
#include "core/json/parse.h"

/* "Subject: why", or the subject alone. Takes @subject. */
static char *
because(char *subject, JsonObject *object)
{
	const char *why = gbe_json_string(object, "reason", NULL);
	g_autofree char *taken = subject;

	return why != NULL && *why != '\0' ? g_strdup_printf("%s: %s", taken, why)
					   : g_steal_pointer(&taken);
}

static const char *
name_in(JsonObject *object, const char *key)
{
	JsonObject *ref = object != NULL ? gbe_json_object(object, key) : NULL;

	return ref != NULL ? gbe_json_string(ref, "name", NULL) : NULL;
}

/* The backup that comes back if this update fails. */
static const char *
base_of(JsonObject *object)
{
	JsonObject *trial = gbe_json_object(object, "trial");
	JsonArray *chain = gbe_json_array(object, "chain");
	JsonNode *first = chain != NULL && json_array_get_length(chain) > 0
			      ? json_array_get_element(chain, 0)
			      : NULL;

	if (trial == NULL || !gbe_json_bool(trial, "on", false) || first == NULL ||
	    !JSON_NODE_HOLDS_OBJECT(first))
		return NULL;
	return name_in(json_node_get_object(first), "backup");
}

static char *
take_over_words(JsonObject *object)
{
	JsonObject *deployment = gbe_json_object(object, "deployment");
	const char *id = deployment != NULL ? gbe_json_string(deployment, "id", NULL) : NULL;
	const char *source = gbe_json_string(object, "source", NULL);
	const char *request = gbe_json_string(object, "request", NULL);
	const char *found = name_in(object, "found"), *base = base_of(object);
	GString *text = g_string_new(id != NULL ? id : "This system");

	g_string_append(text, " has the data");
	if (source != NULL)
		g_string_append_printf(text, ", restored from %s", source);
	if (request != NULL)
		g_string_append_printf(text, ", as asked with %s", request);
	else if (source != NULL && gbe_json_bool(object, "asked", false))
		g_string_append(text, ", by hand");
	if (gbe_json_bool(object, "skipped", false))
		g_string_append(text, "; nothing was backed up or restored (greenboot-etcd.skip)");
	if (gbe_json_bool(object, "late", false))
		g_string_append(text, "; etcd had it already, and nothing was backed up before");
	if (gbe_json_bool(object, "began_empty", false))
		g_string_append(text, "; etcd began with an empty database");
	if (gbe_json_bool(object, "failed", false))
		g_string_append(text, "; a restore was due and could not be done");
	if (found != NULL)
		g_string_append_printf(text, "; what was there before is %s", found);
	if (base != NULL && g_strcmp0(base, found) != 0 && g_strcmp0(base, source) != 0)
		g_string_append_printf(text, "; if it fails, %s comes back", base);
	return g_string_free(text, false);
}

static char *
verdict_words(JsonObject *object)
{
	const char *verdict = gbe_json_string(object, "verdict", "none");
	const char *health = gbe_json_string(object, "health", "not-asked");
	char *text;

	if (g_str_equal(verdict, "judging"))
		return g_strdup("The run is being judged");
	if (gbe_json_bool(object, "by_hand", false))
		return because(g_strdup_printf("The run was called %s by hand", verdict), object);
	text = g_strdup_printf("The run is %s, etcd %s", verdict, health);
	return g_str_equal(health, "healthy") ? text : because(text, object);
}

static char *
hole_words(JsonObject *object)
{
	gint64 line = gbe_json_int(object, "line", 0), lines = gbe_json_int(object, "lines", 0);
	g_autofree char *which =
	    lines > 1 ? g_strdup_printf("Lines %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, line,
					line + lines - 1)
		      : g_strdup_printf("Line %" G_GINT64_FORMAT, line);

	if (lines == 0)
		return g_strdup("The beginning of " GBE_LEDGER_PATH
				" was left out: it has too many records");
	return g_strdup_printf("%s of " GBE_LEDGER_PATH
			       " cannot be read (%s): what happened there is not known",
			       which, gbe_json_string(object, "reason", "?"));
}

/* The record in words: the subject first, names in full, and no rule numbers. */
static char *
words_of(const GbeLedgerRecord *record)
{
	JsonObject *object = record->object;
	const char *backup = gbe_json_string(object, "backup", "?");
	const char *grade = gbe_json_string(object, "grade", "unproven");
	const char *operation = gbe_json_string(object, "operation", "?");
	const char *result = gbe_json_string(object, "result", NULL);
	const char *restore = gbe_json_string(object, "restore", NULL);
	gint64 used;
	GString *text;

	switch (record->kind) {
	case GBE_LEDGER_TREE:
		return g_strdup("The data directory was found");
	case GBE_LEDGER_HANDED_BACK:
		return g_strdup("The data was handed back to the deployment that boots next, which "
				"has no greenboot-etcd");
	case GBE_LEDGER_OPENED:
		return g_strdup("etcd may write to the data again");
	case GBE_LEDGER_USED:
		return g_strdup("The run has used the data for longer than its trial lasts");
	case GBE_LEDGER_START:
		return g_strdup("A start did not come to its end");
	case GBE_LEDGER_HOLE:
		return hole_words(object);
	case GBE_LEDGER_TAKE_OVER:
		return take_over_words(object);
	case GBE_LEDGER_VERDICT:
		return verdict_words(object);
	case GBE_LEDGER_CLOSING:
		text = g_string_new("The run ended in order");
		used = gbe_json_int(object, "used", -1);
		if (used >= 0)
			g_string_append_printf(text, " after %" G_GINT64_FORMAT " min", used / 60);
		backup = name_in(object, "backup");
		if (backup != NULL)
			g_string_append_printf(text, "; what it left is %s", backup);
		return g_string_free(text, false);
	case GBE_LEDGER_END:
		if (gbe_json_bool(object, "held", false))
			return because(g_strdup("etcd was held back"), object);
		return g_strdup("etcd may start");
	case GBE_LEDGER_INTENT:
		return g_strdup_printf("A restore of %s began", backup);
	case GBE_LEDGER_INTENT_ENDED:
		return g_strdup_printf("The restore that had begun was %s",
				       result != NULL ? result : "ended");
	case GBE_LEDGER_BACKUP:
		return because(g_strdup_printf("Backup %s was made (%s)", backup, grade), object);
	case GBE_LEDGER_GRADED:
		return because(g_strdup_printf("Backup %s was graded %s", backup, grade), object);
	case GBE_LEDGER_REMOVED:
		return because(g_strdup_printf("Backup %s was removed", backup), object);
	case GBE_LEDGER_REQUEST:
		return g_strdup_printf(
		    "A person asked for %s at the next boot",
		    gbe_json_string(object, "name", gbe_json_string(object, "request", "?")));
	case GBE_LEDGER_REQUEST_ENDED:
		return because(
		    g_strdup_printf("The request was %s", result != NULL ? result : "ended"),
		    object);
	case GBE_LEDGER_CMDLINE:
		restore = restore != NULL ? restore : gbe_json_string(object, "rd_restore", NULL);
		if (restore == NULL)
			return g_strdup("The kernel command line asks for nothing");
		return g_strdup_printf("The request on the kernel command line (%s) is over",
				       restore);
	case GBE_LEDGER_GONE:
		return g_strdup_printf("Deployment %s is gone",
				       gbe_json_string(object, "deployment", "?"));
	case GBE_LEDGER_OPERATION:
		return because(g_strdup_printf("The operation \"%s\" ended: %s", operation,
					       result != NULL ? result : "?"),
			       object);
	case GBE_LEDGER_FAILURE:
		return because(
		    g_strdup_printf("The operation \"%s\" failed at shutdown", operation), object);
	case GBE_LEDGER_OTHER:
	case GBE_LEDGER_HEAD:
	case GBE_LEDGER_KINDS:
	default:
		return g_strdup_printf("A newer greenboot-etcd recorded \"%s\"",
				       gbe_json_string(object, "kind", "?"));
	}
}

/* The state while the records are read, oldest first. */
typedef struct {
	GHashTable *take_overs; /* sequence -> its record's object, borrowed */
	JsonObject *last;	/* the last of them */
	GHashTable *detail;	/* records that only repeat or complete others */
} Log;

/* Newest first: a start with an end, and an operation that a take-over ended, need no words of their own. */
static void
mark_details(const GbeLedger *ledger, GHashTable *detail)
{
	g_autoptr(GHashTable) ended = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) judged =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	bool carried_out = false;
	gint64 of;

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
			/* A later record says more about this run. */
			of = gbe_json_int(record->object, "of", 0);
			is = g_hash_table_contains(judged, &of) &&
			     g_str_equal(gbe_json_string(record->object, "verdict", ""), "judging");
			g_hash_table_add(judged, g_memdup2(&of, sizeof(of)));
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

static void
print_record(JsonObject *object, const char *key, const void *field)
{
	json_object_set_object_member(object, key,
				      gbe_json_copy_object(*(JsonObject *const *)field));
}

static void
clear_record(void *field)
{
	g_clear_pointer((JsonObject **)field, json_object_unref);
}
static const GbeFieldOwn own_record = {.print = print_record, .clear = clear_record};

const GbeField gbe_log_fields[] = {
    GBE_FIELD(GbeLogEvent, sequence, "sequence", MOMENT),
    GBE_FIELD(GbeLogEvent, time, "time", MOMENT),
    GBE_FIELD_SET(GbeLogEvent, kind, "kind", TEXT),
    GBE_FIELD(GbeLogEvent, deployment, "deployment", TEXT),
    GBE_FIELD(GbeLogEvent, run, "run", TEXT),
    GBE_FIELD_SET(GbeLogEvent, text, "text", TEXT),
    GBE_FIELD(GbeLogEvent, detail, "detail", FLAG),
    GBE_FIELD_BY(GbeLogEvent, record, "record", OWN, &own_record, 0),
    {0},
};
const GbeFieldItems gbe_log_items = {gbe_log_fields, sizeof(GbeLogEvent)};

static void
free_event(gpointer event)
{
	gbe_fields_free(&gbe_log_items, event);
}

static GbeLogEvent *
describe(Log *log, const GbeLedgerRecord *record)
{
	GbeLogEvent *event = gbe_fields_new(&gbe_log_items);
	JsonObject *of = take_over_of(log, record);
	JsonObject *whose = of != NULL ? gbe_json_object(of, "deployment") : NULL;
	const char *id = whose != NULL ? gbe_json_string(whose, "id", NULL) : NULL;

	event->sequence = (gint64)record->sequence;
	event->time = gbe_json_int(record->object, "time", 0);
	event->kind =
	    g_strdup(record->kind == GBE_LEDGER_OTHER ? gbe_json_string(record->object, "kind", "?")
						      : gbe_ledger_kind_to_string(record->kind));
	/* A prerun may belong to a run that takes nothing over, so its record names the deployment. */
	if (record->kind == GBE_LEDGER_START ||
	    (record->kind == GBE_LEDGER_END && gbe_json_int(record->object, "of", 0) == 0)) {
		id = gbe_json_string(record->object, "deployment", "");
		id = *id != '\0' ? id : NULL;
	} else if (of != NULL) {
		event->run = g_strdup(gbe_json_string(of, "run", NULL));
	}
	event->deployment = g_strdup(id);
	event->detail = g_hash_table_contains(log->detail, record);
	event->text = record->kind == GBE_LEDGER_START && event->detail ? g_strdup("A start began")
									: words_of(record);
	event->record = json_object_ref(record->object);
	return event;
}

bool
gbe_log_read(GbeApp *app, gint64 since, const char *backup, GPtrArray **ret_log, GError **error)
{
	g_autoptr(GHashTable) take_overs =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) detail = g_hash_table_new(NULL, NULL);
	Log log = {.take_overs = take_overs, .detail = detail};
	const GbeLedger *ledger;
	GPtrArray *events;

	if (!gbe_ledger_load(app, &ledger, error))
		return false;
	mark_details(ledger, detail);
	events = g_ptr_array_new_with_free_func(free_event);
	for (guint i = 0; i < ledger->records->len; i++) {
		const GbeLedgerRecord *record = ledger->records->pdata[i];
		GbeLogEvent *event = describe(&log, record);

		if (is_wanted(record, since, backup))
			g_ptr_array_add(events, event);
		else
			free_event(event);
	}
	*ret_log = events;
	return true;
}
