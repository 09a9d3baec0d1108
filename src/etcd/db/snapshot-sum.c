/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/snapshot-sum.h"

#include <string.h>

void
gbe_snapshot_sum_init(GbeSnapshotSum *sum)
{
	*sum = (GbeSnapshotSum){0};
	gbe_sha256_init(&sum->sha256);
}

void
gbe_snapshot_sum_clear(GbeSnapshotSum *sum)
{
	gbe_sha256_clear(&sum->sha256);
}

void
gbe_snapshot_sum_push(GbeSnapshotSum *sum, const guint8 *bytes, gsize size)
{
	gsize out = sum->held + size > GBE_SNAPSHOT_SUM ? sum->held + size - GBE_SNAPSHOT_SUM : 0;
	gsize from_held = MIN(out, sum->held);
	gsize from_bytes = out - from_held;

	sum->size += size;
	if (from_held > 0) {
		gbe_sha256_push(&sum->sha256, sum->last, from_held);
		sum->held -= from_held;
		memmove(sum->last, sum->last + from_held, sum->held);
	}
	if (from_bytes > 0)
		gbe_sha256_push(&sum->sha256, bytes, from_bytes);
	if (size > from_bytes)
		memcpy(sum->last + sum->held, bytes + from_bytes, size - from_bytes);
	sum->held += size - from_bytes;
}

bool
gbe_snapshot_sum_check(GbeSnapshotSum *sum, GError **error)
{
	guint8 digest[GBE_SNAPSHOT_SUM];

	if (sum->size <= GBE_SNAPSHOT_SUM || sum->size % GBE_SNAPSHOT_SECTOR != GBE_SNAPSHOT_SUM)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "its %" G_GUINT64_FORMAT " bytes are no database with a checksum "
				 "behind it: it is cut off, or is none",
				 sum->size);
	if (!gbe_sha256_end(&sum->sha256, digest, error))
		return false;
	if (memcmp(digest, sum->last, sizeof(digest)) != 0)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "the database is not what the checksum behind it says");
	return true;
}

char *
gbe_snapshot_sum_text(const GbeSnapshotSum *sum)
{
	return gbe_sha256_text(sum->last);
}
