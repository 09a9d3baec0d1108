/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/snapshot-file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "etcd/window.h"

#define WINDOW ((gsize)1024 * 1024)

static bool
sum_up(GbeWindow *window, guint64 size, const GbeDbOptions *options, guint8 ret_sum[32],
       GError **error)
{
	g_auto(GbeSha256) sha256 = {0};

	gbe_sha256_init(&sha256);
	for (guint64 at = 0; at < size;) {
		const guint8 *bytes = NULL;
		gsize got = 0;

		if (!gbe_window_at(window, at, (gsize)MIN(WINDOW, size - at), &bytes, &got, error))
			return false;
		if (got == 0)
			return gbe_throw(error, GBE_ERROR_FAILED, "%s became shorter meanwhile",
					 window->what);
		gbe_sha256_push(&sha256, bytes, got);
		at += got;
		if (options->progress != NULL && !options->progress(got, options->progress_data))
			return gbe_throw(error, GBE_ERROR_FAILED, "%s: cancelled", window->what);
	}
	return gbe_sha256_end(&sha256, ret_sum, error);
}

static bool
compare_sum(int fd, const char *what, guint64 size, const GbeDbOptions *options,
	    GbeFindings *findings, GError **error)
{
	guint8 sum[GBE_SNAPSHOT_SUM];
	const guint8 *recorded = NULL;
	GbeWindow window;
	gsize got = 0;
	bool done;

	gbe_window_init(&window, fd, what, WINDOW, NULL);
	done = sum_up(&window, size, options, sum, error) &&
	       gbe_window_at(&window, size, sizeof(sum), &recorded, &got, error);
	if (done && (got != sizeof(sum) || memcmp(sum, recorded, sizeof(sum)) != 0))
		gbe_findings_add(findings, GBE_FINDING_DAMAGE, "snapshot-checksum", what,
				 GBE_PLACE_OFFSET, size, GBE_YES, GBE_UNKNOWN,
				 "the database is not what the checksum behind it says");
	gbe_window_clear(&window);
	return done;
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
				 "no checksum is behind the database: it was copied, not saved by "
				 "etcdctl, or is cut off");
	if (summed && options->level == GBE_VERIFY_FULL &&
	    !compare_sum(fd, what, (guint64)st.st_size - GBE_SNAPSHOT_SUM, options, findings,
			 error))
		return false;
	return gbe_db_read(fd, what, options, ret_db, findings, error);
}
