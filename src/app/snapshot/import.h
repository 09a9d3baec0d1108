/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `import`: makes a backup from a copy of a data directory, or from a snapshot file. The file is plain, in gzip, or
 * alone in a tar, tar.gz or zip. Input and result are proved before the entry becomes a backup.
 */
#pragma once

#include "app/by-hand/session.h"

/* The number of revisions that etcd's documentation tells to skip: more than any etcd makes in a year. */
#define GBE_IMPORT_BUMP G_GUINT64_CONSTANT(1000000000)
/* The revision has to stay a number in JSON. */
#define GBE_IMPORT_BUMP_MOST G_GUINT64_CONSTANT(1000000000000000)

typedef struct {
	const char *path;
	const char *name;  /* NULL: "imported-" and the file's name */
	const char *token; /* of a snapshot: what the new cluster's id is made from; NULL: etcd's */
	guint64 timeout;   /* seconds for etcd's tool */
	guint64 bump;	   /* of a snapshot: revisions to skip; 0: only for Kubernetes */
	bool no_bump;	   /* keep the revision for Kubernetes also */
	bool no_checksum;  /* accept a copied database, which has no checksum */
	bool periodic;	   /* the timer asked for it; named by its sequence */
	bool keep_owners;  /* of a directory: keep its owners, setuid bits, capabilities and ACLs */
	bool etcd_only;	   /* even if data-dir has more than etcd's data */
	bool (*progress)(guint64 done, guint64 total,
			 gpointer data); /* as in gbe_snapshot_save() */
	gpointer progress_data;
} GbeImport;

typedef struct {
	char *name;
	guint64 size;
	gint64 revision;
	guint64 bump; /* revisions that were skipped; 0: none */
	GbeGrade grade;
} GbeImported;

void gbe_imported_clear(GbeImported *imported);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeImported, gbe_imported_clear)

/* GBE_ERROR_VERIFY_FAILED: the source is damaged; _REFUSED: no checksum, no tool, or restoring this backup would
 * remove something. On failure nothing is left.
 *
 * A directory is cloned (without 1) and given to the owner of the data directory. A file is restored by etcd's own tool
 * (etcdutl next to [etcd] binary, else etcdctl) into an entry of the store. The result is a new cluster of one member
 * with [etcd] name and peer-urls. Revisions are skipped there on request, and by default if the keys are those of
 * Kubernetes. Its informers and controllers remember revisions, and a revision that they know must never mean something
 * else (etcd issue 16028). A power cut leaves:
 *
 *   1  store/.partial-<name>/snapshot.db             a cut up to 4: swept
 *   2  store/.partial-<name>/data                    by etcd's tool; 1 is removed
 *   3  store/.partial-<name>/manifest.json, syncfs
 *   4  rename .partial-<name> -> <name>
 *   5  sync of the store's directory                 the backup */
bool gbe_import(GbeApp *app, const GbeImport *options, GbeImported *ret_imported,
		GError **error) GBE_CHECKED;
