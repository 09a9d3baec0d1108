/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The situation: what the rules ask, and nothing else. Facts hold lists, names and numbers; a situation
 * holds only small closed sets, so that a test can walk through every one of them.
 *
 * A view is the data that the rules look at: first the live data; after rules 10a and 12 the backup that is
 * going to take its place.
 */
#pragma once

#include "core/facts.h"

typedef enum { GBE_OWNER_UNKNOWN, GBE_OWNER_SAME, GBE_OWNER_OTHER } GbeOwnerIs;
typedef enum { GBE_CLOSING_NONE, GBE_CLOSING_EQUAL, GBE_CLOSING_DIFFERS } GbeClosingIs;
/* A state that the chain of bases names. */
typedef enum {
	GBE_BASE_NONE, /* nobody took a backup of it, or it is gone, or it did not validate */
	GBE_BASE_BAD,  /* graded so */
	GBE_BASE_VALID,
} GbeBaseIs;
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
	gboolean last_pass;  /* no further pass may follow */
	gboolean mount_lost; /* the data directory was a mount point and is none now */
	gboolean one_voter;
	gboolean clones;

	/* Whose data it is and how its last run went. */
	GbeOwnerIs owner;
	GbeClosingIs closing;
	gboolean closing_back; /* rule 13's way back: see decisions.md */
	GbeTri same_run;
	gboolean higher_minor;	 /* etcd's, known, under the same deployment */
	gboolean service_failed; /* the service's last end in this run was a failure */
	GbeTri sound;
	GbeVerdict verdict; /* of the owner's last run; JUDGING counts as none */
	gboolean healthy;
	gboolean judged;    /* a check had started in that run */
	GbeTri trial;	    /* the owner was on trial when its last run ended */
	GbeTri used_within; /* it used the data no longer than trial-limit */

	/* The chain of bases. */
	GbeBaseIs base;	     /* the owner's own: P(O) */
	gboolean in_chain;   /* D is in it */
	GbeBaseIs chain_own; /* what D left, as the chain names it */
	GbeBaseIs chain_end; /* its last backup */
	GbeBaseIs unwound;   /* the newest state in it whose owner is no failed trial */

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
	guint64 sequence; /* where on its line the data is, at least */
	const GbeLineage *lineage;
	GbeTrial trial; /* as it is now, the last run included */
	GbeVerdict verdict;
	GbeHealth health;
	gboolean judged;
	gint64 used; /* seconds on this data; -1 unknown */
	GbeTri was_default;
	GbeTri mount_point;
	guint voters;
	const GbeTakeOver *take_over; /* the owner's, or NULL */
} GbeView;

void gbe_view_live(const GbeFacts *facts, GbeView *ret_view);
/* What rules 10a and 12 look at next: the backup and its owner. */
void gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view);

void gbe_situation_derive(const GbeFacts *facts, const GbeView *view, gboolean last_pass,
			  GbeSituation *ret_situation);

/* A trial that failed: it was judged, not green, and used the data no longer than trial-limit. */
gboolean gbe_view_failed(const GbeFacts *facts, const GbeView *view);
/* The chain of bases of @view's owner: the place of D's state (-1: D is not in it), of its last backup, and
 * of the newest state whose owner is no failed trial. */
int gbe_chain_own(const GbeFacts *facts, const GbeView *view);
int gbe_chain_end(const GbeFacts *facts, const GbeView *view);
int gbe_chain_unwound(const GbeFacts *facts, const GbeView *view);
/* The backup of the link at @at, whatever its grade; NULL: there is none that could be restored. */
const GbeManifest *gbe_chain_backup(const GbeFacts *facts, const GbeView *view, int at);

/* Is what @of recorded at @sequence of the same deployment as @ref? Ids are given out again. */
gboolean gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
			     const GbeDeployment *ref);
/* D's newest candidate (decisions.md, "Candidate"); with @usable, the newest that D's etcd can read.
 * NULL: none. */
const GbeManifest *gbe_situation_candidate(const GbeFacts *facts, gboolean usable);
/* The backup that the pending request means now; NULL: none. */
const GbeManifest *gbe_situation_request(const GbeFacts *facts);
/* Has @ref ever had a green run, as far as records tell? */
gboolean gbe_situation_was_green(const GbeFacts *facts, const GbeDeployment *ref);
/* The trial of @ref: NO once green, YES where it never had the data, else what its last take-over says;
 * unknown where the ledger has lost a record. */
GbeTri gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref);
/* The backup that is equal to the data as @ref last left it; NULL: there is none. */
const GbeManifest *gbe_situation_left(const GbeFacts *facts, const GbeDeployment *ref);
/* A backup equal to the live data (by fingerprint), newest first; NULL. */
const GbeManifest *gbe_situation_unchanged(const GbeFacts *facts);
