/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "app/backup/partial.h"
#include "app/backups/verify.h"
#include "app/snapshot/import.h"
#include "fs/reserve.h"

#define GBE_IMPORT_SNAPSHOT "snapshot.db"

typedef struct {
	GbeApp *app;
	const GbeImport *options;
	GbeSession *session;
	char *name;	    /* of the entry */
	GbePartial partial; /* the entry in the making */
	char *member_path;  /* path of member/ in the data, as in the present data */
	GbeVerification *source;
	GbeManifest *manifest;
	int source_fd;		     /* the snapshot in the entry while it is received; else -1 */
	int tree_parent_fd, tree_fd; /* when a directory is imported; else -1 */
	char *tree_name;
	GbeRoom room;  /* of the store */
	guint64 taken; /* bytes of ->room */
	guint64 bump;  /* revisions that were skipped */
	bool proved;   /* a keyed digest came with it */
} GbeImporting;

/* Runs etcd's tool on the snapshot in the entry; GBE_ERROR_REFUSED: there is no tool. The tool has ended in every
 * case. Implemented in import-restore.c; the functions below in import-tree.c. */
bool gbe_import_restore(GbeImporting *importing, GError **error) GBE_CHECKED;

/* Opens ->tree_fd when the source is a directory. */
bool gbe_import_tree_open(GbeImporting *importing, GError **error) GBE_CHECKED;
/* Copies the directory into the entry, while no etcd can start on it. GBE_ERROR_BUSY: an etcd has it open;
 * _REFUSED: etcd's data is not where it should be. */
bool gbe_import_tree(GbeImporting *importing, int *ret_data_fd, GbeMethod *ret_method,
		     GError **error) GBE_CHECKED;
/* Gives the received data to the owner of the present data. Without data: to the user of etcd's unit, else to the owner
 * of the data directory, else to the program's own user. With ->keep_owners: does nothing. */
bool gbe_import_hand_over(const GbeImporting *importing, int data_fd, GError **error) GBE_CHECKED;
/* Adds to the manifest what the directory's name and its version file say. */
void gbe_import_tree_tell(const GbeImporting *importing, int data_fd, GbeManifest *manifest);
