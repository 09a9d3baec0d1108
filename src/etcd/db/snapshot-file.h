/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the file that `etcdctl snapshot save` writes: a database, followed by its SHA-256 in 32 bytes (etcd.md
 * section 8). A bare database has a size that 512 divides, and no checksum.
 */
#pragma once

#include "etcd/db/db.h"
#include "etcd/db/snapshot-sum.h"

/* The checksum is compared at level GBE_VERIFY_FULL. @what: the file's name in findings. */
bool gbe_snapshot_file_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
			    GbeFindings *findings, GError **error) GBE_CHECKED;
