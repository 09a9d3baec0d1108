/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of a running restore, shared by restore.c and restore-stage.c. */
#pragma once

#include "app/backup/restore.h"

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	const GbeManifest *backup; /* NULL: an empty directory takes the data's place */
	const GbeTakeOver *take_over;
	const GbeRestoreOptions *options;
	GbeIntent *intent;
	int stage_fd;  /* directory that holds the staging tree */
	char *staged;  /* ".staging-<n>": its name while it is made */
	char *staging; /* ".restore-<n>" */
	int tree_fd;   /* the staging tree */
	GbeTiming timing;
} Restore;

/* Opens the directory that the staging tree lies in: beside the data directory, where a rename reaches it; inside
 * the data directory, when that is a mount point. Implemented in restore-stage.c. */
bool gbe_restore_open_stage(Restore *r, GError **error) GBE_CHECKED;
/* Makes room for the staged copy: first by retention; if that is not enough, ->intent->consume asks to move the
 * backup's own tree by rename. */
bool gbe_restore_make_room(Restore *r, int src_fd, GError **error) GBE_CHECKED;
/* Both put the staging tree under its name, with the nonce, not durable: a clone of the backup (or an empty directory),
 * or the backup's own tree. Afterwards the intent is in the ledger. */
bool gbe_restore_stage(Restore *r, GError **error) GBE_CHECKED;
bool gbe_restore_consume(Restore *r, GError **error) GBE_CHECKED;
/* The name of that which takes the data's place, for messages. Implemented in restore.c. */
const char *gbe_restore_named(const Restore *r);
