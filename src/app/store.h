/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The store of backups: <store>/<name>/{data/,manifest.json}, with the ladder of names before an entry
 * is one: ".partial-<name>" (being made, or being removed: swept) and ".pending-<name>" (complete but
 * for its name, or waiting for the displaced tree: finished by gbe_store_sweep()).
 *
 * What does not parse as a backup of this program is never touched.
 */
#pragma once

#include "app/context.h"
#include "app/data.h"
#include "core/facts.h"
#include "core/record.h"

#define GBE_STORE_DATA "data"

typedef struct GbeStore GbeStore;
struct GbeStore {
	char *path; /* absolute, without --root */
	int fd;	    /* -1: it is not there (yet) */
	int top_fd; /* below .greenboot-etcd/: the root of the data's file system; else -1 */
	char *fs;   /* id of its file system, or NULL */
	const GbeKeys *keys; /* what manifests are signed with: [store] key; borrowed, or NULL */
	/* A store on another file system than the data's cannot take a displaced tree by rename. Those
	 * lie below .greenboot-etcd/ at the root of the data's, and are listed from there. NULL: the
	 * store itself is near. */
	GbeStore *near;
};

/* Where the store is, by configuration and file systems; @make makes it (0700). Not there and not made:
 * ->fd is -1. */
bool gbe_store_open(GbeApp *app, GbeData *data, gboolean make, GbeStore **ret_store,
		    GError **error) GBE_CHECKED;
void gbe_store_free(GbeStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeStore, gbe_store_free)

/* Fills backups, taken, store and next_sequence's share of @facts. Entries whose manifest cannot be
 * read are "taken" and nothing else; *ret_damaged (may be NULL) gets their names. */
bool gbe_store_observe(GbeStore *store, GbeFacts *facts, GPtrArray **ret_damaged,
		       GError **error) GBE_CHECKED;
/* The one of the two that has @name, or its pending; the store itself where neither has. Borrowed. */
GbeStore *gbe_store_at(GbeStore *store, const char *name);
/* The one that a tree in @stage_fd can be renamed into; made where it is missing. Borrowed. */
bool gbe_store_for_rename(GbeApp *app, GbeStore *store, int stage_fd, GbeStore **ret_store,
			  GError **error) GBE_CHECKED;
bool gbe_store_open_data(GbeStore *store, const char *name, int *ret_fd,
			 GError **error) GBE_CHECKED;
/* Does a backup have a tree? A consumed one has none. */
gboolean gbe_store_has_data(int entry_fd);
/* With what is to be thought of its keyed digest. */
bool gbe_store_read_manifest(const GbeStore *store, int entry_fd, const char *name,
			     GbeManifest **ret_manifest, GError **error) GBE_CHECKED;
/* Rewrites <name>/manifest.json, durable. */
bool gbe_store_write_manifest(GbeStore *store, const GbeManifest *manifest,
			      GError **error) GBE_CHECKED;
/* Renames to ".partial-<name>", syncs, removes: after a power cut the entry is whole or swept. Where the sync
 * fails, it stays. @patience as in fs/remove.h: what it does not last for is swept. */
bool gbe_store_remove(GbeStore *store, const char *name, gint64 *patience,
		      GError **error) GBE_CHECKED;
/* Removes partials, finishes or removes pendings. @skip: the name of a pending that an open intent still
 * fills; NULL. */
bool gbe_store_sweep(GbeStore *store, const char *skip, gint64 *patience,
		     GError **error) GBE_CHECKED;
/* ".pending-<name>/" with its manifest, not synced: the place for a tree that will be displaced. */
bool gbe_store_prepare(GbeStore *store, const GbeManifest *manifest, GError **error) GBE_CHECKED;
