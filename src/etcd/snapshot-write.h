/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A database as the snapshot file that `etcdctl snapshot save` would make of it: its pages up to the
 * high-water mark, both meta pages saying the same (the second as of one transaction before), and the
 * SHA-256 of all that behind it (etcd.md section 8).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef bool (*GbeSnapshotPut)(const void *bytes, gsize size, gpointer data, GError **error);

/* Of a database that was found sound; nobody writes it. @put takes the file in pieces. GBE_ERROR_CORRUPT:
 * it is not so long as it says. */
bool gbe_snapshot_write(int fd, const char *what, GbeSnapshotPut put, gpointer data,
			GError **error) GBE_CHECKED;
