/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan: the actions, in order, with everything that they need. The executor asks nothing and decides nothing. The
 * journal, explain, --dry-run and the tests show the plan.
 */
#pragma once

#include "core/decide/rules.h"

#include <json-glib/json-glib.h>

typedef enum {
	GBE_ACTION_BACKUP,    /* of the live data, under ->name */
	GBE_ACTION_RESTORE,   /* ->name takes the data's place, for the plan's take-over */
	GBE_ACTION_DISPLACE,  /* the displaced data becomes ->name: part of the same exchange */
	GBE_ACTION_FRESH,     /* there is no data: the take-over is of none */
	GBE_ACTION_HOLD,      /* etcd is held back */
	GBE_ACTION_GRADE,     /* ->name gets ->manifest's grade */
	GBE_ACTION_DELETE,    /* retention */
	GBE_ACTION_TAKE_OVER, /* of the live data, as the plan says */
	GBE_ACTION_KEEP,      /* the data stays as it is: reported, nothing is done */
} GbeActionKind;

typedef enum {
	GBE_FAILURE_REPORT, /* the failure is reported, and the plan continues */
	GBE_FAILURE_HOLD,   /* etcd is held back */
} GbeOnFailure;

typedef struct {
	GbeActionKind kind;
	char *name;
	char *reason;
	GbeOnFailure on_failure;
	bool cow_only;	       /* BACKUP: only where no bytes have to be copied */
	GbeManifest *manifest; /* BACKUP, DISPLACE, GRADE: the manifest to write */
} GbeAction;

typedef struct {
	GbeRule rule;	    /* the first that fits */
	GArray *also;	    /* of GbeRule: those that followed from it, and the gate */
	char *reason;	    /* of all of them */
	GPtrArray *actions; /* of GbeAction */
	bool hold;
	GbeHold hold_kind; /* where ->hold */
	bool unfinished; /* two starts in a row did not end, so nothing is backed up or restored */
	bool wait;	 /* ask again for a while: a process may end, a disk may come */
	bool forward;	 /* the deployment is newer than the data's owner */
	bool asked;	 /* a person's request is done */
	bool force;	 /* RESTORE: take the backup as it is, validated or not */
	bool again;	 /* the dropped request makes way for another decision in this start */
	bool drop_request;	/* the pending request is done or impossible: forget it */
	char *request_failed;	/* why it cannot be done; NULL */
	GbeTakeOver *take_over; /* D has the data from now on; NULL: nothing is recorded */
	bool must_record;	/* without that record, etcd must not have the data */
	/* The take-over where the planned restore cannot be done. NULL: D cannot use the present data, etcd is held
	 * back. */
	GbeTakeOver *instead;
	bool opened; /* etcd may write without a new take-over: the closing record is over */
	guint64 last_sequence; /* the largest that the plan gives out */
} GbePlan;

GbePlan *gbe_plan_new(void);
void gbe_plan_free(GbePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePlan, gbe_plan_free)
/* Appends an action. Copies its texts. The plan owns the returned action. */
GbeAction *gbe_plan_add(GbePlan *plan, GbeActionKind kind, const char *name, const char *reason);
const GbeAction *gbe_plan_find(const GbePlan *plan, GbeActionKind kind);
/* True: the plan does not change the data or the store. It only keeps, holds or takes over. */
bool gbe_plan_is_idle(const GbePlan *plan);
/* The hold that follows from @error of a required @action. */
GbeHold gbe_plan_failed_hold(GbeActionKind action, const GError *error);
/* Changes @plan as prerun would after its backup has failed with @error: etcd is held back, or starts without the
 * backup. A plan without a backup stays. */
void gbe_plan_fail_backup(GbePlan *plan, const GError *error);
/* The effect on the data as a clause for people: "the data is kept and backed up". Newly allocated. */
char *gbe_plan_words(const GbePlan *plan);
const char *gbe_action_to_string(GbeActionKind kind); /* backup restore displace ... */
/* The command that does the action by hand. Newly allocated; NULL: no command does this. */
char *gbe_action_command(const GbeAction *action);
