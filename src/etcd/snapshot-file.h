/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `etcdctl snapshot save` writes: a database, and its SHA-256 in 32 bytes behind it (etcd.md
 * section 8). A database alone has a size that 512 divides, and no checksum.
 */
#pragma once

#include "etcd/db.h"
#include "etcd/snapshot-sum.h"

/* The checksum is compared where the level is full. @what: the file's name in findings. */
bool gbe_snapshot_file_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
			    GbeFindings *findings, GError **error) GBE_CHECKED;
