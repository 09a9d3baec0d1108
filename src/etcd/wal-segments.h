/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which segments the log's directory holds, by name and in order; what else lies there. */
#pragma once

#include "etcd/wal-read.h"

/* *ret_segments: of GbeWalSegment, sizes not asked for yet. What is no segment's name is a note. More
 * than GBE_WAL_SEGMENTS_MAX is GBE_FINDING_UNKNOWN, and those are all that is listed. */
bool gbe_wal_segments_list(int dir_fd, const char *path, GPtrArray **ret_segments,
			   GbeFindings *findings, GError **error) GBE_CHECKED;
