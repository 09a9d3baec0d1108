/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/bucket/call.h"

#include <string.h>

/* Tries in a row in which not one byte of an object came. */
#define FRUITLESS_MAX 3
/* A list that goes on for longer than that goes round in circles. */
#define PAGES_MAX 1000
/* For a whole list, or a small object, with all calls that either takes. */
#define TOGETHER_SECONDS 900

typedef struct {
	GbeBucketEach each;
	gpointer data;
	const char *below; /* what was asked for */
	gsize cut;	   /* bytes of the prefix, with the slash behind it */
	char *key, *size, *token;
	bool truncated, encoded;
	GError *error; /* of ->each */
} Page;

static void
page_clear(Page *page)
{
	g_clear_pointer(&page->key, g_free);
	g_clear_pointer(&page->size, g_free);
	g_clear_pointer(&page->token, g_free);
	g_clear_error(&page->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Page, page_clear)

static void
keep(char **text, const char *value)
{
	g_free(*text);
	*text = g_strdup(value);
}

/* Keys that cannot be decoded, hold a NUL, or lie elsewhere than was asked for, are nobody's snapshot. */
static void
hand_on(Page *page)
{
	g_autofree char *path = page->key != NULL && page->encoded
				    ? g_uri_unescape_string(page->key, NULL)
				    : g_strdup(page->key);
	guint64 size = 0;

	if (page->error == NULL &&
	    (page->key == NULL || page->size == NULL ||
	     !g_ascii_string_to_unsigned(page->size, 10, 0, G_MAXINT64, &size, NULL)))
		gbe_throw(&page->error, GBE_ERROR_CANNOT_TELL,
			  GBE_ANSWER_FOREIGN ": an entry of the list has no key or no valid size");
	if (page->error == NULL && path != NULL && g_str_has_prefix(path, page->below) &&
	    strlen(path) > page->cut)
		(void)page->each(path + page->cut, size, page->data, &page->error);
	g_clear_pointer(&page->key, g_free);
	g_clear_pointer(&page->size, g_free);
}

static void
take_listed(const char *name, guint depth, const char *text, gpointer data)
{
	Page *page = data;

	if (depth == 2 && g_str_equal(name, "Key"))
		keep(&page->key, text);
	else if (depth == 2 && g_str_equal(name, "Size"))
		keep(&page->size, text);
	else if (depth == 1 && g_str_equal(name, "Contents"))
		hand_on(page);
	else if (depth == 1 && g_str_equal(name, "IsTruncated"))
		page->truncated = g_str_equal(text, "true");
	else if (depth == 1 && g_str_equal(name, "EncodingType"))
		page->encoded = g_str_equal(text, "url");
	else if (depth == 1 && g_str_equal(name, "NextContinuationToken"))
		keep(&page->token, text);
}

static char *
full_prefix(const GbeBucket *bucket, const char *directory)
{
	const char *prefix = gbe_bucket_prefix(bucket);
	g_autofree char *joined = g_strconcat(prefix, *prefix != '\0' ? "/" : "", directory,
					      *directory != '\0' ? "/" : "", NULL);

	return g_steal_pointer(&joined);
}

/* Servers put EncodingType before or behind the keys: as it was asked for, it is taken as given. */
bool
gbe_bucket_list(GbeBucket *bucket, const char *directory, GbeBucketEach each, gpointer data,
		GError **error)
{
	const char *prefix = gbe_bucket_prefix(bucket);
	g_autofree char *below = full_prefix(bucket, directory);
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
	gsize max;
	gint64 deadline;
} Getting;

static bool
take_piece(const void *bytes, gsize size, gpointer data, GError **error)
{
	Getting *getting = data;

	getting->done += size;
	return getting->take(bytes, size, getting->data, error);
}

/* The rest, after a broken connection, must be of the same object: its ETag came with the first answer. */
static bool
get_rest(GbeBucket *bucket, const char *path, const char *etag, Getting *getting, GError **error)
{
	g_autofree char *range = g_strdup_printf("bytes=%" G_GUINT64_FORMAT "-", getting->done);
	const GbeBucketCall call = {.method = "GET",
				    .path = path,
				    .range = range,
				    .match = etag,
				    .size = getting->max,
				    .deadline = getting->deadline,
				    .take = take_piece,
				    .data = getting};

	return gbe_bucket_call(bucket, &call, NULL, error);
}

bool
gbe_bucket_get(GbeBucket *bucket, const char *path, gsize max, GbeBucketTake take, gpointer data,
	       GError **error)
{
	gint64 deadline = max > 0 ? g_get_monotonic_time() + TOGETHER_SECONDS * G_USEC_PER_SEC : 0;
	Getting getting = {.take = take, .data = data, .max = max, .deadline = deadline};
	const GbeBucketCall call = {.method = "GET",
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

		g_clear_error(&local);
		ok = get_rest(bucket, path, reply.etag, &getting, &local);
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

bool
gbe_bucket_remove(GbeBucket *bucket, const char *path, GError **error)
{
	const GbeBucketCall call = {.method = "DELETE", .path = path};
	g_autoptr(GError) local = NULL;

	return gbe_bucket_call(bucket, &call, NULL, &local) ||
	       gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
}
