/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/rehearsal.h"

#include "core/record/fields.h"

static const char *const results[] = {
    [GBE_REHEARSAL_NONE] = NULL,
    [GBE_REHEARSAL_PASSED] = "passed",
    [GBE_REHEARSAL_FAILED] = "failed",
    [GBE_REHEARSAL_NOT_REHEARSED] = "not-rehearsed",
};
/* An unknown word is a later version's; its result must not count as failed. */
const GbeWords gbe_rehearsal_words = {results, G_N_ELEMENTS(results), GBE_REHEARSAL_NONE,
				      GBE_REHEARSAL_NOT_REHEARSED};

static const GbeField fields[] = {
    GBE_FIELD(GbeRehearsal, deployment.id, "deployment", TEXT),
    GBE_FIELD(GbeRehearsal, deployment.handle, "handle", TEXT),
    GBE_FIELD_OF(GbeRehearsal, result, "result", WORD, &gbe_rehearsal_words, 0),
    GBE_FIELD(GbeRehearsal, reason, "reason", TEXT),
    GBE_FIELD(GbeRehearsal, from, "from", TEXT),
    GBE_FIELD(GbeRehearsal, to, "to", TEXT),
    GBE_FIELD(GbeRehearsal, duration_usec, "duration_usec", KNOWN),
    GBE_FIELD(GbeRehearsal, at, "at", KNOWN),
    GBE_FIELD(GbeRehearsal, goes_back, "goes_back", TRI),
    GBE_FIELD(GbeRehearsal, going_back, "goes_back_reason", TEXT),
    GBE_FIELD(GbeRehearsal, locked, "locked", FLAG),
    {0},
};

void
gbe_rehearsal_clear(GbeRehearsal *rehearsal)
{
	gbe_fields_clear(fields, rehearsal);
}

void
gbe_rehearsal_read(JsonObject *object, GbeRehearsal *ret_rehearsal)
{
	*ret_rehearsal = (GbeRehearsal){{0}};
	gbe_fields_init(fields, ret_rehearsal);
	gbe_fields_read_known(fields, object, ret_rehearsal);
}

JsonObject *
gbe_rehearsal_print(const GbeRehearsal *rehearsal)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(fields, object, rehearsal);
	return object;
}

const char *
gbe_rehearsal_result_to_string(GbeRehearsalResult result)
{
	return gbe_words_get(&gbe_rehearsal_words, result);
}

bool
gbe_rehearsal_answers(const GbeRehearsal *rehearsal, const GbeDeployment *deployment,
		      const char *from)
{
	return (rehearsal->result == GBE_REHEARSAL_PASSED ||
		rehearsal->result == GBE_REHEARSAL_FAILED) &&
	       gbe_deployment_same(&rehearsal->deployment, deployment) &&
	       g_strcmp0(rehearsal->from, from) == 0;
}
