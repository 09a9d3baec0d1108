/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "app/import.h"
#include "app/partial.h"
#include "app/verify.h"
#include "fs/room.h"

#define GBE_IMPORT_SNAPSHOT "snapshot.db"

typedef struct {
	GbeApp *app;
	const GbeImport *options;
	GbeSession *session;
	char *name;	    /* of the entry */
	GbePartial partial; /* the entry in the making */
	char *member_path;  /* where member/ is to lie in the data, as in the present one */
	GbeVerification *source;
	GbeManifest *manifest;
	int source_fd;		     /* the snapshot in the entry, while it comes in; else -1 */
	int tree_parent_fd, tree_fd; /* a directory is imported; else -1 */
	char *tree_name;
	GbeRoom room;	 /* of the store */
	guint64 taken;	 /* bytes of it */
	gboolean proved; /* a keyed digest came with it */
} GbeImporting;

/* Runs etcd's tool on the snapshot in the entry; GBE_ERROR_REFUSED: there is none. It has ended, whatever
 * happens. */
bool gbe_import_restore(GbeImporting *importing, GError **error) GBE_CHECKED;

/* Is it a directory? Then ->tree_fd is open. */
bool gbe_import_tree_open(GbeImporting *importing, GError **error) GBE_CHECKED;
/* Copies it into the entry, while no etcd can start on it. GBE_ERROR_BUSY: one has it open; _REFUSED: there is
 * none of etcd's data where it should be. */
bool gbe_import_tree(GbeImporting *importing, int *ret_data_fd, GbeMethod *ret_method,
		     GError **error) GBE_CHECKED;
/* Gives what came in to the owner of the data directory in place, who is the one that etcd runs as; without one, to
 * the program's own user. With ->keep_owners: nothing. */
bool gbe_import_hand_over(const GbeImporting *importing, int data_fd, GError **error) GBE_CHECKED;
/* What its name and its version file say of it. */
void gbe_import_tree_tell(const GbeImporting *importing, int data_fd, GbeManifest *manifest);
