/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a snapshot back from the store: into a file (pull), or only to compare it with the record of its push
 * (prove). Both read the whole snapshot, decrypt it if this device has an identity, verify it in full, and compare it
 * with that record. The proof is recorded (app/state/history.h). The store is not changed.
 */
#pragma once

#include "store/snapshots.h"

typedef struct {
	const char *store;    /* NULL: the configured one */
	const char *name;     /* or GBE_SNAPSHOT_LATEST */
	const char *path;     /* pull: must not exist */
	const char *identity; /* absolute, without --root; NULL: [store] identity */
	const char *device;   /* as in GbeSnapshotStore */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStorePull;

/* The file appears at ->path after all of it was proved; *ret_verification is that of the file.
 * GBE_ERROR_REFUSED: the latest snapshot is older than one that is known. */
bool gbe_store_pull(GbeApp *app, const GbeStorePull *options, char **ret_name,
		    GbeVerification **ret_verification, GError **error) GBE_CHECKED;

typedef struct {
	char *name;
	bool read;     /* false: only its bytes were compared, without an identity */
	bool compared; /* with the record of its push */
	GbeVerification *verification; /* where it was read; else NULL */
} GbeStoreProved;

void gbe_store_proved_clear(GbeStoreProved *proved);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStoreProved, gbe_store_proved_clear)

/* GBE_ERROR_VERIFY_FAILED: the snapshot is damaged, or differs from the push; this is also recorded. _REFUSED: the
 * snapshot is encrypted, no identity is here, and its bytes are unknown. */
bool gbe_store_prove(GbeApp *app, const GbeStorePull *options, GbeStoreProved *ret_proved,
		     GError **error) GBE_CHECKED;
