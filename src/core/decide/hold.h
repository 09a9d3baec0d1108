/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every kind of hold: what happened, why waiting is safe, and the way back. This table is the only source for the
 * journal, `status`, `explain`, the MOTD, docs/operations.md, greenboot-etcd-guide(7) and the catalog (`make holds`).
 */
#pragma once

#include "core/words.h"

#include <glib.h>
#include <stdbool.h>

typedef enum {
	GBE_HOLD_NO,
	/* Of the rules. */
	GBE_HOLD_OPEN,	    /* a process has the data open, and the data is another deployment's */
	GBE_HOLD_UNREAD,    /* the data cannot be read, and is another deployment's */
	GBE_HOLD_MOUNT,	    /* the mount of the data directory is missing */
	GBE_HOLD_ELSEWHERE, /* no data; the known data is where another data-dir= had it */
	GBE_HOLD_MEMBER,    /* no data, and this is a member of a cluster with others */
	GBE_HOLD_LOG,	    /* no log next to another deployment's database */
	GBE_HOLD_CORRUPT,   /* on-corrupt-data=refuse */
	GBE_HOLD_FAILED,    /* on-upgrade-from-failed=refuse */
	GBE_HOLD_UNUSABLE,  /* this etcd cannot read the data, and there is no candidate */
	/* Closer looks at the same. */
	GBE_HOLD_DEFORMED, /* GBE_HOLD_UNREAD: a file of a type that no etcd makes */
	GBE_HOLD_LINKED,   /* GBE_HOLD_UNREAD: the data directory is a link */
	GBE_HOLD_LEAVING,  /* GBE_HOLD_MEMBER: a change of membership was interrupted */
	/* Of prerun, if a step of its plan fails. */
	GBE_HOLD_ROOM,	     /* no room for the backup that is due */
	GBE_HOLD_BACKUP,     /* the backup that is due failed for another reason */
	GBE_HOLD_RECORD,     /* the take-over cannot be recorded */
	GBE_HOLD_RESTORE,    /* the restore that is due failed, and the data cannot be used */
	GBE_HOLD_HALF,	     /* a restore is half done */
	GBE_HOLD_UNFINISHED, /* two starts in a row did not end */
	GBE_HOLD_CRASH,	     /* prerun itself did not end */
	GBE_N_HOLDS
} GbeHold;

extern const GbeWords gbe_hold_words; /* no open unread mount ... */

/* The advice if no way is known. */
#define GBE_HOLD_NO_STEPS "read ETCD IS HELD BACK in greenboot-etcd-guide(7)"

#define GBE_HOLD_STEPS_MAX 4
#define GBE_HOLD_WAYS_MAX 4

typedef struct {
	const char *what; /* what happened: one sentence without a full stop */
	const char *safe; /* why etcd waits: one sentence */
	/* Ways back, best first. A step is a command; in braces, a fact that completes it. */
	const char *ways[GBE_HOLD_WAYS_MAX][GBE_HOLD_STEPS_MAX];
} GbeHoldText;

extern const GbeHoldText gbe_holds[GBE_N_HOLDS];

/* The facts that complete the steps. Texts are borrowed; NULL: unknown, or it does not apply. */
typedef struct {
	const char *service; /* [etcd] service */
	const char *mount;   /* the mount unit of the data directory */
	const char *end;     /* the command that ends the process with the data */
	const char
	    *old; /* the directory that still has the data, or the target of the link; quoted */
	const char *command; /* the interrupted verb */
	const char *backup;  /* that this etcd can use */
	const char *spare;   /* a backup that can be removed to make room */
	const char *store;   /* the mount unit of the store of backups */
	const char *reboot;  /* the command that boots the newer system, which is the default */
	const char *newer;   /* the command that makes the newer system the default */
} GbeHoldFacts;

/* One hold. Texts and steps are owned. ->kind GBE_HOLD_NO: etcd is not held back, and all else is NULL. */
typedef struct {
	GbeHold kind;
	char *why;	  /* what happened */
	GPtrArray *steps; /* of char *: the way back; may be empty */
	char *text;	  /* both, as the journal has them */
} GbeHeld;

/* Takes @steps. @why: NULL: what the table says. */
void gbe_held_set(GbeHeld *held, GbeHold kind, const char *why, GPtrArray *steps);
void gbe_held_clear(GbeHeld *held);

/* The table's `what` and the error that led to @hold. Newly allocated. */
char *gbe_hold_why(GbeHold hold, const GError *error);
/* The best way that the facts complete: commands, of char *. Empty: no way is known. The caller frees the array. */
GPtrArray *gbe_hold_steps(GbeHold hold, const GbeHoldFacts *facts);
/* "run `a`, then `b`". Newly allocated; NULL if @steps is empty. */
char *gbe_hold_steps_text(const GPtrArray *steps);
