/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `import`: a backup from a directory that is a copy of a data directory, or from a snapshot file, plain, in
 * gzip, or alone in a tar, tar.gz or zip. A directory is cloned (1 is left out) and given to the owner of the data
 * directory, whoever made it. For a file etcd's own tool
 * restores it (etcdutl beside [etcd] binary, else etcdctl), as a new cluster of one member of [etcd] name and
 * peer-urls, into an entry of the store that becomes a backup when everything in it was proved: what
 * came in, and what came out.
 *
 *   1  store/.partial-<name>/snapshot.db             a cut up to 4: swept
 *   2  store/.partial-<name>/data                    by etcd's tool; 1 is removed
 *   3  store/.partial-<name>/manifest.json, syncfs
 *   4  rename .partial-<name> -> <name>
 *   5  sync of the store's directory                 the backup
 */
#pragma once

#include "app/by-hand-session.h"

typedef struct {
	const char *path;
	const char *name;     /* NULL: "imported-" and the file's name */
	guint64 timeout;      /* seconds for etcd's tool */
	gboolean no_checksum; /* a database that was copied will do */
	gboolean periodic;    /* the clock asked for it; named by its sequence */
	gboolean
	    keep_owners; /* of a directory: with its owners, setuid bits, capabilities and ACLs */
	gboolean etcd_only; /* although there is more than etcd's data in data-dir */
	bool (*progress)(guint64 done, guint64 total, gpointer data); /* as for a save */
	gpointer progress_data;
} GbeImport;

typedef struct {
	char *name;
	guint64 size;
	gint64 revision;
} GbeImported;

void gbe_imported_clear(GbeImported *imported);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeImported, gbe_imported_clear)

/* GBE_ERROR_VERIFY_FAILED: it is damaged; _REFUSED: no checksum, no tool, or what a restore of it would take
 * away. Nothing is left then. */
bool gbe_import(GbeApp *app, const GbeImport *options, GbeImported *ret_imported,
		GError **error) GBE_CHECKED;
