/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/bucket/call.h"

#include <string.h>

static void
take_id(const char *name, guint depth, const char *text, gpointer data)
{
	char **id = data;

	if (depth == 1 && g_str_equal(name, "UploadId") && *id == NULL && *text != '\0')
		*id = g_strdup(text);
}

bool
gbe_bucket_upload_begin(GbeBucket *bucket, const char *path, char **ret_id, GError **error)
{
	g_autofree char *id = NULL;
	const GbeBucketCall call = {.method = "POST",
				    .path = path,
				    .query = "uploads=",
				    .body = "",
				    .root = "InitiateMultipartUploadResult",
				    .element = take_id,
				    .data = &id};

	if (!gbe_bucket_call(bucket, &call, NULL, error))
		return false;
	if (id == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "POST %s: the upload has no id",
				 path);
	*ret_id = g_steal_pointer(&id);
	return true;
}

bool
gbe_bucket_upload_part(GbeBucket *bucket, const char *path, const char *id, guint number, int fd,
		       guint64 offset, guint64 size, char **ret_etag, GError **error)
{
	g_autofree char *escaped = gbe_bucket_escape(id);
	g_autofree char *query = g_strdup_printf("partNumber=%u&uploadId=%s", number, escaped);
	const GbeBucketCall call = {.method = "PUT",
				    .path = path,
				    .query = query,
				    .from_file = true,
				    .fd = fd,
				    .offset = offset,
				    .size = size};
	g_auto(GbeBucketReply) reply = {0};

	if (!gbe_bucket_call(bucket, &call, &reply, error))
		return false;
	if (reply.etag == NULL)
		return gbe_throw(
		    error, GBE_ERROR_CANNOT_TELL,
		    "PUT %s: part %u of the upload has no ETag, or one that is too long", path,
		    number);
	*ret_etag = g_steal_pointer(&reply.etag);
	return true;
}

static void
ignore_element(const char *name G_GNUC_UNUSED, guint depth G_GNUC_UNUSED,
	       const char *text G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
}

bool
gbe_bucket_upload_end(GbeBucket *bucket, const char *path, const char *id, char *const *etags,
		      GError **error)
{
	g_autofree char *escaped = gbe_bucket_escape(id);
	g_autofree char *query = g_strconcat("uploadId=", escaped, NULL);
	g_autoptr(GString) body = g_string_new("<CompleteMultipartUpload>");
	GbeBucketCall call = {.method = "POST",
			      .path = path,
			      .query = query,
			      .root = "CompleteMultipartUploadResult",
			      .element = ignore_element};

	for (guint i = 0; etags[i] != NULL; i++) {
		g_autofree char *etag = g_markup_escape_text(etags[i], -1);

		g_string_append_printf(
		    body, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", i + 1, etag);
	}
	g_string_append(body, "</CompleteMultipartUpload>");
	call.body = body->str;
	return gbe_bucket_call(bucket, &call, NULL, error);
}

bool
gbe_bucket_upload_abort(GbeBucket *bucket, const char *path, const char *id, GError **error)
{
	g_autofree char *escaped = gbe_bucket_escape(id);
	g_autofree char *query = g_strconcat("uploadId=", escaped, NULL);
	const GbeBucketCall call = {.method = "DELETE", .path = path, .query = query};
	g_autoptr(GError) local = NULL;

	return gbe_bucket_call(bucket, &call, NULL, &local) ||
	       gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
}

typedef struct {
	GbeBucketUpload each;
	gpointer data;
	const char *below; /* the prefix, with the slash behind it */
	char *key, *id;
	gint64 begun;
	GError *error;
} Uploads;

static void
uploads_clear(Uploads *uploads)
{
	g_clear_pointer(&uploads->key, g_free);
	g_clear_pointer(&uploads->id, g_free);
	g_clear_error(&uploads->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Uploads, uploads_clear)

static gint64
parse_time(const char *text)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, NULL);

	return time != NULL ? g_date_time_to_unix(time) : 0;
}

static void
take_upload(const char *name, guint depth, const char *text, gpointer data)
{
	Uploads *uploads = data;

	if (depth == 2 && g_str_equal(name, "Key")) {
		g_free(uploads->key);
		uploads->key = g_uri_unescape_string(text, NULL);
	} else if (depth == 2 && g_str_equal(name, "UploadId")) {
		g_free(uploads->id);
		uploads->id = g_strdup(text);
	} else if (depth == 2 && g_str_equal(name, "Initiated")) {
		uploads->begun = parse_time(text);
	} else if (depth == 1 && g_str_equal(name, "Upload")) {
		if (uploads->error == NULL && uploads->key != NULL && uploads->id != NULL &&
		    g_str_has_prefix(uploads->key, uploads->below))
			(void)uploads->each(uploads->key + strlen(uploads->below), uploads->id,
					    uploads->begun, uploads->data, &uploads->error);
		g_clear_pointer(&uploads->key, g_free);
		g_clear_pointer(&uploads->id, g_free);
		uploads->begun = 0;
	}
}

/* The first thousand are enough: those that remain are met when these are gone. */
bool
gbe_bucket_uploads(GbeBucket *bucket, GbeBucketUpload each, gpointer data, GError **error)
{
	const char *prefix = gbe_bucket_prefix(bucket);
	g_autofree char *below = g_strconcat(prefix, *prefix != '\0' ? "/" : "", NULL);
	g_autofree char *escaped = gbe_bucket_escape(below);
	g_autofree char *query =
	    g_strconcat("encoding-type=url&prefix=", escaped, "&uploads=", NULL);
	g_auto(Uploads) uploads = {.each = each, .data = data, .below = below};
	const GbeBucketCall call = {.method = "GET",
				    .query = query,
				    .root = "ListMultipartUploadsResult",
				    .element = take_upload,
				    .data = &uploads};

	if (!gbe_bucket_call(bucket, &call, NULL, error))
		return false;
	return uploads.error == NULL || gbe_pass(error, &uploads.error);
}
