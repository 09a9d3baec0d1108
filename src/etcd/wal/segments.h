/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists the segments in the log's directory by name and in order, and reports other files there. */
#pragma once

#include "etcd/wal/read.h"

/* *ret_segments: of GbeWalSegment, without sizes. Each other name is a note. More than GBE_WAL_SEGMENTS_MAX
 * segments are GBE_FINDING_UNKNOWN, and only that many are listed. */
bool gbe_wal_segments_list(int dir_fd, const char *path, GPtrArray **ret_segments,
			   GbeFindings *findings, GError **error) GBE_CHECKED;
