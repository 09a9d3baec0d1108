/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The situation: everything that the rules ask, and nothing else. Facts hold lists, names and numbers. A
 * situation holds only small closed sets, so that a test can walk through all situations. A view is the data
 * that the rules look at: the live data, or after rules 10a and 12 the backup that takes its place.
 */
#pragma once

#include "core/decide/facts.h"

typedef enum { GBE_OWNER_UNKNOWN, GBE_OWNER_SAME, GBE_OWNER_OTHER } GbeOwnerIs;
typedef enum { GBE_CLOSING_NONE, GBE_CLOSING_EQUAL, GBE_CLOSING_DIFFERS } GbeClosingIs;
/* A state that the chain of bases names. */
typedef enum {
	GBE_BASE_NONE, /* no backup of the state was taken, or it is gone, or it did not validate */
	GBE_BASE_BAD,  /* the backup is graded bad */
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
	bool booted_known;
	GbeTri data;
	GbeTri data_open;
	bool skip;
	GbeRequestIs request;
	bool last_pass; /* no further pass may follow */
	bool emptied;	/* a person set the data aside, and no data was made since, or joins a
		       * cluster */
	/* A member with others has no data, or no log: its etcd would vote again on entries that it agreed to. */
	bool log_lost;
	bool mount_lost;     /* the data directory was a mount point and is not one now */
	bool left_elsewhere; /* the data is where another data-dir= had it */
	bool one_voter;

	/* The owner of the data, and the result of its last run. */
	GbeOwnerIs owner;
	GbeClosingIs closing;
	bool closing_back; /* rule 13's way back: see decisions.md */
	GbeTri same_run;
	bool higher_minor;   /* etcd's is known to be higher, under the same deployment */
	bool etcd_elsewhere; /* etcd's program is not in the deployment: a container has it */
	GbeTri sound;
	GbeVerdict verdict; /* of the owner's last run; JUDGING counts as none */
	bool healthy;
	bool judged;	     /* a check had started in that run */
	GbeTri trial;	     /* the owner was on trial when its last run ended */
	GbeTri used_within;  /* the owner used the data no longer than trial-limit */
	bool ends;	     /* D's boots are counted down, or another deployment boots next */
	bool closing_backup; /* a valid backup of the state in which the owner left the data */
	bool no_log;	     /* a database without a log next to it: etcd may have that elsewhere */
	bool known_before;   /* earlier records name data */
	bool owner_left; /* the owner, another deployment, has a valid backup of its last state */

	/* The chain of bases. */
	GbeBaseIs base;	     /* the owner's own: P(O) */
	bool in_chain;	     /* D is in it */
	GbeBaseIs chain_own; /* D's own state, as the chain names it */
	GbeBaseIs chain_end; /* its last backup */
	GbeBaseIs unwound;   /* the newest state in the chain whose owner is not a failed trial */
	bool unseen;	     /* the backup of D's own state is unreadable, or its store away */

	/* The booted deployment's past. */
	GbeTri ran;	  /* D ran before */
	GbeTri own_trial; /* D is on trial when it takes this data */
	bool candidate;	  /* D has a backup to return to */
	GbeTri
	    contains; /* the data contains the candidate, or a newer state that D left without a backup */
	bool usable_candidate; /* D has one that its etcd can read */
	GbeTri usable;	       /* D's etcd can use the data in view */
	GbeTri deliberate;
	bool same_commit;
	GbeTri older_listed; /* ostree lists an older deployment than D */

	/* The configuration, resolved. */
	bool retry_trial;
	GbeOnRollback on_rollback;
	GbeOnCorrupt on_corrupt;
	GbeOnMissing on_missing;
	GbeOnUpgradeFromFailed on_failed;
	bool hold_without_backup; /* on-upgrade-failure, with auto resolved */
} GbeSituation;

typedef struct {
	const GbeManifest *source; /* NULL: the live data */
	bool owner_known;
	const GbeDeployment *owner;
	const char *run;
	guint64 sequence; /* the data's place on its line, at least */
	const GbeLineage *lineage;
	GbeTrial trial; /* as it is now, the last run included */
	GbeVerdict verdict;
	GbeHealth health;
	bool judged;
	gint64 used; /* seconds on this data; -1 unknown */
	GbeTri was_default;
	GbeTri mount_point;
	guint voters;
	const GbeTakeOver *take_over; /* the owner's, or NULL */
} GbeView;

void gbe_view_live(const GbeFacts *facts, GbeView *ret_view);
/* The live data at the end of its owner's run, which used it for @used seconds (-1 unknown). The next start will see
 * this view. */
void gbe_view_ended(const GbeFacts *facts, gint64 used, GbeView *ret_view);
/* The view that rules 10a and 12 look at next: the backup and its owner. */
void gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view);

void gbe_situation_derive(const GbeFacts *facts, const GbeView *view, bool last_pass,
			  GbeSituation *ret_situation);

/* Is the owner of @view a failed trial? It was judged, is not green, and used the data no longer than trial-limit. */
bool gbe_view_failed(const GbeFacts *facts, const GbeView *view);
/* Places in the chain of bases of @view's owner; -1: missing. own: D's state. end: the last backup. unwound: the newest
 * state whose owner is not a failed trial. */
int gbe_chain_own(const GbeFacts *facts, const GbeView *view);
int gbe_chain_end(const GbeFacts *facts, const GbeView *view);
int gbe_chain_unwound(const GbeFacts *facts, const GbeView *view);
/* The backup of the link at @at, of any grade. NULL: no such backup could be restored. */
const GbeManifest *gbe_chain_backup(const GbeFacts *facts, const GbeView *view, int at);

/* Does the record of @of at @sequence mean the same deployment as @ref? ostree gives ids out again. */
bool gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
			 const GbeDeployment *ref);
/* The take-over of the data by this very run of the booted deployment. A verdict and a closing record are about this
 * take-over. NULL: the data is another's, and *ret_why (newly allocated; may be NULL) says whose. */
const GbeTakeOver *gbe_situation_own(const GbeFacts *facts, char **ret_why);
/* D's newest candidate (decisions.md, "Candidate"). With @usable, the newest that D's etcd can read. NULL: none. */
const GbeManifest *gbe_situation_candidate(const GbeFacts *facts, bool usable);
/* The newest good backup of the booted deployment, else the newest good one of any deployment. NULL: none. */
const GbeManifest *gbe_situation_last_good(const GbeFacts *facts);
/* The best backup that a person can restore without --force: the last good one, else the newest valid one. NULL: no
 * such backup. */
const GbeManifest *gbe_situation_restorable(const GbeFacts *facts);
/* The backup that `undo` puts back; NULL: no restore displaced data, or the backup is deleted. *ret_failed: a rule
 * displaced it and graded it bad, because a failed update wrote it, so that no text may advise `undo`. */
const GbeManifest *gbe_situation_undo(const GbeFacts *facts, bool *ret_failed);
/* The backup that the pending request means now; NULL: none. */
const GbeManifest *gbe_situation_request(const GbeFacts *facts);
/* Did @ref ever have the data? Unknown where a record is lost. */
GbeTri gbe_situation_ran(const GbeFacts *facts, const GbeDeployment *ref);
/* Has @ref ever had a green run, as far as the records say? */
bool gbe_situation_was_green(const GbeFacts *facts, const GbeDeployment *ref);
/* Did the owner's etcd begin with an empty database, although earlier records name data, and has no person accepted it
 * or restored since? */
bool gbe_situation_began_empty(const GbeFacts *facts);
/* Has the update that has the data in this run failed, and does nothing bring another system back? */
bool gbe_situation_failed_and_stays(const GbeFacts *facts);
/* Is @ref on trial? NO once green, YES where it never had the data, else as its last take-over says. Unknown where the
 * ledger has lost a record. */
GbeTri gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref);
/* Is the booted deployment on trial, so that an OS rollback would bring a deployment back that was green? Where its
 * trial is unknown: does another deployment own the data? */
bool gbe_situation_booted_on_trial(const GbeFacts *facts);
/* Does greenboot judge the run now, or will it soon? Then the program's lock is for those that write its verdict. */
bool gbe_situation_is_being_judged(const GbeFacts *facts);
/* May greenboot bring another deployment back, as far as is known? */
bool gbe_situation_rollback_may_follow(const GbeFacts *facts);
/* The answer to "what did @ref leave, and which backup is that?", for candidates, retention, chains and reports. It
 * counts runs in which etcd may have had the data, and what a person chose for @ref. A state that a person set aside is
 * never the answer. */
typedef struct {
	bool known;		   /* @ref had the data; else the rest is empty */
	GbeBackupRef ref;	   /* borrowed; no name: no backup of that state was taken */
	const GbeManifest *backup; /* NULL: none now */
	guint64 line;		   /* of the run's data; 0: not known */
	guint64 began;		   /* the run's take-over */
} GbeLeft;

GbeLeft gbe_situation_left(const GbeFacts *facts, const GbeDeployment *ref);
/* The valid backup that etcd gets if the data of the owner, another deployment, is missing. NULL: no such backup. */
const GbeManifest *gbe_situation_owner_left(const GbeFacts *facts);
/* The newest backup, except periodic ones, that equals the live data (by fingerprint). NULL: no such backup. */
const GbeManifest *gbe_situation_unchanged(const GbeFacts *facts);
