/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the last complete record of a segment of etcd's write-ahead log from the frames alone. Of the records it
 * reads only their checksum field. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* *ret_found false: there is no record, and nothing else is set. Errors are read errors. */
bool gbe_wal_last_record(int fd, const char *what, bool *ret_found, guint64 *ret_offset,
			 guint32 *ret_crc, GError **error) GBE_CHECKED;
