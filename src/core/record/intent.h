/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Intent before effect: a restore is written to the ledger before its exchange, with the record that will
 * end it. The next program that holds the lock finishes or undoes it (src/app/backup/recover.h). An intent
 * whose operation is not known (a newer program's) is left alone: etcd starts on the present data.
 */
#pragma once

#include "core/record/manifest.h"
#include "core/record/take-over.h"

typedef enum {
	GBE_OPERATION_UNKNOWN,
	GBE_OPERATION_RESTORE, /* also trial retry, undo, rollback, hand-back: any exchange of a tree */
} GbeOperation;

typedef struct {
	GbeOperation operation;
	guint64 sequence; /* fixed before use; the staging tree is ".restore-<sequence>" */
	char *backup;	  /* the backup that is restored; NULL: the data is set aside */
	char *rule;	  /* the rule that asks for it */
	char *staging;	  /* path of the staging tree, absolute without --root */
	/* Identity of the tree that is exchanged in (core/decide/past.h): of the staging tree, or of its member/
	 * where the data directory is a mount point. */
	char *tree_new;
	char *tree_old; /* the same of the displaced tree; NULL: there was none */
	char **entries; /* mount point: names in order, member last; else NULL */
	bool consume;	/* the backup's own data/ is exchanged in */
	/* The path that the displaced tree gets, absolute without --root; NULL: in the store. A program that cannot
	 * rename to this path takes the store. */
	char *keep_existing;
	GbeManifest *displaced; /* manifest of the displaced tree; NULL: nothing is displaced */
	GbeTakeOver *take_over; /* the record that ends the intent; NULL: the data is handed back */
} GbeIntent;

GbeIntent *gbe_intent_new(void);
void gbe_intent_free(GbeIntent *intent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeIntent, gbe_intent_free)

bool gbe_intent_from_json(JsonObject *object, GbeIntent **ret_intent, GError **error) GBE_CHECKED;
JsonObject *gbe_intent_to_json(const GbeIntent *intent);
