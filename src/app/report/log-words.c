/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/log-words.h"

#include "app/state/ledger.h"
#include "core/json/parse.h"

/* "Subject: why", or the subject alone. Takes @subject. */
static char *
because(char *subject, const char *why)
{
	g_autofree char *taken = subject;

	return why != NULL && *why != '\0' ? g_strdup_printf("%s: %s", taken, why)
					   : g_steal_pointer(&taken);
}

static const char *
reason_of(JsonObject *object)
{
	return gbe_json_string(object, "reason", NULL);
}

static const char *
id_in(JsonObject *object)
{
	JsonObject *deployment = gbe_json_object(object, "deployment");

	return deployment != NULL ? gbe_json_string(deployment, "id", NULL) : NULL;
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
take_over_words(JsonObject *object, const char *rule)
{
	const char *id = id_in(object), *source = gbe_json_string(object, "source", NULL);
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
	if (source != NULL && rule != NULL)
		g_string_append_printf(text, " (rule %s)", rule);
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

	if (g_str_equal(verdict, "judging"))
		return g_strdup("The run is being judged");
	if (gbe_json_bool(object, "by_hand", false))
		return because(g_strdup_printf("The run was called %s by hand", verdict),
			       reason_of(object));
	return because(g_strdup_printf("The run is %s, etcd %s", verdict, health),
		       g_str_equal(health, "healthy") ? NULL : reason_of(object));
}

static char *
closing_words(JsonObject *object)
{
	const char *backup = name_in(object, "backup");
	gint64 used = gbe_json_int(object, "used", -1);
	GString *text = g_string_new("The run ended in order");

	if (used >= 0)
		g_string_append_printf(text, " after %" G_GINT64_FORMAT " min", used / 60);
	if (backup != NULL)
		g_string_append_printf(text, "; what it left is %s", backup);
	return g_string_free(text, false);
}

static char *
request_words(JsonObject *object)
{
	const char *what = gbe_json_string(object, "request", "?");

	return g_strdup_printf("A person asked for %s at the next boot",
			       gbe_json_string(object, "name", what));
}

static char *
cmdline_words(JsonObject *object)
{
	const char *restore = gbe_json_string(object, "restore", NULL);
	const char *rd_restore = gbe_json_string(object, "rd_restore", NULL);

	if (restore == NULL && rd_restore == NULL)
		return g_strdup("The kernel command line asks for nothing");
	return g_strdup_printf("The request on the kernel command line (%s) is over",
			       restore != NULL ? restore : rd_restore);
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

static char *
backup_words(const GbeLedgerRecord *record)
{
	JsonObject *object = record->object;
	const char *name = gbe_json_string(object, "backup", "?");
	const char *grade = gbe_json_string(object, "grade", "unproven");

	if (record->kind == GBE_LEDGER_REMOVED)
		return because(g_strdup_printf("Backup %s was removed", name), reason_of(object));
	if (record->kind == GBE_LEDGER_GRADED)
		return because(g_strdup_printf("Backup %s was graded %s", name, grade),
			       reason_of(object));
	return because(g_strdup_printf("Backup %s was made (%s)", name, grade), reason_of(object));
}

static char *
end_words(JsonObject *object)
{
	if (gbe_json_bool(object, "held", false))
		return because(g_strdup("etcd was held back"), reason_of(object));
	return g_strdup("etcd may start");
}

static char *
operation_words(JsonObject *object)
{
	return because(g_strdup_printf("The operation \"%s\" ended: %s",
				       gbe_json_string(object, "operation", "?"),
				       gbe_json_string(object, "result", "?")),
		       reason_of(object));
}

static char *
intent_words(JsonObject *object)
{
	const char *rule = gbe_json_string(object, "rule", NULL);

	return g_strdup_printf(
	    "A restore of %s began%s%s%s", gbe_json_string(object, "backup", "?"),
	    rule != NULL ? " (rule " : "", rule != NULL ? rule : "", rule != NULL ? ")" : "");
}

/* Texts of kinds whose words do not depend on the rest of the record. */
static const char *const plain[GBE_LEDGER_KINDS] = {
    [GBE_LEDGER_TREE] = "The data directory was found",
    [GBE_LEDGER_HANDED_BACK] =
	"The data was handed back to the deployment that boots next, which has no greenboot-etcd",
    [GBE_LEDGER_OPENED] = "etcd may write to the data again",
    [GBE_LEDGER_USED] = "The run has used the data for longer than its trial lasts",
    [GBE_LEDGER_START] = "A start did not come to its end",
};

char *
gbe_log_words(const GbeLedgerRecord *record, const char *rule)
{
	JsonObject *object = record->object;
	GbeLedgerKind kind = record->kind;

	if (plain[kind] != NULL)
		return g_strdup(plain[kind]);
	if (kind == GBE_LEDGER_HOLE)
		return hole_words(object);
	if (kind == GBE_LEDGER_TAKE_OVER)
		return take_over_words(object, rule);
	if (kind == GBE_LEDGER_VERDICT)
		return verdict_words(object);
	if (kind == GBE_LEDGER_CLOSING)
		return closing_words(object);
	if (kind == GBE_LEDGER_END)
		return end_words(object);
	if (kind == GBE_LEDGER_INTENT)
		return intent_words(object);
	if (kind == GBE_LEDGER_INTENT_ENDED)
		return g_strdup_printf("The restore that had begun was %s",
				       gbe_json_string(object, "result", "ended"));
	if (kind == GBE_LEDGER_BACKUP || kind == GBE_LEDGER_GRADED || kind == GBE_LEDGER_REMOVED)
		return backup_words(record);
	if (kind == GBE_LEDGER_REQUEST)
		return request_words(object);
	if (kind == GBE_LEDGER_REQUEST_ENDED)
		return because(g_strdup_printf("The request was %s",
					       gbe_json_string(object, "result", "ended")),
			       reason_of(object));
	if (kind == GBE_LEDGER_CMDLINE)
		return cmdline_words(object);
	if (kind == GBE_LEDGER_GONE)
		return g_strdup_printf("Deployment %s is gone",
				       gbe_json_string(object, "deployment", "?"));
	if (kind == GBE_LEDGER_OPERATION)
		return operation_words(object);
	if (kind == GBE_LEDGER_FAILURE)
		return because(g_strdup_printf("The operation \"%s\" failed at shutdown",
					       gbe_json_string(object, "operation", "?")),
			       reason_of(object));
	return g_strdup_printf("A newer greenboot-etcd recorded \"%s\"",
			       gbe_json_string(object, "kind", "?"));
}
