/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/facts.h"

#define TEXT(field) GBE_FIELD(GbeFacts, field, NULL, TEXT)
#define KNOWN(field) GBE_FIELD(GbeFacts, field, NULL, KNOWN)

/* Facts are in memory only: the table says what is not known in new ones, and what is freed. */
static const GbeField fields[] = {
    GBE_FIELD_BY(GbeFacts, booted, NULL, PART, gbe_deployment_fields, 0),
    TEXT(booted_why),
    TEXT(run),
    TEXT(run_why),
    TEXT(next),
    /* The data. */
    TEXT(unopened_why),
    TEXT(data_why),
    TEXT(data_open_why),
    TEXT(sound_why),
    TEXT(damage),
    TEXT(tree),
    TEXT(owner_why),
    TEXT(member_id),
    TEXT(cluster_id),
    TEXT(nonce.ledger),
    TEXT(nonce.nonce),
    GBE_FIELD_BY(GbeFacts, fingerprint, NULL, OWN, &gbe_fingerprint_own, 0),
    KNOWN(last_write),
    KNOWN(consistent_index),
    KNOWN(revision),
    KNOWN(uptime),
    TEXT(data_dir),
    TEXT(left_at),
    TEXT(store_path),
    TEXT(store_fs),
    TEXT(store_tree),
    /* The ledger. */
    TEXT(ledger_why),
    TEXT(ledger_id),
    TEXT(intent_why),
    TEXT(fell_back),
    GBE_FIELD_BY(GbeFacts, undo, NULL, PART, gbe_backup_ref_fields, 0),
    TEXT(leaving),
    TEXT(cmdline_done),
    TEXT(rd_cmdline_done),
    TEXT(failure),
    TEXT(failure_why),
    TEXT(request_why),
    TEXT(unread),
    {0},
};

GbeFacts *
gbe_facts_new(void)
{
	GbeFacts *facts = g_new0(GbeFacts, 1);

	gbe_fields_init(fields, facts);
	facts->next_sequence = 1;
	facts->backups = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_manifest_free);
	facts->runs = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_run_record_free);
	facts->take_overs = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_take_over_free);
	facts->gone = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_gone_free);
	facts->starts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	facts->config = gbe_config_new();
	return facts;
}

void
gbe_facts_free(GbeFacts *facts)
{
	if (facts == NULL)
		return;
	gbe_fields_clear(fields, facts);
	gbe_take_over_free(facts->owner);
	gbe_intent_free(facts->intent);
	gbe_last_operation_clear(&facts->last);
	gbe_request_clear(&facts->request);
	g_clear_pointer(&facts->listed, g_ptr_array_unref);
	g_clear_pointer(&facts->backups, g_ptr_array_unref);
	g_clear_pointer(&facts->runs, g_ptr_array_unref);
	g_clear_pointer(&facts->gone, g_ptr_array_unref);
	g_clear_pointer(&facts->take_overs, g_ptr_array_unref);
	g_clear_pointer(&facts->starts, g_hash_table_unref);
	g_clear_pointer(&facts->taken, g_hash_table_unref);
	g_clear_pointer(&facts->rejected, g_hash_table_unref);
	if (!facts->config_borrowed)
		gbe_config_free(facts->config);
	g_free(facts);
}

bool
gbe_facts_note_unread(GbeFacts *facts, const GError *error)
{
	if (!g_error_matches(error, GBE_ERROR, GBE_ERROR_FAILED) &&
	    !g_error_matches(error, GBE_ERROR, GBE_ERROR_UNREADABLE) &&
	    !g_error_matches(error, GBE_ERROR, GBE_ERROR_NO_SPACE))
		return false;
	if (facts->unread == NULL)
		facts->unread = g_strdup(error->message);
	return true;
}

void
gbe_facts_set_deformed(GbeFacts *facts, const char *why)
{
	facts->deformed = true;
	facts->data = facts->data_open = GBE_UNKNOWN;
	g_free(facts->data_why);
	facts->data_why = g_strdup(why);
	g_free(facts->data_open_why);
	facts->data_open_why = g_strdup(why);
}

const GbeListed *
gbe_facts_listed(const GbeFacts *facts, const char *id)
{
	GBE_EACH(const GbeListed *, listed, id != NULL ? facts->listed : NULL)
		if (g_str_equal(listed->ref.id, id))
			return listed;
	return NULL;
}

bool
gbe_facts_know_listed(const GbeFacts *facts)
{
	return gbe_facts_listed(facts, facts->booted.id) != NULL;
}

const GbeManifest *
gbe_facts_backup(const GbeFacts *facts, const char *name)
{
	GBE_EACH(const GbeManifest *, manifest, name != NULL ? facts->backups : NULL)
		if (g_str_equal(manifest->name, name))
			return manifest;
	return NULL;
}

bool
gbe_facts_is_equal(const GbeManifest *backup, const GbeBackupRef *ref)
{
	return ref->line != 0 && backup->lineage.line == ref->line &&
	       gbe_manifest_place(backup) == ref->place && backup->grade != GBE_GRADE_BAD &&
	       !backup->consumed;
}

const GbeManifest *
gbe_facts_backup_of(const GbeFacts *facts, const GbeBackupRef *ref)
{
	const GbeManifest *manifest = ref != NULL ? gbe_facts_backup(facts, ref->name) : NULL;

	if (manifest != NULL && (ref->sequence == 0 || manifest->sequence == ref->sequence))
		return manifest;
	GBE_EACH(const GbeManifest *, equal, ref != NULL ? facts->backups : NULL)
		if (gbe_facts_is_equal(equal, ref))
			return equal;
	return NULL;
}

const GbeTakeOver *
gbe_facts_take_over(const GbeFacts *facts, guint64 sequence)
{
	for (guint i = facts->take_overs->len; i > 0; i--) {
		const GbeTakeOver *take_over = facts->take_overs->pdata[i - 1];

		if (take_over->sequence == sequence)
			return take_over;
	}
	return NULL;
}

const GbeRunRecord *
gbe_facts_run(const GbeFacts *facts, guint64 sequence)
{
	GBE_EACH(const GbeRunRecord *, record, facts->runs)
		if (record->sequence == sequence)
			return record;
	return NULL;
}

bool
gbe_facts_is_this_run(const GbeFacts *facts, const char *run)
{
	return facts->run != NULL && g_strcmp0(run, facts->run) == 0;
}

bool
gbe_facts_taken_in_this_run(const GbeFacts *facts)
{
	return facts->owner != NULL && gbe_facts_is_this_run(facts, facts->owner->run);
}

const GbeRunRecord *
gbe_facts_this_run(const GbeFacts *facts)
{
	return gbe_facts_taken_in_this_run(facts) ? gbe_facts_run(facts, facts->owner->sequence)
						  : NULL;
}

bool
gbe_facts_lack_log(const GbeFacts *facts)
{
	return facts->data == GBE_NO || (facts->log == GBE_NO && facts->log_seen);
}
