/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* etcd's write-ahead log as a list of frames: where the last complete record of a segment lies. What is
 * in the records is not looked at, but for their own checksum field. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* "<seq>-<index>.wal", 16 lower-case hex digits each. Sorting the names sorts the segments. */
bool gbe_wal_is_name(const char *name);
/* *ret_found false: not one record; nothing else is set then. Errors are those of reading. */
bool gbe_wal_last_record(int fd, const char *what, bool *ret_found, guint64 *ret_offset,
			 guint32 *ret_crc, GError **error) GBE_CHECKED;
