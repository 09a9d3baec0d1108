/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The situation: what the rules ask, and nothing else. Facts hold lists, names and numbers; a situation
 * holds only small closed sets, so that a test can walk through every one of them.
 *
 * A view is the data that the rules look at: first the live data; after rules 2, 10a and 12 the backup
 * that is going to take its place.
 */
#pragma once

#include "core/facts.h"

typedef enum { GBE_OWNER_UNKNOWN, GBE_OWNER_SAME, GBE_OWNER_OTHER } GbeOwnerIs;
typedef enum { GBE_CLOSING_NONE, GBE_CLOSING_EQUAL, GBE_CLOSING_DIFFERS } GbeClosingIs;
typedef enum {
	GBE_PREVIOUS_NONE,
	GBE_PREVIOUS_REJECTED, /* it is there, and did not validate */
	GBE_PREVIOUS_ADOPTED,  /* valid, owner unknown */
	GBE_PREVIOUS_OWNED,
} GbePreviousIs;
typedef enum {
	GBE_REQUEST_IS_NONE,
	GBE_REQUEST_IS_READY,
	GBE_REQUEST_IS_IMPOSSIBLE,
} GbeRequestIs;

typedef struct {
	/* Before anything else. */
	GbeTri ostree;
	gboolean booted_known;
	GbeTri data;
	GbeTri data_open;
	gboolean skip;
	GbeRequestIs request;
	gboolean requested;  /* the view is a request's: nothing displaces it again */
	gboolean last_pass;  /* no further pass may follow */
	gboolean mount_lost; /* the data directory was a mount point and is none now */
	gboolean one_voter;
	gboolean clones;

	/* Whose data it is and how its last run went. */
	GbeOwnerIs owner;
	GbeClosingIs closing;
	gboolean closing_back; /* rule 13's way back: see decisions.md */
	GbeTri same_run;
	gboolean higher_minor; /* etcd's, known, under the same deployment */
	GbeTri sound;
	GbeVerdict verdict; /* of the owner's stamp; JUDGING counts as none */
	gboolean healthy;
	gboolean judged;	 /* a check had started in that run */
	GbeTri trial;		 /* the owner was on trial when its last run ended */
	GbeTri used_within;	 /* it used the data no longer than trial-limit */
	GbePreviousIs previous;	 /* P(O) */
	gboolean previous_valid; /* it is graded good or unproven */

	/* The booted deployment's past. */
	GbeTri ran;		   /* D ran before */
	GbeTri own_trial;	   /* D is on trial when it takes this data */
	gboolean candidate;	   /* D has a backup to return to */
	GbeTri contains;	   /* the data contains it */
	gboolean usable_candidate; /* ... one that D's etcd can read */
	GbeTri usable;		   /* D's etcd can use the data in view */
	GbeTri deliberate;
	gboolean same_commit;
	GbeTri older_listed; /* ostree lists an older deployment than D */

	/* The configuration, resolved. */
	gboolean retry_trial;
	GbeOnRollback on_rollback;
	GbeOnCorrupt on_corrupt;
	GbeOnMissing on_missing;
	GbeOnUpgradeFromFailed on_failed;
	gboolean hold_without_backup; /* on-upgrade-failure, with auto resolved */
} GbeSituation;

typedef struct {
	const GbeManifest *source; /* NULL: the live data */
	gboolean owner_known;
	const GbeDeployment *owner;
	const char *run;
	guint64 sequence;
	const GbeLineage *lineage;
	const char *previous;
	GbeTrial trial; /* as it is now, the last run included */
	GbeVerdict verdict;
	GbeHealth health;
	gboolean judged;
	gint64 used; /* seconds on this data; -1 unknown */
	GbeTri was_default;
	GbeTri mount_point;
	guint voters;
	const GbeStamp *stamp; /* the live one, or NULL */
} GbeView;

/* The stamp that is believed for the live data (or for data that is not there): the one inside it,
 * else the state's copy where decisions.md lets it be believed; NULL. Borrowed. */
const GbeStamp *gbe_situation_stamp(const GbeFacts *facts);

void gbe_view_live(const GbeFacts *facts, GbeView *ret_view);
/* What rules 10a and 12 look at next: the backup and its owner. */
void gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view);
/* What rule 2 looks at next: the backup's content, as the last act of @live's owner. */
void gbe_view_requested(const GbeView *live, const GbeManifest *source, GbeView *ret_view);

void gbe_situation_derive(const GbeFacts *facts, const GbeView *view, gboolean requested,
			  gboolean last_pass, GbeSituation *ret_situation);

/* Is @backup one of the same deployment as @ref, taking ids that were seen missing into account? */
gboolean gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
			     const GbeDeployment *ref);
/* D's newest candidate (decisions.md, "Candidate"); with @usable, the newest that D's etcd can read.
 * NULL: none. */
const GbeManifest *gbe_situation_candidate(const GbeFacts *facts, gboolean usable);
/* The backup that the pending request means now; NULL: none. */
const GbeManifest *gbe_situation_request(const GbeFacts *facts);
/* Has @ref ever had a green run, as far as records tell? */
gboolean gbe_situation_was_green(const GbeFacts *facts, const GbeDeployment *ref);
/* The trial of @ref as the records tell it: NO once green, else what its newest record says; unknown
 * where no record is. */
GbeTri gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref);
/* A backup equal to the live data (by fingerprint), newest first; NULL. */
const GbeManifest *gbe_situation_unchanged(const GbeFacts *facts);
