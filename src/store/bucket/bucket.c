/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/bucket/call.h"

#include <string.h>

/* Tries in a row in which not one byte of an object came. */
#define FRUITLESS_MAX 3
/* A list that is longer than that is taken for an endless loop of pages. */
#define PAGES_MAX 1000
/* For a whole list, or a small object, with all calls that either takes. */
#define TOGETHER_SECONDS 900

/* A list of objects, or of uploads. */
typedef struct {
	GbeBucketEach each;
	GbeBucketUpload each_upload;
	gpointer data;
	const char *below;	   /* the prefix of the request */
	gsize cut;		   /* bytes of the prefix, including its slash */
	char *key, *value, *token; /* value: the size, or the id of an upload */
	gint64 begun;		   /* of an upload */
	bool truncated, encoded;
	GError *error; /* of ->each, ->each_upload */
} Page;

static void
page_clear(Page *page)
{
	g_clear_pointer(&page->key, g_free);
	g_clear_pointer(&page->value, g_free);
	g_clear_pointer(&page->token, g_free);
	g_clear_error(&page->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Page, page_clear)

static void
keep_text(char **text, const char *value)
{
	g_free(*text);
	*text = g_strdup(value);
}

/* Skip keys that cannot be decoded, hold a NUL, or lie outside of the requested prefix. */
static void
hand_on_object(Page *page)
{
	g_autofree char *path = page->key != NULL && page->encoded
				    ? g_uri_unescape_string(page->key, NULL)
				    : g_strdup(page->key);
	guint64 size = 0;

	if (page->error == NULL &&
	    (page->key == NULL || page->value == NULL ||
	     !g_ascii_string_to_unsigned(page->value, 10, 0, G_MAXINT64, &size, NULL)))
		gbe_throw(&page->error, GBE_ERROR_CANNOT_TELL,
			  GBE_ANSWER_FOREIGN ": an entry of the list has no key or no valid size");
	if (page->error == NULL && path != NULL && g_str_has_prefix(path, page->below) &&
	    strlen(path) > page->cut)
		(void)page->each(path + page->cut, size, page->data, &page->error);
	g_clear_pointer(&page->key, g_free);
	g_clear_pointer(&page->value, g_free);
}

static void
take_listed(const char *name, guint depth, const char *text, gpointer data)
{
	Page *page = data;

	if (depth == 2 && g_str_equal(name, "Key"))
		keep_text(&page->key, text);
	else if (depth == 2 && g_str_equal(name, "Size"))
		keep_text(&page->value, text);
	else if (depth == 1 && g_str_equal(name, "Contents"))
		hand_on_object(page);
	else if (depth == 1 && g_str_equal(name, "IsTruncated"))
		page->truncated = g_str_equal(text, "true");
	else if (depth == 1 && g_str_equal(name, "EncodingType"))
		page->encoded = g_str_equal(text, "url");
	else if (depth == 1 && g_str_equal(name, "NextContinuationToken"))
		keep_text(&page->token, text);
}

/* Servers put EncodingType before or after the keys. The request asked for it, so assume it. */
bool
gbe_bucket_list(GbeBucket *bucket, const char *directory, GbeBucketEach each, gpointer data,
		GError **error)
{
	const char *prefix = gbe_bucket_prefix(bucket);
	g_autofree char *below = g_strconcat(prefix, *prefix != '\0' ? "/" : "", directory,
					     *directory != '\0' ? "/" : "", NULL);
	g_autofree char *escaped = gbe_bucket_escape(below);
	g_auto(Page) page = {.each = each,
			     .data = data,
			     .below = below,
			     .cut = *prefix != '\0' ? strlen(prefix) + 1 : 0,
			     .encoded = true};
	gint64 deadline = g_get_monotonic_time() + TOGETHER_SECONDS * G_USEC_PER_SEC;

	for (guint pages = 0; pages < PAGES_MAX; pages++) {
		g_autofree char *last = g_steal_pointer(&page.token);
		g_autofree char *token = last != NULL ? gbe_bucket_escape(last) : NULL;
		g_autofree char *query = g_strconcat(
		    token != NULL ? "continuation-token=" : "", token != NULL ? token : "",
		    token != NULL ? "&" : "",
		    "encoding-type=url&list-type=2&max-keys=1000&prefix=", escaped, NULL);
		const GbeBucketCall call = {.method = "GET",
					    .query = query,
					    .root = "ListBucketResult",
					    .deadline = deadline,
					    .element = take_listed,
					    .data = &page};

		page.truncated = false;
		if (!gbe_bucket_call(bucket, &call, NULL, error))
			return false;
		if (page.error != NULL)
			return gbe_pass(error, &page.error);
		if (!page.truncated)
			return true;
		if (page.token == NULL || g_strcmp0(page.token, last) == 0)
			break;
	}
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "the server's list does not end");
}

bool
gbe_bucket_head(GbeBucket *bucket, const char *path, guint64 *ret_size, GError **error)
{
	const GbeBucketCall call = {.method = "HEAD", .path = path};
	g_auto(GbeBucketReply) reply = {0};

	if (!gbe_bucket_call(bucket, &call, &reply, error))
		return false;
	if (reply.length == G_MAXUINT64)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "HEAD %s: " GBE_ANSWER_FOREIGN ": it has no valid Content-Length",
				 path);
	*ret_size = reply.length;
	return true;
}

typedef struct {
	GbeBucketTake take;
	gpointer data;
	guint64 done;
} Getting;

static bool
take_piece(const void *bytes, gsize size, gpointer data, GError **error)
{
	Getting *getting = data;

	getting->done += size;
	return getting->take(bytes, size, getting->data, error);
}

bool
gbe_bucket_get(GbeBucket *bucket, const char *path, gsize max, GbeBucketTake take, gpointer data,
	       GError **error)
{
	gint64 deadline = max > 0 ? g_get_monotonic_time() + TOGETHER_SECONDS * G_USEC_PER_SEC : 0;
	Getting getting = {.take = take, .data = data};
	GbeBucketCall call = {.method = "GET",
			      .path = path,
			      .size = max,
			      .deadline = deadline,
			      .take = take_piece,
			      .data = &getting};
	g_auto(GbeBucketReply) reply = {0};
	g_autoptr(GError) local = NULL;
	bool ok = gbe_bucket_call(bucket, &call, &reply, &local);

	for (guint fruitless = 0; !ok && getting.done > 0 && reply.etag != NULL &&
				  fruitless < FRUITLESS_MAX &&
				  g_error_matches(local, GBE_ERROR, GBE_ERROR_CANNOT_TELL);) {
		guint64 before = getting.done;
		g_autofree char *range = g_strdup_printf("bytes=%" G_GUINT64_FORMAT "-", before);

		/* The rest must be of the same object: its ETag came with the first answer. */
		call.range = range;
		call.match = reply.etag;
		g_clear_error(&local);
		ok = gbe_bucket_call(bucket, &call, NULL, &local);
		fruitless = getting.done > before ? 0 : fruitless + 1;
	}
	return ok || gbe_pass(error, &local);
}

bool
gbe_bucket_put(GbeBucket *bucket, const char *path, int fd, guint64 size, GError **error)
{
	const GbeBucketCall call = {.method = "PUT",
				    .path = path,
				    .from_file = true,
				    .fd = fd,
				    .size = size};

	return gbe_bucket_call(bucket, &call, NULL, error);
}

/* A missing object or upload is not an error. */
static bool
remove_object(GbeBucket *bucket, const char *path, const char *query, GError **error)
{
	const GbeBucketCall call = {.method = "DELETE", .path = path, .query = query};
	g_autoptr(GError) local = NULL;

	return gbe_bucket_call(bucket, &call, NULL, &local) ||
	       gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
}

bool
gbe_bucket_remove(GbeBucket *bucket, const char *path, GError **error)
{
	return remove_object(bucket, path, NULL, error);
}

/* ---- an upload in parts ---- */

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

	return remove_object(bucket, path, query, error);
}

static void
take_upload(const char *name, guint depth, const char *text, gpointer data)
{
	Page *page = data;

	if (depth == 2 && g_str_equal(name, "Key")) {
		g_free(page->key);
		page->key = g_uri_unescape_string(text, NULL);
	} else if (depth == 2 && g_str_equal(name, "UploadId")) {
		keep_text(&page->value, text);
	} else if (depth == 2 && g_str_equal(name, "Initiated")) {
		g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, NULL);

		page->begun = time != NULL ? g_date_time_to_unix(time) : 0;
	} else if (depth == 1 && g_str_equal(name, "Upload")) {
		if (page->error == NULL && page->key != NULL && page->value != NULL &&
		    g_str_has_prefix(page->key, page->below))
			(void)page->each_upload(page->key + strlen(page->below), page->value,
						page->begun, page->data, &page->error);
		g_clear_pointer(&page->key, g_free);
		g_clear_pointer(&page->value, g_free);
		page->begun = 0;
	}
}

/* The first thousand are enough: later calls find the others. */
bool
gbe_bucket_uploads(GbeBucket *bucket, GbeBucketUpload each, gpointer data, GError **error)
{
	const char *prefix = gbe_bucket_prefix(bucket);
	g_autofree char *below = g_strconcat(prefix, *prefix != '\0' ? "/" : "", NULL);
	g_autofree char *escaped = gbe_bucket_escape(below);
	g_autofree char *query =
	    g_strconcat("encoding-type=url&prefix=", escaped, "&uploads=", NULL);
	g_auto(Page) page = {.each_upload = each, .data = data, .below = below};
	const GbeBucketCall call = {.method = "GET",
				    .query = query,
				    .root = "ListMultipartUploadsResult",
				    .element = take_upload,
				    .data = &page};

	if (!gbe_bucket_call(bucket, &call, NULL, error))
		return false;
	return page.error == NULL || gbe_pass(error, &page.error);
}
