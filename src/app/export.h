/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `export`: a backup, which is etcd's directory, as a snapshot file that `etcdctl snapshot restore` takes. A
 * snapshot is the database alone. What the log has and the database has not yet, etcd itself applies, on
 * a clone in the store (".partial-export", swept by the next one under the lock after a power cut): on a
 * unix socket in a directory of root's, as the only member. Nothing of the backup is changed.
 */
#pragma once

#include "app/by-hand-session.h"
#include "app/snapshot.h"
#include "etcd/wal-rest.h"

typedef struct {
	const char *name, *path;
	guint64 timeout;   /* seconds for etcd on the clone */
	gboolean drop_wal; /* leave behind what the database has not */
	gboolean v3_only;  /* and keys of the v2 API, which no snapshot holds */
	gboolean replace;
	bool (*progress)(guint64 done, guint64 total, gpointer data); /* as for a save */
	gpointer progress_data;
} GbeExport;

typedef struct {
	GbeVerification *verification; /* of the file */
	guint64 applied, dropped;      /* requests of the log */
	guint64 v2_keys;	       /* left behind, and changes of them */
} GbeExported;

void gbe_exported_clear(GbeExported *exported);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeExported, gbe_exported_clear)

/* GBE_ERROR_VERIFY_FAILED: the backup is damaged; _REFUSED: v2 keys, several voters, or no etcd to apply the
 * log. Nothing is left then. */
bool gbe_export(GbeApp *app, const GbeExport *options, GbeExported *ret_exported,
		GError **error) GBE_CHECKED;

/* Has etcd apply the log of the data in @data_fd, member/ at @member_path in it, whose last entry is
 * @last, to a clone in @store. *ret_db_fd: the database that it left. Whatever happens, etcd has ended
 * and the clone is gone, but for the open file. */
bool gbe_export_apply(GbeApp *app, GbeStore *store, int data_fd, const char *member_path,
		      guint64 last, const GbeExport *options, int *ret_db_fd,
		      GError **error) GBE_CHECKED;
