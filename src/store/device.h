/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which device pushed a signed snapshot. A fleet may share one key, and whoever can write to the bucket could hand one
 * device the snapshot of another. A random name of the device, in its state directory, is signed together with name,
 * meta file and database, in a file of its own: etcd-manager takes no further key in the meta file, and an earlier
 * version of this program no longer digest. A snapshot without that file is of an earlier version. It is refused where
 * it is newer than the first one that this device has pushed with it: then somebody has removed the file.
 */
#pragma once

#include "store/snapshots.h"

/* A line of GBE_SNAPSHOT_DEVICE has two words: the name and the digest. */
#define GBE_DEVICE_LENGTH 32
#define GBE_DEVICE_MAX 256
/* In place of a name: a snapshot that does not say which device pushed it. */
#define GBE_DEVICE_UNKNOWN "unknown"

/* *ret_id: of this device, newly allocated; NULL without @make where there is none yet. The caller of @make holds the
 * lock "store". A power cut leaves the file or none: nothing was signed with a name that is lost. */
bool gbe_device_id(GbeApp *app, bool make, char **ret_id, GError **error) GBE_CHECKED;
/* The content of GBE_SNAPSHOT_DEVICE. @stored: the text of gbe_keyed_stored_text(). Newly allocated. */
char *gbe_device_sign(const GbeKeys *keys, const char *stored, const char *id);
/* GBE_ERROR_REFUSED: another device pushed it, and ->device of @store is not that one; _VERIFY_FAILED: the file is not
 * what was signed. */
bool gbe_device_check(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
		      const GbeKeys *keys, const char *text, GError **error) GBE_CHECKED;
