/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "etcd/db/snapshot-file.h"
#include "fs/open.h"

bool
gbe_snapshot_prove(GbeApp *app, const GbePart *part, GbeVerification **ret_verification,
		   GError **error)
{
	const GbeVerifyOptions options = {.level = GBE_VERIFY_FULL, .summed = true};
	g_autoptr(GbeVerification) verification = NULL;
	g_autofree char *what = NULL;

	if (!gbe_verify_snapshot(app, part->fd, part->name, &options, &verification, error))
		return false;
	if (gbe_findings_worst(&verification->findings) == GBE_FINDING_DAMAGE) {
		what = gbe_finding_to_text(gbe_findings_first(&verification->findings));
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "the database is damaged: %s",
				 what);
	}
	*ret_verification = g_steal_pointer(&verification);
	return true;
}

bool
gbe_snapshot_open(GbeApp *app, const char *path, int *ret_fd, GError **error)
{
	g_autofree char *absolute =
	    app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_open_in_root(app->root_fd, absolute, O_RDONLY | O_NONBLOCK, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_REFUSED, "%s is not a regular file", path);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

void
gbe_snapshot_file_clear(GbeSnapshotFile *file)
{
	g_clear_pointer(&file->path, g_free);
	g_clear_pointer(&file->sha256, g_free);
}

bool
gbe_snapshot_file(GbeApp *app, const char *path, GbeSnapshotFile *ret_file, GError **error)
{
	g_auto(GbeSha256) sum = {0};
	guint8 bytes[65536], digest[GBE_SHA256_SIZE];
	gsize got = sizeof(bytes);
	gbe_autofd int fd = -1;
	guint64 size = 0;

	if (!gbe_snapshot_open(app, path, &fd, error))
		return false;
	gbe_sha256_init(&sum);
	for (; got == sizeof(bytes); size += got) {
		if (!gbe_read_at(fd, bytes, sizeof(bytes), size, &got, path, error))
			return false;
		gbe_sha256_push(&sum, bytes, got);
	}
	if (!gbe_sha256_end(&sum, digest, error))
		return false;
	ret_file->path = app->below_root ? g_build_filename(app->root_path, path, NULL)
					 : g_canonicalize_filename(path, NULL);
	ret_file->size = size;
	ret_file->sha256 = gbe_sha256_text(digest);
	return true;
}

bool
gbe_snapshot_check(const GbeVerification *verification, const char *unsummed, GError **error)
{
	GbeSeverity worst = gbe_findings_worst(&verification->findings);
	g_autofree char *what = NULL;

	if (worst == GBE_FINDING_DAMAGE || worst == GBE_FINDING_UNKNOWN) {
		what = gbe_finding_to_text(gbe_findings_first(&verification->findings));
		return gbe_throw(error,
				 worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
							     : GBE_ERROR_CANNOT_TELL,
				 "%s", what);
	}
	return unsummed == NULL ||
	       verification->directory.db.size % GBE_SNAPSHOT_SECTOR == GBE_SNAPSHOT_SUM ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: no checksum is behind the database: it was copied, or is cut off; %s",
			 verification->name, unsummed);
}
