/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a backup whose data is not a copy of the present data: it was imported, or written anew from another backup.
 * The data is made in the entry and proved there; then the entry gets a manifest and its final name.
 */
#pragma once

#include "app/backup/observe.h"
#include "etcd/directory/directory.h"

typedef struct {
	const GbeStore *store; /* borrowed */
	char *name;	       /* the final name */
	char *partial;	       /* the present name */
	int fd;		       /* the entry, empty at first */
} GbePartial;

/* Removes an entry that is not a backup yet. */
void gbe_partial_clear(GbePartial *partial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePartial, gbe_partial_clear)

/* Makes the entry. The caller holds this program's lock. GBE_ERROR_REFUSED: there is no store; _FAILED: the store
 * has a backup of this name.
 *
 * A power cut leaves:
 *
 *   1  store/.partial-<name>/...                     a cut up to 4: swept
 *   2  store/.partial-<name>/manifest.json
 *   3  syncfs
 *   4  rename .partial-<name> -> <name>
 *   5  sync of the store's directory                 the backup */
bool gbe_partial_make(const GbeObserved *observed, const char *name, GbePartial *ret_partial,
		      GError **error) GBE_CHECKED;
/* A manifest for data that no deployment owns, so that no rollback takes it by itself. It is made by hand and not
 * proven, and has what was found in the data when every row was read. */
GbeManifest *gbe_partial_manifest(const GbePartial *partial, const GbeObserved *observed,
				  const GbeDirectory *directory, const char *description);
/* Records the files in @data_fd, in which member/ lies at @member_path, and writes the manifest, not durable. */
bool gbe_partial_describe(const GbeApp *app, const GbePartial *partial, int data_fd,
			  const char *member_path, GbeManifest *manifest,
			  GError **error) GBE_CHECKED;
/* Makes the entry durable and gives it its final name. */
bool gbe_partial_publish(GbePartial *partial, GError **error) GBE_CHECKED;
