/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backup in the making that is no copy of the data as it is: imported, or written anew from another one.
 * Its data is made in the entry and proved there, then it gets a manifest and its name.
 *
 *   1  store/.partial-<name>/...                     a cut up to 4: swept
 *   2  store/.partial-<name>/manifest.json
 *   3  syncfs
 *   4  rename .partial-<name> -> <name>
 *   5  sync of the store's directory                 the backup
 */
#pragma once

#include "app/observe.h"
#include "etcd/directory.h"

typedef struct {
	const GbeStore *store; /* borrowed */
	char *name;	       /* that it will have */
	char *partial;	       /* that it has */
	int fd;		       /* the entry, empty at first */
} GbePartial;

/* Takes away what is not a backup yet. */
void gbe_partial_clear(GbePartial *partial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePartial, gbe_partial_clear)

/* Makes the entry. The caller holds our lock. GBE_ERROR_REFUSED: the store is not there; _FAILED: there is one
 * of this name. */
bool gbe_partial_make(const GbeObserved *observed, const char *name, GbePartial *ret_partial,
		      GError **error) GBE_CHECKED;
/* A manifest for data of which no deployment is the owner, so that no rollback takes it by itself, made by hand
 * and not proven; with what was found in it when every row of it was read. */
GbeManifest *gbe_partial_manifest(const GbePartial *partial, const GbeObserved *observed,
				  const GbeDirectory *directory, const char *description);
/* Records the files in @data_fd, where member/ lies at @member_path, and writes the manifest, not yet durable. */
bool gbe_partial_describe(const GbePartial *partial, int data_fd, const char *member_path,
			  GbeManifest *manifest, GError **error) GBE_CHECKED;
/* Makes it durable, and a backup. */
bool gbe_partial_publish(GbePartial *partial, GError **error) GBE_CHECKED;
