/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Judges how a segment's records end. In the middle of the log only an end at the end of the file is sound. In the
 * last segment etcd forgives what a power cut may leave: it cuts off or clears what follows, even where flushed
 * records follow.
 */
#pragma once

#include "core/version.h"
#include "etcd/finding.h"
#include "etcd/wal/segment.h"

/* @reader stands at the end; its window moves. *ret_whole: GBE_YES, the segment ends as etcd leaves it.
 * GBE_UNKNOWN, it ends as after a power cut or a shorter copy, and the log alone does not tell what followed.
 * GBE_NO, more followed, and etcd would not see it or would refuse to start. */
bool gbe_wal_ending_judge(GbeWalSegmentReader *reader, GbeWalEnd end, bool last, GbeVersion version,
			  const char *file, GbeFindings *findings, GbeTri *ret_whole,
			  GError **error) GBE_CHECKED;
