/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/bucket/call.h"
#include "store/bucket/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "fs/open.h"

#define TRIES 3
#define IDLE_SECONDS 60
/* For one try of a call without a body, and what each MiB of a body may take beyond that. An object of any size that is
 * read has a day. */
#define CALL_SECONDS 120
#define SECONDS_PER_MIB 512
#define GET_SECONDS 86400
/* So near to the end, a time-out is that of the whole operation. */
#define OVER_USEC (50 * 1000)
/* S3 refuses a signature that is 15 minutes old. */
#define SKEW_SECONDS 300
#define SAID_MAX 200
/* A server's ETag is a digest. */
#define ETAG_MAX 128

struct GbeBucket {
	char *base;   /* https://HOST[:PORT] */
	char *bucket; /* its name */
	char *prefix;
	char *ca, *proxy, *region, *id, *secret, *token;
	guint64 rate;
	GbeEndpoint endpoint;
	GbeConnection *connection;
	GbeBucketCost cost;
	bool (*progress)(gsize size, gpointer data);
	gpointer progress_data;
	gint64 time;	 /* of the last answer, by the server's clock */
	gint64 deadline; /* of all calls; 0: none */
};

/* Seconds that the server's clock is believed to be ahead of this device's. A process has one store, and opens it more
 * than once. */
static gint64 ahead;

/* One try of a call. */
typedef struct {
	GbeBucket *bucket;
	const GbeBucketCall *call;
	gint64 signed_at;
	GbeBucketReply reply;
	GbeAnswer *answer; /* XML: that of a success, or of a failure */
	char *code, *said; /* of a failure */
	guint64 delivered; /* bytes that ->take has */
	bool interrupted;
	bool page;     /* the answer is a web page */
	GError *error; /* of ->take */
} Try;

static void
try_clear(Try *try)
{
	gbe_bucket_reply_clear(&try->reply);
	g_clear_pointer(&try->answer, gbe_answer_free);
	g_clear_pointer(&try->code, g_free);
	g_clear_pointer(&try->said, g_free);
	g_clear_error(&try->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Try, try_clear)

void
gbe_bucket_reply_clear(GbeBucketReply *reply)
{
	g_clear_pointer(&reply->etag, g_free);
	g_clear_pointer(&reply->region, g_free);
	g_clear_pointer(&reply->location, g_free);
}

static void
wipe(char **text)
{
	if (*text != NULL)
		explicit_bzero(*text, strlen(*text));
	g_clear_pointer(text, g_free);
}

void
gbe_bucket_free(GbeBucket *bucket)
{
	if (bucket == NULL)
		return;
	g_clear_pointer(&bucket->connection, gbe_connection_close);
	g_free(bucket->base);
	g_free(bucket->bucket);
	g_free(bucket->prefix);
	g_free(bucket->ca);
	g_free(bucket->proxy);
	g_free(bucket->region);
	g_free(bucket->id);
	wipe(&bucket->secret);
	wipe(&bucket->token);
	g_free(bucket);
}

bool
gbe_bucket_open(const GbeBucketOptions *options, GbeBucket **ret_bucket, GError **error)
{
	g_autoptr(GbeBucket) bucket = g_new0(GbeBucket, 1);
	const char *host = options->url + strlen("https://");
	g_auto(GStrv) parts = g_strsplit(host, "/", 3);
	g_auto(GbeCallFailure) failure = {0};

	bucket->base = g_strconcat("https://", parts[0], NULL);
	bucket->bucket = g_strdup(parts[1]);
	bucket->prefix = g_strdup(parts[2] != NULL ? parts[2] : "");
	bucket->ca = g_strdup(options->ca);
	bucket->proxy = g_strdup(options->proxy);
	bucket->region = g_strdup(options->region);
	bucket->id = g_strdup(options->id);
	bucket->secret = g_strdup(options->secret);
	bucket->token = g_strdup(options->token);
	bucket->rate = options->rate;
	bucket->deadline = options->deadline;
	bucket->progress = options->progress;
	bucket->progress_data = options->progress_data;
	bucket->endpoint = (GbeEndpoint){.endpoint = bucket->base, .cacert = bucket->ca};
	if (!gbe_connection_open(&bucket->endpoint, GBE_HTTP_1, &bucket->connection, &failure) ||
	    !gbe_connection_set_bulk(bucket->connection, bucket->proxy, bucket->rate, &failure))
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED, "%s", failure.why);
	*ret_bucket = g_steal_pointer(&bucket);
	return true;
}

const GbeBucketCost *
gbe_bucket_cost(const GbeBucket *bucket)
{
	return &bucket->cost;
}

gint64
gbe_bucket_time(const GbeBucket *bucket)
{
	return bucket->time;
}

const char *
gbe_bucket_prefix(const GbeBucket *bucket)
{
	return bucket->prefix;
}

char *
gbe_bucket_escape(const char *text)
{
	return g_uri_escape_string(text, NULL, false);
}

/* ---- the answer ---- */

/* "Wed, 25 Nov 2026 09:25:05 GMT", in the C locale; 0: another text. */
static gint64
parse_date(const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char month[4] = "";
	const char *at;
	int day, year, hour, minute, second;
	g_autoptr(GDateTime) time = NULL;

	if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute,
		   &second) != 6)
		return 0;
	at = strlen(month) == 3 ? strstr(months, month) : NULL;
	if (at == NULL || (at - months) % 3 != 0)
		return 0;
	time = g_date_time_new_utc(year, (int)(at - months) / 3 + 1, day, hour, minute, second);
	return time != NULL ? g_date_time_to_unix(time) : 0;
}

static bool
is_success(long status)
{
	return status == 200 || status == 204 || status == 206;
}

static void
take_error(const char *name, guint depth, const char *text, gpointer data)
{
	Try *try = data;

	if (depth == 1 && g_str_equal(name, "Code") && try->code == NULL)
		try->code = g_strndup(text, SAID_MAX);
	if (depth == 1 && g_str_equal(name, "Message") && try->said == NULL)
		try->said = g_strndup(text, SAID_MAX);
	if (depth == 1 && g_str_equal(name, "Region") && try->reply.region == NULL)
		try->reply.region = g_strndup(text, SAID_MAX);
}

/* An upload that is completed may answer 200 first, and then an error. */
static void
take_element(const char *name, guint depth, const char *text, gpointer data)
{
	Try *try = data;

	if (try->call->element != NULL)
		try->call->element(name, depth, text, try->call->data);
	take_error(name, depth, text, data);
	if (depth == 0 && !g_str_equal(name, "Error"))
		g_clear_pointer(&try->code, g_free);
}

/* No program stores a snapshot under these types, and no server of S3's lists with them. */
static bool
is_page(const char *type)
{
	static const char *const pages[] = {"text/html", "application/xhtml+xml"};

	for (gsize i = 0; i < G_N_ELEMENTS(pages); i++)
		if (g_ascii_strncasecmp(type, pages[i], strlen(pages[i])) == 0)
			return true;
	return false;
}

static void
take_header(const char *line, gsize size, gpointer data)
{
	Try *try = data;
	GbeBucketReply *reply = &try->reply;
	g_autofree char *text = g_strndup(line, size);
	char *value = strchr(text, ':');

	if (g_str_has_prefix(text, "HTTP/") && strchr(text, ' ') != NULL) {
		reply->status = strtol(strchr(text, ' '), NULL, 10);
		reply->length = G_MAXUINT64;
	}
	if (value == NULL)
		return;
	*value++ = '\0';
	g_strstrip(value);
	if (g_ascii_strcasecmp(text, "ETag") == 0) {
		g_free(reply->etag);
		reply->etag = strlen(value) <= ETAG_MAX ? g_strdup(value) : NULL;
		reply->has_etag = *value != '\0';
	} else if (g_ascii_strcasecmp(text, "Content-Type") == 0) {
		reply->is_page = is_page(value);
	} else if (g_ascii_strcasecmp(text, "Content-Length") == 0) {
		(void)g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT64, &reply->length, NULL);
	} else if (g_ascii_strcasecmp(text, "Date") == 0) {
		reply->date = parse_date(value);
	} else if (g_ascii_strcasecmp(text, "x-amz-bucket-region") == 0) {
		g_free(reply->region);
		reply->region = g_strndup(value, SAID_MAX);
	} else if (g_ascii_strcasecmp(text, "Location") == 0) {
		g_free(reply->location);
		reply->location = g_strndup(value, SAID_MAX);
	}
}

static bool
may_continue(Try *try, gsize size)
{
	const GbeBucket *bucket = try->bucket;

	try->interrupted =
	    bucket->progress != NULL && !bucket->progress(size, bucket->progress_data);
	return !try->interrupted;
}

static bool
take_answer(const guint8 *bytes, gsize size, gpointer data)
{
	Try *try = data;
	const GbeBucketCall *call = try->call;
	bool success = is_success(try->reply.status);

	try->page = try->reply.is_page;
	if (try->page)
		return false;
	if (!success || call->take == NULL) {
		const char *root = success && call->root != NULL ? call->root : GBE_ANSWER_ERROR;

		if (try->answer == NULL)
			try->answer =
			    gbe_answer_new(root, success ? take_element : take_error, try);
		return gbe_answer_push(try->answer, bytes, size);
	}
	/* Skip bytes that are here already: a server may ignore the range. */
	if (call->range != NULL && try->reply.status != 206)
		return gbe_throw(&try->error, GBE_ERROR_CANNOT_TELL,
				 "the server does not send parts of an object");
	try->delivered += size;
	return may_continue(try, size) && call->take(bytes, size, call->data, &try->error);
}

static bool
take_sent(gsize size, gpointer data)
{
	Try *try = data;

	try->bucket->cost.sent += size;
	return may_continue(try, size);
}

/* ---- the question ---- */

static bool
sum_file(const GbeBucketCall *call, char **ret_text, GError **error)
{
	g_auto(GbeSha256) sum = {0};
	guint8 bytes[65536], digest[GBE_SHA256_SIZE];
	gsize got;

	gbe_sha256_init(&sum);
	for (guint64 at = 0; at < call->size; at += got) {
		gsize want = MIN(sizeof(bytes), call->size - at);

		if (!gbe_read_at(call->fd, bytes, want, call->offset + at, &got, call->path, error))
			return false;
		if (got != want)
			return gbe_throw(error, GBE_ERROR_FAILED, "%s is shorter than it was",
					 call->path);
		gbe_sha256_push(&sum, bytes, got);
	}
	if (!gbe_sha256_end(&sum, digest, error))
		return false;
	*ret_text = gbe_sha256_text(digest);
	return true;
}

static char *
make_path(const GbeBucket *bucket, const GbeBucketCall *call)
{
	GString *path = g_string_new("/");
	const char *const parts[] = {bucket->prefix, call->path};

	g_string_append_uri_escaped(path, bucket->bucket, NULL, false);
	for (guint i = 0; call->path != NULL && i < G_N_ELEMENTS(parts); i++)
		if (*parts[i] != '\0') {
			g_string_append_c(path, '/');
			g_string_append_uri_escaped(path, parts[i], "/", false);
		}
	return g_string_free(path, false);
}

/* The signed headers of @try, then the unsigned ones. */
static char **
make_headers(const Try *try, const char *path, const char *sha256)
{
	const GbeBucket *bucket = try->bucket;
	const GbeBucketCall *call = try->call;
	const GbeSigningKey key = {.region = bucket->region,
				   .id = bucket->id,
				   .secret = bucket->secret,
				   .token = bucket->token};
	const GbeSignedRequest request = {.method = call->method,
					  .host = bucket->base + strlen("https://"),
					  .path = path,
					  .query = call->query,
					  .sha256 = sha256,
					  .time = try->signed_at};
	g_auto(GStrv) signed_headers = gbe_sign(&key, &request);
	g_autoptr(GStrvBuilder) headers = g_strv_builder_new();
	g_autofree char *range = NULL, *match = NULL;

	for (guint i = 0; signed_headers[i] != NULL; i++)
		g_strv_builder_add(headers, signed_headers[i]);
	/* Swift does not count the type of a body that is missing. */
	if (call->from_file || call->body != NULL)
		g_strv_builder_add(headers, "Content-Type: application/octet-stream");
	if (call->range != NULL) {
		range = g_strconcat("Range: ", call->range, NULL);
		g_strv_builder_add(headers, range);
	}
	if (call->match != NULL) {
		match = g_strconcat("If-Match: ", call->match, NULL);
		g_strv_builder_add(headers, match);
	}
	return g_strv_builder_end(headers);
}

/* Of all tries. */
static gint64
limit_of(const GbeBucket *bucket, const GbeBucketCall *call)
{
	gint64 limit = bucket->deadline > 0 ? bucket->deadline : G_MAXINT64;

	return call->deadline > 0 ? MIN(limit, call->deadline) : limit;
}

/* Of one try. */
static gint64
deadline_of_try(const GbeBucket *bucket, const GbeBucketCall *call)
{
	guint64 seconds = CALL_SECONDS + (call->size >> 20) * SECONDS_PER_MIB;
	gint64 until;

	if (call->take != NULL && call->size == 0)
		seconds = GET_SECONDS;
	else if (bucket->rate > 0)
		seconds += 2 * call->size / bucket->rate;
	until = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
	return MIN(until, limit_of(bucket, call));
}

/* ---- failures ---- */

typedef struct {
	const char *code; /* of S3 */
	GbeErrorCode as;
	const char *words;
} Failure;

static const Failure failures[] = {
    {"InvalidAccessKeyId", GBE_ERROR_REFUSED, "the server does not know the access key"},
    {"SignatureDoesNotMatch", GBE_ERROR_REFUSED,
     "the secret of the access key, or [store] region, is wrong"},
    {"AuthorizationHeaderMalformed", GBE_ERROR_REFUSED, "[store] region is wrong"},
    {"AccessDenied", GBE_ERROR_REFUSED, "the access key is not allowed to do that"},
    {"AllAccessDisabled", GBE_ERROR_REFUSED, "the bucket is locked"},
    {"ExpiredToken", GBE_ERROR_REFUSED, "the access key has expired"},
    {"TokenRefreshRequired", GBE_ERROR_REFUSED, "the access key has expired"},
    {"InvalidToken", GBE_ERROR_REFUSED, "the token of the access key is wrong"},
    {"RequestTimeTooSkewed", GBE_ERROR_REFUSED,
     "the clock of this device and that of the server differ too much"},
    {"NoSuchBucket", GBE_ERROR_REFUSED, "there is no such bucket"},
    {"PermanentRedirect", GBE_ERROR_REFUSED, "the bucket is at another address"},
    {"BadDigest", GBE_ERROR_CANNOT_TELL, "the server has received something else"},
    {"XAmzContentSHA256Mismatch", GBE_ERROR_CANNOT_TELL, "the server has received something else"},
    {"RequestTimeout", GBE_ERROR_CANNOT_TELL, "the server has waited too long"},
    {"OperationAborted", GBE_ERROR_CANNOT_TELL, "the server is busy with the same"},
    {"TemporaryRedirect", GBE_ERROR_REFUSED, "the bucket is at another address"},
    {"NoSuchKey", GBE_ERROR_NOT_FOUND, "there is no such object"},
    {"NoSuchUpload", GBE_ERROR_NOT_FOUND, "the server has forgotten the upload"},
    {"InvalidPart", GBE_ERROR_NOT_FOUND, "the server has forgotten a part of the upload"},
    {"InvalidPartOrder", GBE_ERROR_NOT_FOUND, "the server has forgotten a part of the upload"},
    {"QuotaExceeded", GBE_ERROR_REFUSED, "the bucket is full"},
    {"EntityTooLarge", GBE_ERROR_REFUSED, "the server takes no object that large"},
};

/* Without the right to list, a server hides whether an object exists. */
static const char *
missing_right(const Try *try)
{
	const GbeBucketCall *call = try->call;
	bool reads = g_str_equal(call->method, "GET") || g_str_equal(call->method, "HEAD");

	if (try->reply.status != 403 || !reads)
		return "";
	return call->path == NULL ? "; to list, the key needs the right s3:ListBucket"
				  : "; a key without the right s3:ListBucket also gets this answer "
				    "for a missing object";
}

/* HEAD has no body that says why: the status alone tells. */
static bool
throw_failure(const Try *try, GError **error)
{
	const Failure *known = NULL;
	long status = try->reply.status;
	GbeErrorCode as = status == 404 ? GBE_ERROR_NOT_FOUND
			  : (status / 100 == 4 && status != 429) || status / 100 == 3
			      ? GBE_ERROR_REFUSED
			      : GBE_ERROR_CANNOT_TELL;
	g_autofree char *code = gbe_path_to_text(try->code != NULL ? try->code : "");
	g_autofree char *said = gbe_path_to_text(try->said != NULL ? try->said : "");
	g_autofree char *other = NULL;

	for (gsize i = 0; try->code != NULL && known == NULL && i < G_N_ELEMENTS(failures); i++)
		if (g_str_equal(failures[i].code, try->code))
			known = &failures[i];
	if (try->reply.location != NULL && status / 100 == 3) {
		g_autofree char *place = gbe_path_to_text(try->reply.location);

		other = g_strconcat(", at ", place, NULL);
	} else if (try->reply.region != NULL && as == GBE_ERROR_REFUSED && status != 404) {
		g_autofree char *place = gbe_path_to_text(try->reply.region);

		other = g_strconcat(", in region ", place, NULL);
	}
	return gbe_throw(
	    error, known != NULL ? known->as : as, "%s%s (%ld%s%s%s%s)%s",
	    known != NULL		? known->words
	    : as == GBE_ERROR_NOT_FOUND ? "there is no such object"
	    : status / 100 == 3		? "the bucket is at another address"
	    : as == GBE_ERROR_REFUSED	? "the server refuses"
					: "the server fails",
	    other != NULL ? other : "", status, *code != '\0' ? " " : "", code,
	    *said != '\0' ? ": " : "", said,
	    known == NULL || g_str_equal(known->code, "AccessDenied") ? missing_right(try) : "");
}

/* A console, a login portal or a proxy answers every question with its page. Then the status says nothing of objects:
 * this is checked before the answer gets any meaning. */
static bool
check_type(Try *try, GError **error)
{
	const GbeBucketCall *call = try->call;
	bool success = is_success(try->reply.status);
	bool meant = success || try->reply.status == 404;

	/* Swift gives that type to answers without a body, and to a HEAD of a missing object. */
	if (success && try->reply.is_page && g_str_equal(call->method, "HEAD"))
		try->page = true;
	if (meant && try->page)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 GBE_ANSWER_FOREIGN
				 ": it is a web page (%ld). [store] url= must name the S3 "
				 "endpoint, and no proxy or login page may answer for it",
				 try->reply.status);
	/* Every S3 server sends an ETag with an object. */
	if (success && call->element == NULL && !try->reply.has_etag &&
	    !g_str_equal(call->method, "DELETE"))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 GBE_ANSWER_FOREIGN ": it has no ETag");
	if (success || try->answer == NULL)
		return true;
	if (gbe_answer_end(try->answer, error))
		return true;
	g_clear_pointer(&try->code, g_free);
	g_clear_pointer(&try->said, g_free);
	g_clear_pointer(&try->reply.region, g_free);
	if (meant)
		return false;
	g_clear_error(error);
	return true;
}

static gint64
device_time(void)
{
	return g_get_real_time() / G_USEC_PER_SEC;
}

/* Believes the server's clock for signatures, once in a call. The device's clock may have been set since an earlier call. */
static bool
believe_clock(const Try *try)
{
	if (try->reply.date == 0 || ABS(try->reply.date - try->signed_at) < SKEW_SECONDS ||
	    (try->reply.status != 403 && try->reply.status != 400))
		return false;
	ahead = try->reply.date - device_time();
	return true;
}

typedef enum { DONE, AGAIN, AT_ONCE, OVER } Outcome;

/* @believed: the server's clock was believed in this call already. */
static Outcome
try_once(GbeBucket *bucket, const GbeBucketCall *call, const char *sha256, bool believed, Try *try,
	 GError **error)
{
	g_autofree char *path = make_path(bucket, call);
	g_auto(GStrv) headers = make_headers(try, path, sha256);
	g_autofree char *target =
	    g_strconcat(path, call->query != NULL ? "?" : NULL, call->query, NULL);
	g_auto(GbeCallFailure) failure = {0};
	GbeExchange exchange = {.path = target,
				.headers = (const char *const *)headers,
				.method = call->method,
				.body = call->body,
				.size = call->from_file	     ? call->size
					: call->body != NULL ? strlen(call->body)
							     : 0,
				.from_file = call->from_file,
				.fd = call->fd,
				.offset = call->offset,
				.deadline = deadline_of_try(bucket, call),
				.idle_seconds = IDLE_SECONDS,
				.take = take_answer,
				.header = take_header,
				.sent = take_sent,
				.data = try};
	bool answered, cut = false;
	long status = 0;

	bucket->cost.requests++;
	answered = gbe_connection_ask(bucket->connection, &exchange, &status, &cut, &failure);
	if (try->interrupted) {
		gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
		return OVER;
	}
	if (try->error != NULL) {
		g_propagate_error(error, g_steal_pointer(&try->error));
		return OVER;
	}
	if (!answered) {
		gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", failure.why);
		return failure.reach == GBE_REACH_LOCAL || try->delivered > 0 ? OVER : AGAIN;
	}
	bucket->time = try->reply.date;
	if (!check_type(try, error))
		return OVER;
	if (try->answer != NULL && is_success(status)) {
		if (!gbe_answer_end(try->answer, error))
			return OVER;
		if (try->code == NULL)
			return DONE;
	} else if (is_success(status)) {
		if (call->element == NULL)
			return DONE;
		gbe_throw(error, GBE_ERROR_CANNOT_TELL, "the server answers nothing");
		return OVER;
	}
	throw_failure(try, error);
	if (!believed && believe_clock(try))
		return AT_ONCE;
	return g_error_matches(*error, GBE_ERROR, GBE_ERROR_CANNOT_TELL) ? AGAIN : OVER;
}

/* Waits with a look at the progress, which a person may have interrupted. False: not at all, also where no time would
 * be left after it. */
static bool
wait_seconds(GbeBucket *bucket, guint seconds, gint64 until)
{
	if (g_get_monotonic_time() + seconds * G_USEC_PER_SEC >= until)
		return false;
	for (guint i = 0; i < seconds * 10; i++) {
		if (bucket->progress != NULL && !bucket->progress(0, bucket->progress_data))
			return false;
		g_usleep(G_USEC_PER_SEC / 10);
	}
	return true;
}

bool
gbe_bucket_call(GbeBucket *bucket, const GbeBucketCall *call, GbeBucketReply *ret_reply,
		GError **error)
{
	g_autofree char *sha256 = NULL;
	g_autoptr(GError) local = NULL;
	Outcome outcome = AGAIN;
	bool believed = false;

	if (call->from_file && !sum_file(call, &sha256, error))
		return false;
	if (!call->from_file)
		sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256,
						       call->body != NULL ? call->body : "", -1);
	for (guint tries = 0; outcome == AGAIN || outcome == AT_ONCE;) {
		g_auto(Try) try = {.bucket = bucket,
				   .call = call,
				   .signed_at = device_time() + ahead};

		g_clear_error(&local);
		outcome = try_once(bucket, call, sha256, believed, &try, &local);
		believed = believed || outcome == AT_ONCE;
		if (outcome == AGAIN && (++tries >= TRIES || !wait_seconds(bucket, tries * 2 - 1,
									   limit_of(bucket, call))))
			outcome = OVER;
		if ((outcome == DONE || outcome == OVER) && ret_reply != NULL) {
			*ret_reply = try.reply;
			try.reply = (GbeBucketReply){0};
		}
	}
	if (outcome == DONE)
		return true;
	if (bucket->deadline > 0 && g_get_monotonic_time() >= bucket->deadline - OVER_USEC)
		g_prefix_error(&local, "the bucket has used up all of its time (--timeout): ");
	g_propagate_prefixed_error(error, g_steal_pointer(&local), "%s %s: ", call->method,
				   call->path != NULL ? call->path : "of the bucket");
	return false;
}
