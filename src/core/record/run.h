/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The result of a take-over: the verdict on its run, etcd's health, and the state in which the run left the
 * data. Each take-over of the ledger has one, by its sequence, folded from the records after it. Also the
 * deployment ids that were seen missing from ostree's list.
 */
#pragma once

#include "core/record/take-over.h"
#include "core/words.h"

typedef struct {
	guint64 sequence;
	GbeVerdict verdict;
	bool was_green; /* an earlier verdict of the run was green, and no person took it back */
	GbeDeployment deployment;
	char *run;
	GbeTri trial; /* the deployment was on trial in this run */
	bool by_hand; /* the verdict came from `mark` */
	GbeHealth health;
	char *reason;	    /* of the health or of `mark`; NULL */
	char *etcd_version; /* as etcd said it over its API; NULL */
	/* As it said before, in the same run, where that was lower: a container was updated. NULL: no. Not recorded. */
	char *updated_from;
	gint64 revision; /* as seen live by green; -1 */
	char *member_id, *cluster_id;
	guint voters;	   /* as seen live; 0 unknown */
	bool ended;	   /* its prerun ended: etcd may have had the data */
	GbeBackupRef left; /* the backup that equals the data as this run left it, or none */
} GbeRunRecord;

/* A deployment id that ostree's list lacked once. Its records up to that sequence are of another deployment, so they
 * are not the past of a deployment that has the id today. Counts where handles cannot be compared. */
typedef struct {
	char *id;
	guint64 sequence;
} GbeGone;

GbeRunRecord *gbe_run_record_new(void);
/* The record of a take-over that has no verdict yet. */
GbeRunRecord *gbe_run_record_of(const GbeTakeOver *take_over);
void gbe_run_record_free(GbeRunRecord *record);
GbeRunRecord *gbe_run_record_copy(const GbeRunRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeRunRecord, gbe_run_record_free)
/* Was the run green? A later red takes that back only where a person said it. */
bool gbe_run_record_is_green(const GbeRunRecord *record);

/* The record of a verdict: everything found out about the run by now. Reading changes only the fields that the record
 * has. False: the record cannot be read, and nothing is changed. */
JsonObject *gbe_verdict_to_json(const GbeRunRecord *record);
bool gbe_verdict_from_json(JsonObject *object, GbeRunRecord *record, GError **error) GBE_CHECKED;

void gbe_gone_free(GbeGone *gone);
