/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * "_etcd_backup.meta" describes the snapshot in the same directory: etcd-manager's message BackupInfo in protobuf's
 * JSON. Only `etcdVersion` is required. Names are in lower camel case or as in the .proto file (etcd_version), 64-bit
 * numbers are strings or numbers. etcd-manager's reader refuses unknown keys, so this program adds none. This program
 * accepts unknown keys.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* In bytes. A meta has some hundred. */
#define GBE_SNAPSHOT_META_MAX ((gsize)64 * 1024)

typedef struct {
	char *etcd_version; /* "3.5.16": of letters, digits and ".+-" */
	gint64 timestamp;   /* seconds since the epoch, by the clock of its writer; 0: absent */
	gint64 members;	    /* of the cluster; 0: absent */
} GbeSnapshotMeta;

void gbe_snapshot_meta_clear(GbeSnapshotMeta *meta);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSnapshotMeta, gbe_snapshot_meta_clear)

/* Accepts any bytes. GBE_ERROR_CORRUPT: the bytes are not a meta file. */
bool gbe_snapshot_meta_parse(const char *bytes, gsize size, GbeSnapshotMeta *ret_meta,
			     GError **error) GBE_CHECKED;
/* Newly allocated. */
char *gbe_snapshot_meta_print(const GbeSnapshotMeta *meta);
