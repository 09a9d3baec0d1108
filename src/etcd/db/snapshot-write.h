/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a database as the snapshot file that `etcdctl snapshot save` would make of it: its pages up to the
 * high-water mark, two meta pages with the same content (the second one transaction older), and the SHA-256 of all
 * that (etcd.md section 8).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef bool (*GbeSnapshotPut)(const void *bytes, gsize size, gpointer data, GError **error);

/* The database was found sound, and nobody writes to it. @put takes the file in pieces. GBE_ERROR_CORRUPT: the file
 * is shorter than it says. */
bool gbe_snapshot_write(int fd, const char *what, GbeSnapshotPut put, gpointer data,
			GError **error) GBE_CHECKED;
