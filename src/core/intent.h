/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Intent before effect: an operation of more than one step is written down first and finished or
 * undone by whoever comes next (src/app/recover.h). Sealed record `intent` in the state.
 *
 * An intent whose operation or step this program does not know (a newer one's) is kept apart: it is
 * left alone and, if no exchange is open, etcd starts on what is there.
 */
#pragma once

#include "core/manifest.h"

typedef enum {
	GBE_OPERATION_UNKNOWN,
	GBE_OPERATION_RESTORE, /* also trial retry, undo, rollback, hand-back: a tree is exchanged in */
} GbeOperation;

typedef enum {
	GBE_STEP_UNKNOWN,
	GBE_STEP_STAGED,    /* the staging tree is durable; the exchange may come at any moment */
	GBE_STEP_ENTRIES,   /* mount point: the entries below are being exchanged one by one */
	GBE_STEP_EXCHANGED, /* the exchange is durable; the displaced tree still needs its name */
} GbeStep;

typedef struct {
	guint format;
	char *written_by;
	GbeOperation operation;
	char *operation_name; /* as read: a newer program's word survives a rewrite */
	GbeStep step;
	guint64 sequence; /* fixed before use; the staging tree is ".restore-<sequence>" */
	char *run;	  /* the run that began it */
	char *backup;	  /* what is restored */
	char *rule;	  /* why */
	char *staging;	  /* path of the staging tree, absolute without --root */
	char **entries;	  /* GBE_STEP_ENTRIES: names in order, member last; else NULL */
	gboolean consume; /* the backup's own data/ is exchanged in */
	char
	    *keep_existing; /* path that the displaced tree gets, absolute without --root; NULL: the
			      * store's. Who cannot go there, or does not know of it, takes the store. */
	GbeManifest
	    *displaced; /* manifest that the displaced tree gets; NULL: nothing is displaced */
	JsonObject *unknown;
} GbeIntent;

GbeIntent *gbe_intent_new(void);
void gbe_intent_free(GbeIntent *intent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeIntent, gbe_intent_free)

bool gbe_intent_from_json(JsonObject *object, GbeIntent **ret_intent, GError **error) GBE_CHECKED;
JsonObject *gbe_intent_to_json(const GbeIntent *intent);
