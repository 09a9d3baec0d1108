/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/snapshot-file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/db/bbolt.h"
#include "etcd/window.h"

#define WINDOW ((gsize)1024 * 1024)

/* The SHA-256 of the first @size bytes against the one that follows them. */
static bool
compare_sum(int fd, const char *what, guint64 size, const GbeDbOptions *options,
	    GbeFindings *findings, GError **error)
{
	g_auto(GbeSha256) sha256 = {0};
	g_auto(GbeWindow) window = gbe_window_begin(fd, what, WINDOW, NULL);
	guint8 sum[GBE_SNAPSHOT_SUM];
	const guint8 *bytes = NULL;
	gsize got = 0;

	gbe_sha256_init(&sha256);
	for (guint64 at = 0; at < size; at += got) {
		if (!gbe_window_at(&window, at, (gsize)MIN(WINDOW, size - at), &bytes, &got, error))
			return false;
		if (got == 0)
			return gbe_throw(error, GBE_ERROR_FAILED, "%s became shorter meanwhile",
					 what);
		gbe_sha256_push(&sha256, bytes, got);
		if (options->progress != NULL && !options->progress(got, options->progress_data))
			return gbe_throw(error, GBE_ERROR_FAILED, "%s: cancelled", what);
	}
	if (!gbe_sha256_end(&sha256, sum, error) ||
	    !gbe_window_at(&window, size, sizeof(sum), &bytes, &got, error))
		return false;
	if (got != sizeof(sum) || memcmp(sum, bytes, sizeof(sum)) != 0)
		gbe_findings_add(findings, GBE_FINDING_DAMAGE, "snapshot-checksum", what,
				 GBE_PLACE_OFFSET, size, GBE_YES, GBE_UNKNOWN,
				 "the database does not match the checksum after it");
	return true;
}

bool
gbe_snapshot_file_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
		       GbeFindings *findings, GError **error)
{
	struct stat st;
	bool summed;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	if (!S_ISREG(st.st_mode)) {
		gbe_findings_add(findings, GBE_FINDING_DAMAGE, "member-not-a-file", what,
				 GBE_PLACE_FILE, 0, GBE_YES, GBE_NO, "it is not a regular file");
		return true;
	}
	summed = st.st_size % GBE_SNAPSHOT_SECTOR == GBE_SNAPSHOT_SUM;
	if (!summed)
		gbe_findings_add(findings, GBE_FINDING_WARNING, "snapshot-no-checksum", what,
				 GBE_PLACE_FILE, 0, GBE_YES, GBE_NO,
				 "the database has no checksum after it: it was copied, not saved "
				 "by etcdctl, or is cut off");
	if (summed && options->level == GBE_VERIFY_FULL &&
	    !compare_sum(fd, what, (guint64)st.st_size - GBE_SNAPSHOT_SUM, options, findings,
			 error))
		return false;
	return gbe_db_read(fd, what, options, ret_db, findings, error);
}

/* ---- the checksum, in pieces ---- */

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
				 "its %" G_GUINT64_FORMAT
				 " bytes are not a database with a checksum after it: it is cut "
				 "off, or is another file",
				 sum->size);
	if (!gbe_sha256_end(&sum->sha256, digest, error))
		return false;
	if (memcmp(digest, sum->last, sizeof(digest)) != 0)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "the database does not match the checksum after it");
	return true;
}

char *
gbe_snapshot_sum_text(const GbeSnapshotSum *sum)
{
	return gbe_sha256_text(sum->last);
}

/* ---- writing ---- */

static bool
put_piece(GbeSha256 *sha256, const void *bytes, gsize size, GbeSnapshotPut put, gpointer data,
	  GError **error)
{
	gbe_sha256_push(sha256, bytes, size);
	return put(bytes, size, data, error);
}

bool
gbe_snapshot_write(int fd, const char *what, GbeSnapshotPut put, gpointer data, GError **error)
{
	g_auto(GbeSha256) sha256 = {0};
	g_auto(GbeWindow) window = gbe_window_begin(fd, what, WINDOW, NULL);
	g_autofree guint8 *page = NULL;
	guint8 sum[GBE_SNAPSHOT_SUM];
	GbeBboltMeta meta;
	GbeBboltMeta older;
	guint64 end;
	gsize got = 0;

	gbe_sha256_init(&sha256);
	if (!gbe_bbolt_read_newest(fd, what, &meta, error))
		return false;
	older = meta;
	older.transaction = meta.transaction > 0 ? meta.transaction - 1 : 0;
	page = g_malloc0(meta.page_size);
	gbe_bbolt_meta_write(&meta, 0, page);
	if (!put_piece(&sha256, page, meta.page_size, put, data, error))
		return false;
	gbe_bbolt_meta_write(&older, 1, page);
	if (!put_piece(&sha256, page, meta.page_size, put, data, error))
		return false;
	end = meta.high_water * meta.page_size;
	for (guint64 at = (guint64)meta.page_size * 2; at < end; at += got) {
		const guint8 *bytes = NULL;

		if (!gbe_window_at(&window, at, (gsize)MIN(WINDOW, end - at), &bytes, &got, error))
			return false;
		if (got == 0)
			return gbe_throw(error, GBE_ERROR_CORRUPT,
					 "%s ends at byte %" G_GUINT64_FORMAT
					 ", before its last page",
					 what, at);
		if (!put_piece(&sha256, bytes, got, put, data, error))
			return false;
	}
	return gbe_sha256_end(&sha256, sum, error) && put(sum, sizeof(sum), data, error);
}
