/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Intent before effect: a restore is written down before its exchange, with the record that will end it,
 * and is finished or undone by whoever comes next (src/app/recover.h). A record of the ledger.
 *
 * An intent whose operation this program does not know (a newer one's) is left alone: etcd starts on what
 * is there.
 */
#pragma once

#include "core/manifest.h"
#include "core/take-over.h"

typedef enum {
	GBE_OPERATION_UNKNOWN,
	GBE_OPERATION_RESTORE, /* also trial retry, undo, rollback, hand-back: a tree is exchanged in */
} GbeOperation;

typedef struct {
	GbeOperation operation;
	guint64 sequence; /* fixed before use; the staging tree is ".restore-<sequence>" */
	char *backup;	  /* what is restored */
	char *rule;	  /* why */
	char *staging;	  /* path of the staging tree, absolute without --root */
	char *
	    tree_new; /* identity of what is exchanged in (core/identity.h): of the staging tree, or of
			   * its member/ where the data directory is a mount point */
	char *tree_old;	  /* the same of what is displaced; NULL: there was none */
	char **entries;	  /* mount point: names in order, member last; else NULL */
	gboolean consume; /* the backup's own data/ is exchanged in */
	char
	    *keep_existing; /* path that the displaced tree gets, absolute without --root; NULL: the
			      * store's. Who cannot go there takes the store. */
	GbeManifest
	    *displaced; /* manifest that the displaced tree gets; NULL: nothing is displaced */
	GbeTakeOver *take_over; /* the record that ends the intent; NULL: the data is handed back */
} GbeIntent;

GbeIntent *gbe_intent_new(void);
void gbe_intent_free(GbeIntent *intent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeIntent, gbe_intent_free)

bool gbe_intent_from_json(JsonObject *object, GbeIntent **ret_intent, GError **error) GBE_CHECKED;
JsonObject *gbe_intent_to_json(const GbeIntent *intent);
