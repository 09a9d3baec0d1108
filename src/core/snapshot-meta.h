/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * "_etcd_backup.meta", which says what lies beside it: etcd-manager's message BackupInfo in the JSON of
 * protobuf. Of that only `etcdVersion` has to be there; names may be in lower camel case or as in the .proto
 * file (etcd_version), 64-bit numbers are strings or numbers. A reader of that program refuses a key that it
 * does not know, so that nothing of our own is written into it; one that we do not know is not wrong.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* A meta is some hundred bytes. */
#define GBE_SNAPSHOT_META_MAX ((gsize)64 * 1024)

typedef struct {
	char *etcd_version; /* "3.5.16": of letters, digits and ".+-" */
	gint64
	    timestamp; /* seconds since the epoch, by the clock of who made it; 0: it is not said */
	gint64 members; /* of the cluster; 0: it is not said */
} GbeSnapshotMeta;

void gbe_snapshot_meta_clear(GbeSnapshotMeta *meta);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSnapshotMeta, gbe_snapshot_meta_clear)

/* Any bytes. GBE_ERROR_CORRUPT. */
bool gbe_snapshot_meta_parse(const char *bytes, gsize size, GbeSnapshotMeta *ret_meta,
			     GError **error) GBE_CHECKED;
/* Newly allocated. */
char *gbe_snapshot_meta_print(const GbeSnapshotMeta *meta);
