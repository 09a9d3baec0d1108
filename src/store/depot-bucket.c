/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/depot.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "app/device/endpoint.h"
#include "base/fault.h"
#include "core/snapshot/name.h"
#include "store/bucket/bucket.h"

/* In the format that other programs of object stores read: ~/.aws/credentials. */
#define KEY_GROUP "default"
/* A systemd credential of this name, where no file is configured. */
#define CREDENTIAL "store-access-key"
/* An upload without progress for that long is abandoned. */
#define ABANDONED_SECONDS (7 * 86400)

typedef struct {
	GbeDepot depot;
	GbeBucket *bucket;
} Bucket;

static GbeBucket *
bucket_of(const GbeDepot *depot)
{
	return ((const Bucket *)depot)->bucket;
}

static void
count_cost(GbeDepot *depot)
{
	const GbeBucketCost *cost = gbe_bucket_cost(bucket_of(depot));

	depot->requests = cost->requests;
	depot->sent = cost->sent;
}

static bool
pass_progress(gsize size, gpointer data)
{
	GbeDepot *depot = data;

	return depot->progress == NULL || depot->progress(size, depot->progress_data);
}

/* ---- list ---- */

typedef struct {
	GbeDepotEach each;
	gpointer data;
	bool entries; /* of the whole store: other names are passed on as such */
} Listing;

static bool
take_listed(const char *path, guint64 size, gpointer data, GError **error)
{
	const Listing *listing = data;
	const char *slash = strchr(path, '/');
	g_autofree char *entry =
	    slash != NULL ? g_strndup(path, (gsize)(slash - path)) : g_strdup(path);

	/* Skip an object of that name without a slash, and objects at a deeper level. */
	if (listing->entries && (slash == NULL || !gbe_snapshot_name_parse(entry, NULL)))
		return listing->each(entry, NULL, 0, listing->data, error);
	return slash == NULL || listing->each(entry, slash + 1, size, listing->data, error);
}

static bool
list_entries(GbeDepot *depot, GbeDepotEach each, gpointer data, GError **error)
{
	Listing listing = {each, data, true};

	return gbe_bucket_list(bucket_of(depot), "", take_listed, &listing, error);
}

static bool
list_files(GbeDepot *depot, const char *entry, GbeDepotEach each, gpointer data, GError **error)
{
	Listing listing = {each, data, false};

	return gbe_bucket_list(bucket_of(depot), entry, take_listed, &listing, error);
}

/* ---- read ---- */

static bool
size_of(GbeDepot *depot, const char *path, guint64 *ret_size, GError **error)
{
	return gbe_bucket_head(bucket_of(depot), path, ret_size, error);
}

typedef struct {
	GByteArray *bytes;
	gsize max;
	const char *path;
} Small;

static bool
take_small(const void *bytes, gsize size, gpointer data, GError **error)
{
	const Small *small = data;

	if (small->bytes->len + size > small->max)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is too long", small->path);
	g_byte_array_append(small->bytes, bytes, (guint)size);
	return true;
}

static bool
read_small(GbeDepot *depot, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
	   GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	Small small = {bytes, max, path};

	if (!gbe_bucket_get(bucket_of(depot), path, max, take_small, &small, error))
		return false;
	*ret_size = bytes->len;
	g_byte_array_append(bytes, (const guint8 *)"", 1);
	*ret_bytes = (char *)g_byte_array_free(g_steal_pointer(&bytes), false);
	return true;
}

/* A download in a thread of its own: the other end of the pipe reads it like a file. */
typedef struct {
	GbeBucket *bucket;
	const char *path;
	int fd;
	bool closed; /* the reader has enough */
	GError *error;
} Download;

static bool
write_piece(const void *bytes, gsize size, gpointer data, GError **error)
{
	Download *download = data;

	for (gsize at = 0; at < size;) {
		ssize_t n = write(download->fd, (const char *)bytes + at, size - at);

		download->closed = n < 0 && errno == EPIPE;
		if (n < 0 && errno != EINTR)
			return gbe_throw_errno(error, errno, "cannot hand %s on", download->path);
		at += (gsize)MAX(n, 0);
	}
	return true;
}

static gpointer
run_download(gpointer data)
{
	Download *download = data;

	(void)!gbe_bucket_get(download->bucket, download->path, 0, write_piece, download,
			      &download->error);
	gbe_close_fd(&download->fd);
	return NULL;
}

/* SIGPIPE is ignored meanwhile: a reader that has enough closes its end. */
static bool
use_file(GbeDepot *depot, const char *path, GbeDepotUse use_fd, gpointer data, GError **error)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	Download download = {.bucket = bucket_of(depot), .path = path, .fd = -1};
	g_autoptr(GError) local = NULL;
	gbe_autofd int read_fd = -1;
	GThread *thread;
	int fds[2];
	bool ok;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return gbe_throw_errno(error, errno, "make a pipe");
	read_fd = fds[0];
	download.fd = fds[1];
	(void)fcntl(read_fd, F_SETPIPE_SZ, 1 << 20);
	(void)sigaction(SIGPIPE, &ignore, &before);
	thread = g_thread_try_new("download", run_download, &download, &local);
	if (thread == NULL) {
		gbe_close_fd(&download.fd);
		(void)sigaction(SIGPIPE, &before, NULL);
		return gbe_throw(error, GBE_ERROR_FAILED, "cannot read %s: %s", path,
				 local->message);
	}
	ok = use_fd(read_fd, data, &local);
	gbe_close_fd(&read_fd);
	g_thread_join(thread);
	(void)sigaction(SIGPIPE, &before, NULL);
	if (download.error != NULL && !download.closed) {
		g_propagate_error(error, download.error);
		return false;
	}
	g_clear_error(&download.error);
	if (!ok)
		g_propagate_error(error, g_steal_pointer(&local));
	return ok;
}

/* ---- write ---- */

typedef struct {
	GbeDepot *depot;
	const char *path;
	int fd;
	guint64 size;
	const GbeDepotResume *resume;
	GbeTransfer *done; /* borrowed */
} Upload;

static bool
save_upload(const Upload *upload, GError **error)
{
	const GbeDepotResume *resume = upload->resume;

	return resume == NULL || resume->save == NULL || resume->save(resume->data, error);
}

static bool
begin_upload(Upload *upload, bool again, GError **error)
{
	GbeTransfer *done = upload->done;
	char *id = NULL;

	if (done->upload == NULL || again || done->part_size != (gint64)GBE_BUCKET_PART) {
		if (!gbe_bucket_upload_begin(bucket_of(upload->depot), upload->path, &id, error))
			return false;
		g_free(done->upload);
		done->upload = id;
		done->part_size = (gint64)GBE_BUCKET_PART;
		g_clear_pointer(&done->parts, g_ptr_array_unref);
	}
	if (done->parts == NULL)
		done->parts = g_ptr_array_new_with_free_func(g_free);
	return id == NULL || save_upload(upload, error);
}

static bool
send_parts(Upload *upload, GError **error)
{
	GPtrArray *parts = upload->done->parts;
	const char *id = upload->done->upload;
	bool ok;

	for (guint64 at = parts->len * GBE_BUCKET_PART; at < upload->size; at += GBE_BUCKET_PART) {
		char *etag = NULL;

		if (!gbe_bucket_upload_part(bucket_of(upload->depot), upload->path, id,
					    parts->len + 1, upload->fd, at,
					    MIN(GBE_BUCKET_PART, upload->size - at), &etag, error))
			return false;
		g_ptr_array_add(parts, etag);
		if (GBE_FAULT("store-part-sent", error) || !save_upload(upload, error))
			return false;
	}
	g_ptr_array_add(parts, NULL);
	ok = gbe_bucket_upload_end(bucket_of(upload->depot), upload->path, id,
				   (char *const *)parts->pdata, error);
	g_ptr_array_set_size(parts, (gint)parts->len - 1);
	return ok;
}

/* A server that has forgotten the upload, or a part of it, gets the whole once more, and only once. */
static bool
put_in_parts(Upload *upload, GError **error)
{
	const GbeTransfer *done = upload->done;
	guint64 count = (upload->size + GBE_BUCKET_PART - 1) / GBE_BUCKET_PART, there = 0;
	g_autoptr(GError) local = NULL;
	bool resumed = done->upload != NULL;

	if (upload->size > GBE_BUCKET_PART * GBE_BUCKET_PARTS_MAX)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is larger than %d parts of %d MiB, which a bucket takes at "
				 "most",
				 upload->path, GBE_BUCKET_PARTS_MAX, (int)(GBE_BUCKET_PART >> 20));
	if (begin_upload(upload, false, &local) && send_parts(upload, &local))
		return true;
	if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return gbe_pass(error, &local);
	/* The upload was completed, but the answer was lost, for instance in a power cut. */
	if (done->parts != NULL && done->parts->len == count &&
	    gbe_bucket_head(bucket_of(upload->depot), upload->path, &there, NULL) &&
	    there == upload->size)
		return true;
	if (!resumed)
		return gbe_pass(error, &local);
	return begin_upload(upload, true, error) && send_parts(upload, error);
}

static bool
put_file(GbeDepot *depot, const char *path, int fd, guint64 size, const GbeDepotResume *resume,
	 GError **error)
{
	g_auto(GbeTransfer) none = {0};
	Upload upload = {depot, path, fd, size, resume, resume != NULL ? resume->done : &none};

	return size <= GBE_BUCKET_PART ? gbe_bucket_put(bucket_of(depot), path, fd, size, error)
				       : put_in_parts(&upload, error);
}

static bool
remove_file(GbeDepot *depot, const char *path, GError **error)
{
	return gbe_bucket_remove(bucket_of(depot), path, error);
}

static bool
remove_entry(GbeDepot *depot, const char *entry, GError **error)
{
	static const char *const files[] = {GBE_SNAPSHOT_META, GBE_SNAPSHOT_SEAL,
					    GBE_SNAPSHOT_DEVICE, GBE_SNAPSHOT_DATA,
					    GBE_SNAPSHOT_AGE};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(entry, files[i], NULL);

		if (!remove_file(depot, path, error))
			return false;
	}
	return true;
}

typedef struct {
	GbeBucket *bucket;
	GPtrArray *paths, *ids;
} Abandoned;

static bool
find_abandoned(const char *path, const char *id, gint64 begun, gpointer data,
	       GError **error G_GNUC_UNUSED)
{
	const Abandoned *abandoned = data;
	const char *slash = strchr(path, '/');
	g_autofree char *entry =
	    slash != NULL ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");

	/* By the server's clock, on both sides. */
	if (begun > 0 && gbe_snapshot_name_parse(entry, NULL) &&
	    gbe_bucket_time(abandoned->bucket) - begun > ABANDONED_SECONDS) {
		g_ptr_array_add(abandoned->paths, g_strdup(path));
		g_ptr_array_add(abandoned->ids, g_strdup(id));
	}
	return true;
}

static bool
tidy(GbeDepot *depot, GError **error)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func(g_free);
	Abandoned abandoned = {bucket_of(depot), paths, ids};
	bool ok = gbe_bucket_uploads(abandoned.bucket, find_abandoned, &abandoned, error);

	for (guint i = 0; ok && i < paths->len; i++)
		ok = gbe_bucket_upload_abort(abandoned.bucket, paths->pdata[i], ids->pdata[i],
					     error);
	return ok;
}

static void
free_bucket(GbeDepot *depot)
{
	Bucket *bucket = (Bucket *)depot;

	gbe_bucket_free(bucket->bucket);
	g_free(bucket);
}

static const GbeDepotKind kind = {
    .list = list_entries,
    .size = size_of,
    .read = read_small,
    .use = use_file,
    .put = put_file,
    .unpublish = remove_file,
    .remove = remove_file,
    .files = list_files,
    .remove_entry = remove_entry,
    .tidy = tidy,
    .count = count_cost,
    .free = free_bucket,
};

/* ---- the access key ---- */

static bool
open_bucket(GbeApp *app, GbeBucketOptions *options, GbeBucket **ret_bucket, GError **error)
{
	const char *path = app->config->store.access_key_file;
	g_autoptr(GKeyFile) keys = g_key_file_new();
	g_autofree char *id = NULL, *secret = NULL, *token = NULL;
	char bytes[GBE_KEY_FILE_MAX];
	gsize size = 0;
	bool ok;

	if (!gbe_key_file_read(app, path, CREDENTIAL, bytes, &size, error)) {
		if (path != NULL)
			return gbe_prefix(error, "[store] access-key-file %s", path);
		g_clear_error(error);
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "[store] url needs [store] access-key-file, or the systemd "
				 "credential " CREDENTIAL);
	}
	ok = size > 0 && g_key_file_load_from_data(keys, bytes, size, G_KEY_FILE_NONE, NULL);
	explicit_bzero(bytes, sizeof(bytes));
	if (!ok)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "[store] access-key-file, or the systemd credential that replaces "
				 "it, is not in the format of ~/.aws/credentials");
	options->id = id = g_key_file_get_string(keys, KEY_GROUP, "aws_access_key_id", NULL);
	options->secret = secret =
	    g_key_file_get_string(keys, KEY_GROUP, "aws_secret_access_key", NULL);
	options->token = token = g_key_file_get_string(keys, KEY_GROUP, "aws_session_token", NULL);
	ok = id != NULL && secret != NULL
		 ? gbe_bucket_open(options, ret_bucket, error)
		 : gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
			     "[store] access-key-file: a line [" KEY_GROUP
			     "], and below it aws_access_key_id= and aws_secret_access_key= are "
			     "needed");
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	if (token != NULL)
		explicit_bzero(token, strlen(token));
	return ok;
}

bool
gbe_depot_open_bucket(GbeApp *app, const char *url, GbeDepot **ret_depot, GError **error)
{
	g_autofree char *ca =
	    app->config->store.ca != NULL ? gbe_app_real_path(app, app->config->store.ca) : NULL;
	g_autofree Bucket *bucket = g_new0(Bucket, 1);
	GbeBucketOptions options = {.url = url,
				    .region = app->config->store.region,
				    .ca = ca,
				    .proxy = app->config->store.proxy,
				    .rate = app->config->store.rate_limit,
				    .deadline = app->store_deadline,
				    .progress = pass_progress,
				    .progress_data = &bucket->depot};

	if (!open_bucket(app, &options, &bucket->bucket, error))
		return gbe_prefix(error, "%s", url);
	bucket->depot = (GbeDepot){.kind = &kind,
				   .app = app,
				   .shown = g_strdup(url),
				   .identifier = g_strdup(url)};
	*ret_depot = &g_steal_pointer(&bucket)->depot;
	return true;
}
