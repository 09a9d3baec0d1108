/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the way in which a segment's records end means. In the middle of the log only an end with the
 * file is sound. In the last segment etcd forgives what a power cut may leave, by cutting off or
 * clearing what lies behind; it would do that, too, where flushed records lie there.
 */
#pragma once

#include "core/version.h"
#include "etcd/finding.h"
#include "etcd/wal-segment.h"

/* @reader stands at the end; its window moves. *ret_whole: GBE_YES, it ends as etcd leaves it; GBE_UNKNOWN, as a
 * power cut or a shorter copy may, and the log alone does not tell what there was behind; GBE_NO, there was more,
 * and etcd would not see it or would refuse to start. */
bool gbe_wal_ending_judge(GbeWalSegmentReader *reader, GbeWalEnd end, bool last, GbeVersion version,
			  const char *file, GbeFindings *findings, GbeTri *ret_whole,
			  GError **error) GBE_CHECKED;
