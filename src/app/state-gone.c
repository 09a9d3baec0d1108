/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of app/state.h that is about deployments that are gone: ostree gives a name out again, and
 * what was recorded under it before must not count for the new one (sequences.md 32: B.0, B.0).
 */
#include "app/state.h"

/* The largest sequence of any record under each id. */
static void
note(GHashTable *named, const GbeDeployment *deployment, guint64 sequence)
{
	guint64 *known;

	if (deployment->id == NULL)
		return;
	known = g_hash_table_lookup(named, deployment->id);
	if (known == NULL)
		g_hash_table_insert(named, g_strdup(deployment->id),
				    g_memdup2(&sequence, sizeof(sequence)));
	else
		*known = MAX(*known, sequence);
}

static GHashTable *
collect(const GbeFacts *facts)
{
	GHashTable *named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		note(named, &run->deployment, run->sequence);
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		note(named, &backup->deployment, backup->sequence);
	}
	if (facts->stamp != NULL)
		note(named, &facts->stamp->deployment, facts->stamp->sequence);
	if (facts->copy != NULL)
		note(named, &facts->copy->deployment, facts->copy->sequence);
	return named;
}

static gboolean
is_listed(const GbeFacts *facts, const char *id)
{
	for (guint i = 0; i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (g_strcmp0(listed->ref.id, id) == 0)
			return TRUE;
	}
	/* A list that lacks what runs is not to be believed in this. */
	return g_strcmp0(facts->booted.id, id) == 0;
}

static GbeGone *
find_gone(GPtrArray *gone, const char *id)
{
	for (guint i = 0; i < gone->len; i++) {
		GbeGone *entry = gone->pdata[i];

		if (g_str_equal(entry->id, id))
			return entry;
	}
	return NULL;
}

static gboolean
drop_forgotten(GPtrArray *gone, GHashTable *named)
{
	guint before = gone->len;

	for (guint i = before; i > 0; i--) {
		const GbeGone *entry = gone->pdata[i - 1];

		if (!g_hash_table_contains(named, entry->id))
			g_ptr_array_remove_index(gone, i - 1);
	}
	return gone->len != before;
}

static gboolean
add_missing(GbeFacts *facts, GHashTable *named)
{
	guint64 upto = facts->next_sequence - 1;
	gboolean changed = FALSE;
	GHashTableIter iter;
	gpointer id, sequence;

	g_hash_table_iter_init(&iter, named);
	while (g_hash_table_iter_next(&iter, &id, &sequence)) {
		GbeGone *entry = find_gone(facts->gone, id);

		if (is_listed(facts, id) ||
		    (entry != NULL && entry->sequence >= *(guint64 *)sequence))
			continue;
		if (entry == NULL) {
			entry = g_new0(GbeGone, 1);
			entry->id = g_strdup(id);
			g_ptr_array_add(facts->gone, entry);
		}
		entry->sequence = upto;
		changed = TRUE;
	}
	return changed;
}

bool
gbe_state_note_gone(GbeApp *app, GbeFacts *facts, GError **error)
{
	g_autoptr(GHashTable) named = NULL;
	g_autoptr(JsonObject) object = NULL;
	gboolean changed;

	if (facts->listed == NULL)
		return true;
	named = collect(facts);
	changed = add_missing(facts, named);
	/* Backups that cannot be seen may name one. */
	if (facts->store != GBE_NO)
		changed |= drop_forgotten(facts->gone, named);
	if (!changed)
		return true;
	object = gbe_gone_to_json(facts->gone);
	return gbe_state_write(app, "gone", object, GBE_WRITE_DURABLE, error);
}
