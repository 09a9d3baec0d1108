/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The next boot, for those who ask beforehand. */
#include "app/observe.h"

#include "core/situation.h"

static const GbeListed *
find_wanted(const GbeFacts *facts, const char *wanted, GError **error)
{
	guint64 index = 0;
	gboolean by_index =
	    wanted != NULL && g_ascii_string_to_unsigned(wanted, 10, 0, G_MAXUINT, &index, NULL);

	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (wanted == NULL ? g_strcmp0(listed->ref.id, facts->next) == 0
		    : by_index	   ? listed->index == index
		    : g_str_equal(wanted, "rollback")
			? listed->rollback
			: (g_str_equal(wanted, "staged") ? listed->staged
							 : g_str_equal(wanted, listed->ref.id)))
			return listed;
	}
	if (wanted != NULL)
		gbe_throw(error, GBE_ERROR_NOT_FOUND,
			  "no deployment %s: `ostree admin status` lists them", wanted);
	return NULL;
}

static void
override_verdict(GbeFacts *facts, const char *verdict)
{
	const GbeStamp *stamp = gbe_situation_stamp(facts);

	if (verdict == NULL || stamp == NULL)
		return;
	for (guint i = 0; i < facts->runs->len; i++) {
		GbeRunRecord *run = facts->runs->pdata[i];

		if (run->sequence != stamp->sequence)
			continue;
		run->verdict = gbe_verdict_from_string(verdict);
		/* Who asks about a green run means a healthy one. */
		if (run->verdict == GBE_VERDICT_GREEN)
			run->health = GBE_HEALTH_HEALTHY;
	}
}

bool
gbe_observe_next_boot(GbeObserved *observed, const char *booted, const char *verdict,
		      GbeTri deliberate, GError **error)
{
	GbeFacts *facts = observed->facts;
	g_autoptr(GError) local = NULL;
	const GbeListed *wanted = find_wanted(facts, booted, &local);

	if (local != NULL) {
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
	}
	if (wanted != NULL) {
		gbe_deployment_clear(&facts->booted);
		gbe_deployment_copy(&facts->booted, &wanted->ref);
		/* A staged one will be the default once it boots. */
		facts->booted_is_default = gbe_tri(wanted->is_default || wanted->staged);
	}
	override_verdict(facts, verdict);
	if (deliberate != GBE_UNKNOWN)
		facts->booted_is_default = deliberate;
	/* Another run, with nobody at the data yet. */
	g_free(facts->run);
	facts->run = g_strnfill(32, 'f');
	if (facts->data == GBE_YES)
		facts->data_open = GBE_NO;
	return true;
}
