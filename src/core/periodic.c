/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/periodic.h"

#include "core/record.h"

static const char *const words[] = {
    [GBE_PERIODIC_TAKEN] = "taken",
    [GBE_PERIODIC_UNCHANGED] = "unchanged",
    [GBE_PERIODIC_SKIPPED] = "skipped",
    [GBE_PERIODIC_FAILED] = "failed",
};

void
gbe_periodic_init(GbePeriodic *periodic)
{
	*periodic = (GbePeriodic){.attempted = -1,
				  .succeeded = -1,
				  .taken = -1,
				  .revision = -1,
				  .applied = -1};
}

void
gbe_periodic_clear(GbePeriodic *periodic)
{
	g_clear_pointer(&periodic->reason, g_free);
	g_clear_pointer(&periodic->backup, g_free);
	g_clear_pointer(&periodic->member, g_free);
}

const char *
gbe_periodic_result_to_string(GbePeriodicResult result)
{
	return words[result];
}

static GbePeriodicResult
result_of(const char *word)
{
	for (guint i = GBE_PERIODIC_TAKEN; i < G_N_ELEMENTS(words); i++)
		if (g_strcmp0(word, words[i]) == 0)
			return (GbePeriodicResult)i;
	return GBE_PERIODIC_NONE;
}

void
gbe_periodic_read(JsonObject *object, GbePeriodic *ret_periodic)
{
	gbe_periodic_init(ret_periodic);
	if (object == NULL)
		return;
	ret_periodic->result = result_of(gbe_json_string(object, "result", NULL));
	ret_periodic->reason = g_strdup(gbe_json_string(object, "reason", NULL));
	ret_periodic->attempted = gbe_json_int(object, "attempted", -1);
	ret_periodic->succeeded = gbe_json_int(object, "succeeded", -1);
	ret_periodic->backup = g_strdup(gbe_json_string(object, "backup", NULL));
	ret_periodic->taken = gbe_json_int(object, "taken", -1);
	ret_periodic->member = g_strdup(gbe_json_string(object, "member", NULL));
	ret_periodic->revision = gbe_json_int(object, "revision", -1);
	ret_periodic->applied = gbe_json_int(object, "applied", -1);
}

JsonObject *
gbe_periodic_print(const GbePeriodic *periodic)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "result", gbe_periodic_result_to_string(periodic->result));
	gbe_json_set_string(object, "reason", periodic->reason);
	json_object_set_int_member(object, "attempted", periodic->attempted);
	json_object_set_int_member(object, "succeeded", periodic->succeeded);
	gbe_json_set_string(object, "backup", periodic->backup);
	json_object_set_int_member(object, "taken", periodic->taken);
	gbe_json_set_string(object, "member", periodic->member);
	json_object_set_int_member(object, "revision", periodic->revision);
	json_object_set_int_member(object, "applied", periodic->applied);
	return object;
}

gboolean
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
