/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bucket of an object store that speaks S3, over TLS: the calls that every such server has. sign.c signs them
 * with the access key. Redirections are not followed. A call that meets a broken connection or a status of 500 or
 * more is tried three times. Paths are below the URL's prefix. Implemented in bucket.c, call.c, answer.c.
 *
 * Errors: GBE_ERROR_NOT_FOUND: the object is missing; _REFUSED: the server refuses the key or the call; _CANNOT_TELL:
 * the server cannot be reached, or its answer is malformed; _FAILED: interrupted. The text of a server is limited and
 * has no control characters. The key appears in no message.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* All parts of an upload but the last. S3 takes at least 5 MiB, and at most 10,000 parts. */
#define GBE_BUCKET_PART ((guint64)8 << 20)
#define GBE_BUCKET_PARTS_MAX 10000

typedef struct {
	const char *url;    /* https://HOST[:PORT]/BUCKET[/PREFIX] */
	const char *region; /* part of the signature */
	const char
	    *ca; /* a path as this process sees it; NULL: the system's trusted certificates */
	const char *proxy; /* NULL: none */
	const char *id;	   /* of the access key */
	const char *secret;
	const char *token; /* of a temporary key, or NULL */
	guint64 rate;	   /* bytes per second; 0: as fast as it goes */
	gint64 deadline; /* of all calls, monotonic microseconds; 0: each has only its own limit */
	/* Called for each piece of a body; false interrupts the call. May be NULL. */
	bool (*progress)(gsize size, gpointer data);
	gpointer progress_data;
} GbeBucketOptions;

typedef struct {
	guint64 requests, sent; /* sent: bytes of objects */
} GbeBucketCost;

typedef struct GbeBucket GbeBucket;

/* Sends nothing. Copies @options. */
bool gbe_bucket_open(const GbeBucketOptions *options, GbeBucket **ret_bucket,
		     GError **error) GBE_CHECKED;
void gbe_bucket_free(GbeBucket *bucket);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeBucket, gbe_bucket_free)
/* The cost of the calls so far. Borrowed. */
const GbeBucketCost *gbe_bucket_cost(const GbeBucket *bucket);
/* Calls @each for every object below @directory ("": all), sorted by path. */
typedef bool (*GbeBucketEach)(const char *path, guint64 size, gpointer data, GError **error);
bool gbe_bucket_list(GbeBucket *bucket, const char *directory, GbeBucketEach each, gpointer data,
		     GError **error) GBE_CHECKED;
bool gbe_bucket_head(GbeBucket *bucket, const char *path, guint64 *ret_size,
		     GError **error) GBE_CHECKED;
/* Streams an object of at most @max bytes (0: of any size), which also limits the time. After a broken connection the
 * stream resumes there, unless the object has changed. */
typedef bool (*GbeBucketTake)(const void *bytes, gsize size, gpointer data, GError **error);
bool gbe_bucket_get(GbeBucket *bucket, const char *path, gsize max, GbeBucketTake take,
		    gpointer data, GError **error) GBE_CHECKED;
/* Writes an object of at most GBE_BUCKET_PART bytes, which a power cut leaves as a whole or not at all. */
bool gbe_bucket_put(GbeBucket *bucket, const char *path, int fd, guint64 size,
		    GError **error) GBE_CHECKED;
/* A missing object is not an error. */
bool gbe_bucket_remove(GbeBucket *bucket, const char *path, GError **error) GBE_CHECKED;

/* An upload in parts. The object appears at gbe_bucket_upload_end(), as a whole. */
bool gbe_bucket_upload_begin(GbeBucket *bucket, const char *path, char **ret_id,
			     GError **error) GBE_CHECKED;
/* @number: from 1. *ret_etag names the part at the end. GBE_ERROR_NOT_FOUND: the server has forgotten the upload. */
bool gbe_bucket_upload_part(GbeBucket *bucket, const char *path, const char *id, guint number,
			    int fd, guint64 offset, guint64 size, char **ret_etag,
			    GError **error) GBE_CHECKED;
/* @etags: of all parts, in order. GBE_ERROR_NOT_FOUND: the server has forgotten the upload or a part of it. */
bool gbe_bucket_upload_end(GbeBucket *bucket, const char *path, const char *id, char *const *etags,
			   GError **error) GBE_CHECKED;
/* A missing upload is not an error. */
bool gbe_bucket_upload_abort(GbeBucket *bucket, const char *path, const char *id,
			     GError **error) GBE_CHECKED;
/* Calls @each for every upload below the prefix that has begun and not ended. @begun: seconds since the epoch, by the
 * server's clock. */
typedef bool (*GbeBucketUpload)(const char *path, const char *id, gint64 begun, gpointer data,
				GError **error);
bool gbe_bucket_uploads(GbeBucket *bucket, GbeBucketUpload each, gpointer data,
			GError **error) GBE_CHECKED;
/* The server's clock, as of its last answer; 0: it has not answered. Seconds since the epoch. */
gint64 gbe_bucket_time(const GbeBucket *bucket);
