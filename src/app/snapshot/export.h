/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `export`: turns a backup, which is etcd's directory, into a snapshot file that `etcdctl snapshot restore` takes. A
 * snapshot has the database alone. The entries of the log that the database lacks are applied by etcd itself, on a
 * clone of the backup in the store. The backup is not changed. Implemented in export.c, export-apply.c.
 */
#pragma once

#include "app/by-hand/session.h"
#include "app/snapshot/snapshot.h"
#include "etcd/wal/read.h"
#include "etcd/wal/rest.h"

typedef struct {
	const char *name, *path;
	guint64 timeout; /* seconds for etcd on the clone */
	/* The log counts as a whole, also what its member does not know to be agreed, and the member counts alone: the
	 * others are gone for good. */
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

/* Makes etcd apply the log @wal of the data in @data_fd, whose member/ lies at @member_path, to a clone in @store.
 * @wal_fd: the log's own directory; -1: the log is in member/.
 * *ret_db_fd: the resulting database. In every case etcd has ended and the clone is
 * removed, except for the open file.
 *
 * Etcd is walled off (app/run/etcd-copy.h). After a power cut the next holder of the lock sweeps the clone
 * (".partial-export"). */
bool gbe_export_apply(GbeApp *app, GbeStore *store, int data_fd, const char *member_path,
		      int wal_fd, const GbeWal *wal, const GbeExport *options, int *ret_db_fd,
		      GError **error) GBE_CHECKED;
