/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes the facts into those of the next boot, for status and explain. */
#include "app/backup/observe.h"

#include "core/decide/decide.h"

const GbeListed *
gbe_observe_find(const GbeFacts *facts, const char *wanted, GError **error)
{
	guint64 index = 0;
	bool by_index =
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
			  "no deployment %s; `ostree admin status` lists them", wanted);
	return NULL;
}

void
gbe_observe_live(GbeObserved *observed, const GbeHealthFacts *live)
{
	GbeFacts *facts = observed->facts;
	GbeVersion version;

	if (live == NULL || facts->data_open != GBE_YES || live->opens_db != GBE_YES)
		return;
	if (live->voters > 0)
		facts->voters = live->voters;
	version = gbe_version_parse(live->version);
	if (version.known)
		facts->cluster_version = version;
}

static void
override_verdict(GbeFacts *facts, const char *verdict)
{
	const GbeTakeOver *owner = facts->owner;

	if (verdict == NULL || owner == NULL)
		return;
	for (guint i = 0; i < facts->runs->len; i++) {
		GbeRunRecord *run = facts->runs->pdata[i];

		if (run->sequence != owner->sequence)
			continue;
		run->verdict = gbe_verdict_from_string(verdict);
		run->was_green = false;
		/* A question about a green run means a healthy one. */
		if (run->verdict == GBE_VERDICT_GREEN)
			run->health = GBE_HEALTH_HEALTHY;
	}
}

/* The boot that ends the countdown is not counted. In the shell version the booted deployment is the default from then
 * on; the Rust version lets GRUB boot the second entry until a boot is green. */
static void
end_countdown(GbeFacts *facts, const GbeGreenboot *greenboot, const GbeListed *wanted)
{
	facts->counted = GBE_NO;
	if (greenboot->flavour != GBE_GREENBOOT_SHELL)
		return;
	g_free(facts->next);
	facts->next = g_strdup(wanted->ref.id);
}

/* Sets the facts to those after @wanted boots: its etcd is another one, and greenboot may have taken it as a
 * fallback. */
static void
boot(GbeObserved *observed, const GbeListed *wanted)
{
	GbeFacts *facts = observed->facts;

	if (!gbe_deployment_same(&facts->booted, &wanted->ref)) {
		gbe_deployment_copy(&facts->booted, &wanted->ref);
		gbe_observe_recorded_version(facts);
	}
	if (observed->greenboot->ends_countdown)
		end_countdown(facts, observed->greenboot, wanted);
	/* A staged deployment will be the default once it boots. */
	facts->booted_is_default = gbe_tri(wanted->is_default || wanted->staged);
	if (observed->greenboot->next_deployment != NULL &&
	    gbe_greenboot_next_is(observed->greenboot, wanted->ref.id) == GBE_NO)
		facts->booted_is_default = GBE_NO;
}

/* The next start counts, too, and it may be the one that gives up. */
static void
count_start(GbeFacts *facts)
{
	const char *id = facts->booted.id != NULL ? facts->booted.id : "";
	guint before = GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id));

	g_hash_table_insert(facts->starts, g_strdup(id), GUINT_TO_POINTER(before + 1));
}

bool
gbe_observe_next_boot(GbeObserved *observed, const char *booted, const char *verdict,
		      GbeTri deliberate, GError **error)
{
	GbeFacts *facts = observed->facts;
	g_autoptr(GError) local = NULL;
	const GbeListed *wanted = gbe_observe_find(facts, booted, &local);

	if (local != NULL)
		return gbe_pass(error, &local);
	if (wanted != NULL)
		boot(observed, wanted);
	gbe_decide_recovered(facts);
	override_verdict(facts, verdict);
	count_start(facts);
	if (deliberate != GBE_UNKNOWN)
		facts->booted_is_default = deliberate;
	/* A new run has its own command line, and the data is not open yet. */
	facts->skip = false;
	facts->service_failed = GBE_NO;
	g_free(facts->run);
	facts->run = g_strnfill(32, 'f');
	if (facts->data == GBE_YES)
		facts->data_open = GBE_NO;
	return true;
}
