/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The store of backups: <store>/<name>/{data/,manifest.json}. The name of an entry is its state: ".partial-<name>"
 * is being made or removed, and is swept. ".pending-<name>" lacks only its name, or waits for the displaced tree;
 * gbe_store_sweep() finishes it. An entry that does not parse as a backup of this program is never touched.
 */
#pragma once

#include "app/backups/data.h"
#include "app/device/context.h"
#include "core/decide/facts.h"
#include "core/json/parse.h"
#include "core/record/keyed.h"
#include "core/record/manifest.h"
#include "fs/write.h"

#define GBE_STORE_DATA "data"

typedef struct GbeStore GbeStore;
struct GbeStore {
	char *path; /* absolute, without --root */
	int fd;	    /* -1: it is not there (yet) */
	int top_fd; /* root of the data's file system, for a store in .greenboot-etcd/; or -1 */
	char *fs;   /* id of its file system, or NULL */
	char *tree; /* identity of .greenboot-etcd/, with ->top_fd; or NULL */
	const GbeKeys *keys; /* [store] key, which signs manifests; borrowed, or NULL */
	/* A store on another file system, or below another mount, than the data cannot take a displaced tree by
	 * rename. Displaced trees then lie below .greenboot-etcd/ at the top of the data's mount, and are listed
	 * from there. NULL: the store takes them itself. */
	GbeStore *near;
	/* The stores of former take-overs, if the configuration names another place now: a list, by ->former. They are
	 * read, and get nothing new. NULL: at the same place. */
	GbeStore *former;
};

/* Opens the store, which the configuration and the file systems place; @make creates it (0700). ->fd is -1 when
 * the store is not there and was not made. */
bool gbe_store_open(GbeApp *app, GbeData *data, bool make, GbeStore **ret_store,
		    GError **error) GBE_CHECKED;
void gbe_store_free(GbeStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeStore, gbe_store_free)

/* Fills backups, taken, store and next_sequence's share of @facts. An entry whose manifest cannot be read is only
 * "taken"; *ret_damaged gets its name. */
bool gbe_store_observe(GbeStore *store, GbeFacts *facts, GPtrArray **ret_damaged,
		       GError **error) GBE_CHECKED;
/* Opens the store at @path on file system @fs as one of ->former, and adds what is in it to @facts. An error: it is not there,
 * or others than root could have made it. */
bool gbe_store_observe_former(GbeApp *app, GbeStore *store, const char *path, const char *fs,
			      GbeFacts *facts, GPtrArray *damaged, GError **error) GBE_CHECKED;
/* The store that has @name, finished or pending: ->near, ->former, or @store, also when none has it. Borrowed. */
GbeStore *gbe_store_at(GbeStore *store, const char *name);
/* The store that a tree in @stage_fd can be renamed into; it is made when it is missing. Borrowed. */
bool gbe_store_for_rename(GbeApp *app, GbeStore *store, int stage_fd, GbeStore **ret_store,
			  GError **error) GBE_CHECKED;
bool gbe_store_open_data(GbeStore *store, const char *name, int *ret_fd,
			 GError **error) GBE_CHECKED;
typedef enum {
	GBE_RESERVE_KEEP,    /* makes what is missing */
	GBE_RESERVE_RELEASE, /* gives back what the file system is short of */
	GBE_RESERVE_GIVE_UP, /* gives back everything, and the reserve in the state directory */
} GbeReserve;

/* The reserves (fs/reserve.h) next to the backups and next to the displaced trees, if these are not on the state's file
 * system. A restore needs some room on a disk that the failed update has filled. */
void gbe_store_reserve(GbeApp *app, GbeStore *store, GbeReserve how);
/* Reads the manifest, and what its keyed digest proves. */
bool gbe_store_read_manifest(const GbeStore *store, int entry_fd, const char *name,
			     GbeManifest **ret_manifest, GError **error) GBE_CHECKED;
/* Rewrites <name>/manifest.json, durable. */
bool gbe_store_write_manifest(GbeStore *store, const GbeManifest *manifest,
			      GError **error) GBE_CHECKED;
/* Writes it into an entry that the caller has open. */
bool gbe_store_write_manifest_at(const GbeStore *store, int entry_fd, const GbeManifest *manifest,
				 GbeWrite how, GError **error) GBE_CHECKED;
/* Makes the empty directory @partial, ".partial-<name>", in place of one that was left. */
bool gbe_store_make_partial(const GbeStore *store, const char *partial, int *ret_fd,
			    GError **error) GBE_CHECKED;
/* Removes it; what cannot be removed now is swept later. */
void gbe_store_drop_partial(const GbeStore *store, const char *partial);
/* Renames the entry to ".partial-<name>", syncs, removes it: after a power cut the entry is whole or swept. When
 * the sync fails, the entry stays. GBE_ERROR_PARTIAL: it was renamed, and what is left of it is swept later.
 * @patience as in fs/tree.h: what is left when it ends is swept later. */
bool gbe_store_remove(GbeStore *store, const char *name, gint64 *patience,
		      GError **error) GBE_CHECKED;
/* Removes partial entries; finishes or removes pending ones; notes what cannot be. False: the store cannot be listed. */
bool gbe_store_sweep(GbeStore *store, gint64 *patience, GError **error) GBE_CHECKED;
/* Makes ".pending-<name>/" with its manifest, not synced: the place for a tree that will be displaced. */
bool gbe_store_prepare(GbeStore *store, const GbeManifest *manifest, GError **error) GBE_CHECKED;

/*
 * [store] key, and its rule. Only root can write the store of backups. A backup that the device made itself can be
 * restored whatever its digest says: a lost key must not cost a rollback. A backup that came from outside is
 * restored only with a right digest.
 */

/* Borrowed from @app, read once; NULL: no key is configured. GBE_ERROR_UNSAFE_SOURCE: users other than root may
 * read or exchange the file; _INVALID_CONFIG: the file is not a file of keys. */
bool gbe_app_keys(GbeApp *app, const GbeKeys **ret_keys, GError **error) GBE_CHECKED;

/* May @manifest's backup be restored? @by_hand: a person asks, who can take another backup; else every backup
 * that the device made itself may. GBE_ERROR_REFUSED says what to do. */
bool gbe_keys_check_backup(GbeApp *app, const GbeManifest *manifest, bool by_hand,
			   GError **error) GBE_CHECKED;
