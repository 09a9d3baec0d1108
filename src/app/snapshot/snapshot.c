/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "app/device/context.h"
#include "app/device/endpoint.h"
#include "base/sha256.h"
#include "etcd/api/client.h"
#include "etcd/db/snapshot-file.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/reserve.h"

/* Limit without a byte from etcd. */
#define IDLE_SECONDS 30
#define GAUGE_SECONDS 2

typedef struct {
	const GbeSnapshotSave *options;
	GbePart *part;
	GbeSnapshotSum sum;
	guint64 total; /* the size that etcd announced, with the checksum; 0: not yet */
	GError *error; /* why the callback stopped the stream */
} Stream;

static bool
receive_bytes(const guint8 *bytes, gsize size, guint64 remaining, gpointer data)
{
	Stream *stream = data;
	const GbeSnapshotSave *options = stream->options;
	GbeRoom room;

	if (stream->total == 0) {
		if (remaining > G_MAXINT64 - size - GBE_SNAPSHOT_SUM)
			return gbe_throw(&stream->error, GBE_ERROR_FAILED,
					 "etcd says that its database has %" G_GUINT64_FORMAT
					 " bytes",
					 remaining);
		stream->total = size + remaining + GBE_SNAPSHOT_SUM;
		if (options->leave_room &&
		    (!gbe_room_begin(stream->part->fd, &room, &stream->error) ||
		     !gbe_room_check(&room, stream->total, options->path, &stream->error)))
			return false;
		if (!gbe_part_reserve(stream->part, stream->total, &stream->error))
			return false;
	}
	if (size > stream->total - stream->sum.size)
		return gbe_throw(&stream->error, GBE_ERROR_FAILED,
				 "etcd sends more than it said that there was");
	if (size == 0)
		return true;
	gbe_snapshot_sum_push(&stream->sum, bytes, size);
	if (!gbe_part_write(stream->part, bytes, size, &stream->error))
		return false;
	return options->progress == NULL ||
	       options->progress(stream->sum.size, stream->total, options->progress_data) ||
	       gbe_throw(&stream->error, GBE_ERROR_FAILED, "interrupted");
}

/* Receives the stream into @part and compares its checksum. */
static bool
receive(GbeApp *app, const GbeSnapshotSave *options, GbePart *part, GError **error)
{
	gint64 deadline = options->timeout > 0
			      ? g_get_monotonic_time() + (gint64)options->timeout * G_USEC_PER_SEC
			      : 0;
	gint64 soon = g_get_monotonic_time() + GAUGE_SECONDS * G_USEC_PER_SEC;
	g_auto(GbeAppEndpoint) at = {{0}};
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	Stream stream = {.options = options, .part = part};
	bool ok;

	gbe_app_endpoint(app, &at);
	if (gbe_gauge_defragments(&at.endpoint, deadline > 0 ? MIN(soon, deadline) : soon) ==
	    GBE_YES)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "etcd at %s is being defragmented, and a snapshot at the same "
				 "time would stop every write; try again when that is over",
				 at.endpoint.shown);
	gbe_snapshot_sum_init(&stream.sum);
	if (gbe_client_open(&at.endpoint, &client, &failure) &&
	    gbe_client_snapshot(client, deadline, IDLE_SECONDS, receive_bytes, &stream, &failure))
		ok = gbe_snapshot_sum_check(&stream.sum, error) ||
		     gbe_prefix(error, "what etcd at %s sent", at.endpoint.shown);
	else if (stream.error != NULL)
		ok = gbe_pass(error, &stream.error);
	else
		ok = gbe_throw(error, gbe_call_code(&failure, GBE_ERROR_FAILED),
			       "no snapshot from etcd at %s: %s", at.endpoint.shown, failure.why);
	gbe_snapshot_sum_clear(&stream.sum);
	g_clear_error(&stream.error);
	return ok;
}

bool
gbe_snapshot_save(GbeApp *app, const GbeSnapshotSave *options, GbeVerification **ret_verification,
		  GError **error)
{
	g_autoptr(GbeLock) maintenance = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	g_auto(GbePart) part = {.fd = -1};
	g_autoptr(GbeVerification) verification = NULL;

	if (!gbe_snapshot_open_parent(app, options->path, &dir_fd, &name, error) ||
	    !gbe_part_begin(dir_fd, name, options->replace, &part, error) ||
	    !gbe_maintenance_lock(app, "snapshot save", &maintenance, error))
		return false;
	if (!receive(app, options, &part, error) ||
	    !gbe_snapshot_prove(app, &part, &verification, error) ||
	    !gbe_part_publish(&part, error))
		return gbe_prefix(error, "%s", options->path);
	*ret_verification = g_steal_pointer(&verification);
	return true;
}

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
gbe_snapshot_open_parent(GbeApp *app, const char *path, int *ret_dir_fd, char **ret_name,
			 GError **error)
{
	g_autofree char *absolute =
	    app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);

	return gbe_open_parent_in_root(app->root_fd, absolute, ret_dir_fd, ret_name, error);
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
	       gbe_throw(
		   error, GBE_ERROR_REFUSED,
		   "%s: the database has no checksum after it: it was copied, or is cut off; %s",
		   verification->name, unsummed);
}

/* A longer file is not a digest and the end of its line. */
#define SIZE_MAX_READ 256

bool
gbe_sidecar_begin(int dir_fd, const char *name, GbePart *ret_part, GError **error)
{
	g_autofree char *sidecar = g_strconcat(name, GBE_SIDECAR_SUFFIX, NULL);

	return gbe_part_begin(dir_fd, sidecar, false, ret_part, error);
}

bool
gbe_sidecar_sign(GbeApp *app, GbePart *part, const char *sha256, GError **error)
{
	g_autofree char *digest = NULL;
	const GbeKeys *keys = NULL;

	if (!gbe_app_keys(app, &keys, error))
		return false;
	if (keys == NULL)
		return true;
	digest = gbe_keys_sign(keys, GBE_KEYED_FILE, sha256);
	return gbe_part_write(part, digest, strlen(digest), error) &&
	       gbe_part_write(part, "\n", 1, error);
}

bool
gbe_sidecar_publish(GbePart *part, GError **error)
{
	return part->written == 0 || gbe_part_publish(part, error);
}

bool
gbe_sidecar_prove_file(GbeApp *app, const char *path, const char *sha256, bool *ret_proved,
		       GError **error)
{
	g_autofree char *absolute =
	    app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	g_autofree char *sidecar = g_strconcat(absolute, GBE_SIDECAR_SUFFIX, NULL);
	g_autofree char *name = NULL, *digest = NULL;
	const GbeKeys *keys = NULL;
	gbe_autofd int dir_fd = -1;
	gsize size = 0;

	*ret_proved = false;
	if (!gbe_app_keys(app, &keys, error))
		return false;
	if (keys == NULL)
		return true;
	if (!gbe_open_parent_in_root(app->root_fd, sidecar, &dir_fd, &name, error))
		return false;
	if (gbe_read_file_at(dir_fd, name, SIZE_MAX_READ, &digest, &size, NULL))
		(void)g_strchomp(digest);
	*ret_proved = gbe_keys_prove(keys, GBE_KEYED_FILE, sha256, digest);
	return *ret_proved || digest == NULL ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "%s does not match the signature %s.hmac with a key of [store] key; pull "
			 "it again, or remove %s.hmac and restore the import with --force",
			 path, path, path);
}
