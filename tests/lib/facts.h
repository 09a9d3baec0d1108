/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts for tests of single decisions: a sound device with everything known, of which a test changes its subject.
 * Deployments are letters, runs are numbers. Added objects belong to the facts.
 */
#pragma once

#include "core/backup-name.h"
#include "core/decide/facts.h"

#define FACTS_DIR "/var/lib/etcd"

static inline char *
facts_id(char letter)
{
	g_autofree char *checksum = g_strnfill(GBE_CHECKSUM_LEN, letter);

	return gbe_deployment_id_format("os", checksum, 0);
}

static inline char *
facts_run(guint run)
{
	return g_strdup_printf("%032x", run);
}

static inline void
facts_set_deployment(GbeDeployment *to, char letter)
{
	gbe_deployment_clear(to);
	to->id = facts_id(letter);
	to->handle = g_strdup_printf("fs0:d%c", letter);
}

/* Two fingerprints are equal when their numbers are. */
static inline void
facts_set_fingerprint(GbeFingerprint *fp, guint64 number)
{
	gbe_fingerprint_clear(fp);
	fp->present = true;
	fp->txid[0] = number;
	fp->wal_name = g_strdup("0000000000000000-0000000000000000.wal");
	fp->snaps = g_strdup("");
	fp->others = g_strdup("");
}

/* @letter is booted in run @run. The list is empty, and the data's owner is unknown. */
static inline GbeFacts *
facts_booted(char letter, guint run)
{
	GbeFacts *facts = gbe_facts_new();

	facts->ostree = GBE_YES;
	facts_set_deployment(&facts->booted, letter);
	facts->run = facts_run(run);
	facts->listed = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_listed_free);
	facts->booted_is_default = GBE_YES;
	facts->judges = GBE_YES;
	facts->can_roll_back = GBE_YES;
	facts->counted = GBE_YES;
	facts->data = GBE_YES;
	facts->data_open = GBE_NO;
	facts->mount_point = GBE_NO;
	facts->data_dir = g_strdup(FACTS_DIR);
	facts->ledger = GBE_YES;
	facts->ledger_id = g_strdup("00000000000000ff");
	facts->ledger_last = 99;
	facts->tree = g_strdup("fs0:d0");
	facts->member_id = g_strdup("000000000000000a");
	facts->cluster_id = g_strdup("000000000000000b");
	facts->clones = GBE_YES;
	facts->store = GBE_YES;
	facts->next_sequence = 100;
	facts->now = 1000000;
	facts->last_write = 990000;
	facts_set_fingerprint(&facts->fingerprint, 1);
	return facts;
}

static inline GbeListed *
facts_list(GbeFacts *facts, char letter, gint64 timestamp)
{
	GbeListed *listed = g_new0(GbeListed, 1);

	facts_set_deployment(&listed->ref, letter);
	listed->index = facts->listed->len;
	listed->timestamp = timestamp;
	g_ptr_array_add(facts->listed, listed);
	return listed;
}

/* The take-over of the data: by a mature @letter that was the default entry, a short run. */
static inline GbeTakeOver *
facts_owner(GbeFacts *facts, char letter, guint run, guint64 sequence)
{
	GbeTakeOver *owner = gbe_take_over_new();

	facts_set_deployment(&owner->deployment, letter);
	owner->run = facts_run(run);
	owner->sequence = sequence;
	owner->tree = g_strdup(facts->tree);
	owner->nonce = g_strdup_printf("%016" G_GINT64_MODIFIER "x", sequence);
	owner->lineage.line = 1;
	owner->trial.on = GBE_NO;
	owner->trial.used = 0;
	owner->trial.judges = GBE_YES;
	owner->was_default = GBE_YES;
	owner->mount_point = GBE_NO;
	owner->member_id = g_strdup(facts->member_id);
	owner->cluster_id = g_strdup(facts->cluster_id);
	gbe_take_over_free(facts->owner);
	facts->owner = owner;
	return owner;
}

/* Continues the chain with @backup, by name and number. @failed: its owner was a failed trial. */
static inline void
facts_link(GbeTakeOver *take_over, const GbeManifest *backup, bool failed)
{
	const GbeBackupRef ref = {backup->name, backup->sequence};

	gbe_take_over_link(take_over, &ref, &backup->deployment, failed);
}

/* The same, with a trial since then. @base: NULL for none. */
static inline GbeTakeOver *
facts_trial(GbeFacts *facts, char letter, guint run, guint64 sequence, const GbeManifest *base)
{
	GbeTakeOver *owner = facts_owner(facts, letter, run, sequence);

	owner->trial.on = GBE_YES;
	owner->trial.since = sequence;
	if (base != NULL)
		facts_link(owner, base, false);
	return owner;
}

/* The ledger holds the owner's present take-over. */
static inline GbeTakeOver *
facts_recorded(GbeFacts *facts)
{
	GbeTakeOver *copy = gbe_take_over_copy(facts->owner);

	g_ptr_array_add(facts->take_overs, copy);
	return copy;
}

static inline GbeRunRecord *
facts_record(GbeFacts *facts, char letter, guint run, guint64 sequence, GbeVerdict verdict)
{
	GbeRunRecord *record = gbe_run_record_new();

	facts_set_deployment(&record->deployment, letter);
	record->run = facts_run(run);
	record->sequence = sequence;
	record->verdict = verdict;
	record->trial = GBE_NO;
	record->ended = true;
	if (verdict == GBE_VERDICT_GREEN)
		record->health = GBE_HEALTH_HEALTHY;
	g_ptr_array_add(facts->runs, record);
	return record;
}

/* An automatic backup on line 1. Good means that the run was green and healthy. '-': adopted. */
static inline GbeManifest *
facts_backup(GbeFacts *facts, char letter, guint run, guint64 sequence, GbeGrade grade)
{
	GbeManifest *backup = gbe_manifest_new();

	if (letter == '-') {
		backup->name = gbe_backup_name_adopted(sequence);
	} else {
		facts_set_deployment(&backup->deployment, letter);
		backup->run = facts_run(run);
		backup->name = gbe_backup_name_format(backup->deployment.id, backup->run, 1);
		for (guint64 k = 2; gbe_facts_backup(facts, backup->name) != NULL; k++) {
			g_free(backup->name);
			backup->name =
			    gbe_backup_name_format(backup->deployment.id, backup->run, k);
		}
	}
	backup->sequence = sequence;
	backup->lineage.line = 1;
	backup->grade = grade;
	backup->verified = GBE_VERIFIED_SANITY;
	backup->trial.on = GBE_NO;
	if (grade == GBE_GRADE_GOOD) {
		backup->verdict = GBE_VERDICT_GREEN;
		backup->health = GBE_HEALTH_HEALTHY;
	}
	backup->data_dir = g_strdup(FACTS_DIR);
	facts_set_fingerprint(&backup->fingerprint, 1000 + sequence);
	g_ptr_array_add(facts->backups, backup);
	return backup;
}

static inline void
facts_rename(GbeManifest *backup, const char *name)
{
	g_free(backup->name);
	backup->name = g_strdup(name);
}

static inline void
facts_manual(GbeManifest *backup, const char *name)
{
	facts_rename(backup, name);
	backup->origin = GBE_ORIGIN_MANUAL;
}

/* Seen missing from the list. That counts where handles cannot be compared: no handle is known any more. */
static inline void
facts_gone(GbeFacts *facts, char letter, guint64 sequence)
{
	GbeGone *gone = g_new0(GbeGone, 1);

	gone->id = facts_id(letter);
	gone->sequence = sequence;
	g_ptr_array_add(facts->gone, gone);
	g_clear_pointer(&facts->booted.handle, g_free);
	for (guint i = 0; i < facts->listed->len; i++)
		g_clear_pointer(&((GbeListed *)facts->listed->pdata[i])->ref.handle, g_free);
}

static inline void
facts_reject(GbeFacts *facts, const char *name)
{
	if (facts->rejected == NULL)
		facts->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(facts->rejected, g_strdup(name));
}
