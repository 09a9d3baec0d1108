/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restore on its way, for the files of restore. */
#pragma once

#include "app/restore.h"

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	const GbeManifest *backup;
	const GbeTakeOver *take_over;
	const GbeRestoreOptions *options;
	GbeIntent *intent;
	int stage_fd;  /* directory that holds the staging tree */
	char *staged;  /* ".staging-<n>": while it is made */
	char *staging; /* ".restore-<n>" */
	int tree_fd;   /* the staging tree */
	GbeTiming timing;
} Restore;

/* The directory that the staging tree lies in: beside the data directory, where a rename reaches it;
 * inside of it, where that is a mount point. */
bool gbe_restore_open_stage(Restore *r, GError **error) GBE_CHECKED;
/* Room for the staged copy: retention first; then ->intent->consume, the backup itself by rename. */
bool gbe_restore_make_room(Restore *r, int src_fd, GError **error) GBE_CHECKED;
/* The staging tree under its name, with the nonce, not durable; a clone of the backup, or its own tree. The
 * intent is in the ledger after it. */
bool gbe_restore_clone(Restore *r, GError **error) GBE_CHECKED;
bool gbe_restore_consume(Restore *r, GError **error) GBE_CHECKED;
/* The intent, with what is known of both trees by now. */
bool gbe_restore_intend(Restore *r, GError **error) GBE_CHECKED;
