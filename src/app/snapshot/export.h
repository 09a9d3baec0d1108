/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `export`: turns a backup, which is etcd's directory, into a snapshot file that `etcdctl snapshot restore` takes. A
 * snapshot has the database alone. The entries of the log that the database lacks are applied by etcd itself, on a
 * clone of the backup in the store. The backup is not changed.
 */
#pragma once

#include "app/by-hand/session.h"
#include "app/snapshot/snapshot.h"

typedef struct {
	const char *name, *path;
	guint64 timeout; /* seconds for etcd on the clone */
	/* The whole log counts, also entries that its member does not know to be agreed. The member counts alone: the
	 * others are permanently gone. */
	bool whole_log;
	bool drop_wal; /* leave out the log's entries that the database lacks */
	bool v3_only;  /* leave out keys of the v2 API, which no snapshot can hold */
	bool replace;
	bool (*progress)(guint64 done, guint64 total,
			 gpointer data); /* as in gbe_snapshot_save() */
	gpointer progress_data;
} GbeExport;

typedef struct {
	GbeVerification *verification; /* of the file */
	guint64 applied, dropped;      /* raft entries */
	guint64 v2_keys;	       /* keys left out, and changes of keys */
} GbeExported;

void gbe_exported_clear(GbeExported *exported);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeExported, gbe_exported_clear)

/* GBE_ERROR_VERIFY_FAILED: the backup is damaged; _REFUSED: v2 keys, several voters, or no etcd to apply the log.
 * On failure nothing is left. */
bool gbe_export(GbeApp *app, const GbeExport *options, GbeExported *ret_exported,
		GError **error) GBE_CHECKED;
