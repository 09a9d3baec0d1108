/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is a snapshot in the store what was pushed? It is read as a whole, decrypted where an identity is here, verified in
 * full, and compared with what was recorded at the push. Without an identity, the bytes in the store are compared. The
 * answer is recorded (app/state/history.h). Nothing in the store changes.
 */
#pragma once

#include "store/snapshots.h"

typedef struct {
	const char *store;    /* NULL: the configured one */
	const char *name;     /* or GBE_SNAPSHOT_LATEST */
	const char *identity; /* absolute, without --root; NULL: [store] identity */
	const char *device;   /* as in GbeSnapshotStore */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStoreProof;

typedef struct {
	char *name;
	bool read;		       /* false: only its bytes were compared */
	bool compared;		       /* with what was recorded when it was pushed */
	GbeVerification *verification; /* where it was read; else NULL */
} GbeStoreProved;

void gbe_store_proved_clear(GbeStoreProved *proved);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStoreProved, gbe_store_proved_clear)

/* GBE_ERROR_VERIFY_FAILED: it is damaged, or is not what was pushed; that is recorded, too. _REFUSED: it is encrypted,
 * no identity is here, and its bytes are not known. */
bool gbe_store_prove(GbeApp *app, const GbeStoreProof *options, GbeStoreProved *ret_proved,
		     GError **error) GBE_CHECKED;
