/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/periodic.h"

#include "core/record/fields.h"

static const char *const results[] = {
    [GBE_PERIODIC_NONE] = NULL,
    [GBE_PERIODIC_TAKEN] = "taken",
    [GBE_PERIODIC_UNCHANGED] = "unchanged",
    [GBE_PERIODIC_SKIPPED] = "skipped",
    [GBE_PERIODIC_FAILED] = "failed",
};
static const GbeWords result_words = {results, G_N_ELEMENTS(results), GBE_PERIODIC_NONE,
				      GBE_PERIODIC_NONE};

static const GbeField fields[] = {
    GBE_FIELD_OF(GbePeriodic, result, "result", WORD, &result_words, 0),
    GBE_FIELD(GbePeriodic, reason, "reason", TEXT),
    GBE_FIELD(GbePeriodic, attempted, "attempted", KNOWN),
    GBE_FIELD(GbePeriodic, succeeded, "succeeded", KNOWN),
    GBE_FIELD(GbePeriodic, backup, "backup", TEXT),
    GBE_FIELD(GbePeriodic, taken, "taken", KNOWN),
    GBE_FIELD(GbePeriodic, member, "member", TEXT),
    GBE_FIELD(GbePeriodic, revision, "revision", KNOWN),
    GBE_FIELD(GbePeriodic, applied, "applied", KNOWN),
    {0},
};

void
gbe_periodic_clear(GbePeriodic *periodic)
{
	gbe_fields_clear(fields, periodic);
}

const char *
gbe_periodic_result_to_string(GbePeriodicResult result)
{
	return gbe_words_get(&result_words, result);
}

void
gbe_periodic_read(JsonObject *object, GbePeriodic *ret_periodic)
{
	*ret_periodic = (GbePeriodic){0};
	gbe_fields_init(fields, ret_periodic);
	gbe_fields_read_known(fields, object, ret_periodic);
}

JsonObject *
gbe_periodic_print(const GbePeriodic *periodic)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(fields, object, periodic);
	return object;
}

bool
gbe_periodic_is_overdue(const GbePeriodic *periodic)
{
	return periodic->result == GBE_PERIODIC_SKIPPED || periodic->result == GBE_PERIODIC_FAILED;
}

void
gbe_periodic_note(GbePeriodic *periodic, GbePeriodicResult result, const char *reason, gint64 now)
{
	g_free(periodic->reason);
	periodic->reason = g_strdup(reason);
	periodic->result = result;
	periodic->attempted = now;
	if (!gbe_periodic_is_overdue(periodic))
		periodic->succeeded = now;
}
