/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What became of a take-over: the verdict on its run, etcd's health, and the state in which it left the
 * data. One for each take-over of the ledger, by its sequence, folded from the records that came after it.
 * Also the deployment ids that were seen missing from ostree's list.
 */
#pragma once

#include "core/take-over.h"
#include "core/verdict.h"

typedef struct {
	guint64 sequence;
	GbeVerdict verdict;
	GbeDeployment deployment;
	char *run;
	GbeTri trial;	  /* the deployment was on trial in this run */
	gboolean by_hand; /* the verdict came from `mark` */
	GbeHealth health;
	char *reason;	    /* of the health or of `mark`; NULL */
	char *etcd_version; /* as etcd said it over its API; NULL */
	gint64 revision;    /* as seen live by green; -1 */
	char *member_id, *cluster_id;
	guint voters;	   /* as seen live; 0 unknown */
	gboolean ended;	   /* its prerun came to its end: etcd may have had the data */
	GbeBackupRef left; /* the backup that is equal to the data as this run left it, or none */
} GbeRunRecord;

/* A deployment id that ostree's list lacked once: records of it up to that sequence are of another
 * deployment, one without a past today. Counts where handles cannot be compared. */
typedef struct {
	char *id;
	guint64 sequence;
} GbeGone;

GbeRunRecord *gbe_run_record_new(void);
/* Of a take-over that nobody has judged yet. */
GbeRunRecord *gbe_run_record_of(const GbeTakeOver *take_over);
void gbe_run_record_free(GbeRunRecord *record);
GbeRunRecord *gbe_run_record_copy(const GbeRunRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeRunRecord, gbe_run_record_free)

/* The record of a verdict: what was found out about the run by now. Reading changes only what the record
 * says; false: it cannot be read, and nothing is changed. */
JsonObject *gbe_verdict_to_json(const GbeRunRecord *record);
bool gbe_verdict_from_json(JsonObject *object, GbeRunRecord *record, GError **error) GBE_CHECKED;

void gbe_gone_free(GbeGone *gone);
