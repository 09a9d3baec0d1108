/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan: what is going to be done, in order, with everything that doing it needs, so that whoever
 * executes it asks nothing and decides nothing. The journal, explain, --dry-run and the tests show it.
 */
#pragma once

#include "core/rules.h"

#include <json-glib/json-glib.h>

typedef enum {
	GBE_ACTION_BACKUP,  /* of the live data, under ->name */
	GBE_ACTION_RESTORE, /* ->name takes the data's place, for the plan's take-over */
	GBE_ACTION_DISPLACE, /* what the restore displaces becomes ->name: part of the same exchange */
	GBE_ACTION_FRESH,    /* there is no data: the take-over is of none */
	GBE_ACTION_HOLD,     /* etcd is not let go */
	GBE_ACTION_GRADE,    /* ->name gets ->manifest's grade */
	GBE_ACTION_DELETE,    /* retention */
	GBE_ACTION_TAKE_OVER, /* of the live data, as the plan says */
	GBE_ACTION_KEEP,      /* the data stays as it is: said so, nothing is done */
} GbeActionKind;

typedef enum {
	GBE_FAILURE_REPORT, /* said, carried on */
	GBE_FAILURE_HOLD,   /* etcd is held back */
} GbeOnFailure;

typedef struct {
	GbeActionKind kind;
	char *name;
	char *reason;
	GbeOnFailure on_failure;
	gboolean cow_only;     /* BACKUP: not where bytes would have to be copied */
	gboolean keep_source;  /* RESTORE: it is P of a trial, whose base may come back to it */
	GbeManifest *manifest; /* BACKUP, DISPLACE, GRADE: what the manifest is to say */
} GbeAction;

typedef struct {
	GbeRule rule;	    /* the first that fits */
	GArray *also;	    /* of GbeRule: those that followed from it, and the gate */
	char *reason;	    /* of all of them */
	GPtrArray *actions; /* of GbeAction */
	gboolean hold;
	gboolean again;		/* what is dropped makes way for another decision in this start */
	gboolean drop_request;	/* the pending request is carried out or cannot be: forget it */
	char *request_failed;	/* why it cannot be carried out; NULL */
	GbeTakeOver *take_over; /* D has the data from now on; NULL: nothing is recorded */
	GbeTakeOver
	    *instead; /* the same where the restore that is planned cannot be done; NULL: D cannot
				 * use what is there, etcd is held back */
	gboolean opened;       /* same run: etcd may write again, the closing record is over */
	guint64 last_sequence; /* the largest that the plan gives out */
} GbePlan;

GbePlan *gbe_plan_new(void);
void gbe_plan_free(GbePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePlan, gbe_plan_free)
/* Appends; takes nothing. The returned action is the plan's. */
GbeAction *gbe_plan_add(GbePlan *plan, GbeActionKind kind, const char *name, const char *reason);
const GbeAction *gbe_plan_find(const GbePlan *plan, GbeActionKind kind);
/* Nothing that changes the data or the store: keep, hold and the take-over alone. */
gboolean gbe_plan_is_idle(const GbePlan *plan);
const char *gbe_action_to_string(GbeActionKind kind); /* backup restore displace ... */
/* The command that does the action by hand; newly allocated, NULL where there is none. */
char *gbe_action_command(const GbeAction *action);
/* explain's actions: [{action, name, reason, command}]. */
JsonArray *gbe_plan_actions_to_json(const GbePlan *plan);
/* "10a, then 6". Newly allocated. */
char *gbe_plan_rules_to_text(const GbePlan *plan);
