/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/snapshot.h"

#include "app/device/endpoint.h"
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
take_first(Stream *stream, gsize size, guint64 remaining)
{
	GbeRoom room;

	if (remaining > G_MAXINT64 - size - GBE_SNAPSHOT_SUM)
		return gbe_throw(&stream->error, GBE_ERROR_FAILED,
				 "etcd says that its database has %" G_GUINT64_FORMAT " bytes",
				 remaining);
	stream->total = size + remaining + GBE_SNAPSHOT_SUM;
	if (stream->options->leave_room &&
	    (!gbe_room_begin(stream->part->fd, &room, &stream->error) ||
	     !gbe_room_check(&room, stream->total, stream->options->path, &stream->error)))
		return false;
	return gbe_part_reserve(stream->part, stream->total, &stream->error);
}

static bool
take(const guint8 *bytes, gsize size, guint64 remaining, gpointer data)
{
	const GbeSnapshotSave *options = ((Stream *)data)->options;
	Stream *stream = data;

	if (stream->total == 0 && !take_first(stream, size, remaining))
		return false;
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

static bool
receive(const GbeEndpoint *endpoint, gint64 deadline, Stream *stream, GError **error)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;

	if (gbe_client_open(endpoint, &client, &failure) &&
	    gbe_client_snapshot(client, deadline, IDLE_SECONDS, take, stream, &failure))
		return gbe_snapshot_sum_check(&stream->sum, error) ||
		       gbe_prefix(error, "what etcd at %s sent", endpoint->shown);
	if (stream->error != NULL)
		return gbe_pass(error, &stream->error);
	return gbe_throw(error, gbe_call_code(&failure, GBE_ERROR_FAILED),
			 "no snapshot from etcd at %s: %s", endpoint->shown, failure.why);
}

static bool
check_defragmentation(const GbeEndpoint *endpoint, gint64 deadline, GError **error)
{
	gint64 soon = g_get_monotonic_time() + GAUGE_SECONDS * G_USEC_PER_SEC;

	if (gbe_gauge_defragments(endpoint, deadline > 0 ? MIN(soon, deadline) : soon) != GBE_YES)
		return true;
	return gbe_throw(error, GBE_ERROR_BUSY,
			 "etcd at %s is being defragmented, and a snapshot at the same time would "
			 "stop every write; try again when that is over",
			 endpoint->shown);
}

static bool
save(GbeApp *app, const GbeSnapshotSave *options, GbePart *part, GbeVerification **ret_verification,
     GError **error)
{
	gint64 deadline = options->timeout > 0
			      ? g_get_monotonic_time() + (gint64)options->timeout * G_USEC_PER_SEC
			      : 0;
	g_auto(GbeAppEndpoint) at = {{0}};
	Stream stream = {.options = options, .part = part};
	bool received;

	gbe_app_endpoint(app, &at);
	if (!check_defragmentation(&at.endpoint, deadline, error))
		return false;
	gbe_snapshot_sum_init(&stream.sum);
	received = receive(&at.endpoint, deadline, &stream, error);
	gbe_snapshot_sum_clear(&stream.sum);
	g_clear_error(&stream.error);
	return received && gbe_snapshot_prove(app, part, ret_verification, error) &&
	       gbe_part_publish(part, error);
}

bool
gbe_snapshot_save(GbeApp *app, const GbeSnapshotSave *options, GbeVerification **ret_verification,
		  GError **error)
{
	g_autofree char *absolute = app->below_root ? g_strdup(options->path)
						    : g_canonicalize_filename(options->path, NULL);
	g_autoptr(GbeVerification) verification = NULL;
	g_autoptr(GbeLock) maintenance = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	g_auto(GbePart) part = {.fd = -1};

	if (!gbe_open_parent_in_root(app->root_fd, absolute, &dir_fd, &name, error) ||
	    !gbe_part_begin(dir_fd, name, options->replace, &part, error) ||
	    !gbe_maintenance_lock(app, "snapshot save", &maintenance, error))
		return false;
	if (!save(app, options, &part, &verification, error))
		return gbe_prefix(error, "%s", options->path);
	*ret_verification = g_steal_pointer(&verification);
	return true;
}
