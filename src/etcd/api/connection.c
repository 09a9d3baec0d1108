/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/connection.h"

/* Its type checks are a macro of that name. The loaded function is called with checked types in another way: see
 * set_number(). */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/dlopen.h"
#include "base/format.h"
#include "core/shown.h"

#define SONAME "libcurl.so.4"
#define FUNCTIONS(X)                                                                               \
	X(curl_easy_cleanup)                                                                       \
	X(curl_easy_getinfo)                                                                       \
	X(curl_easy_init)                                                                          \
	X(curl_easy_perform)                                                                       \
	X(curl_easy_setopt)                                                                        \
	X(curl_easy_strerror)                                                                      \
	X(curl_slist_append)                                                                       \
	X(curl_slist_free_all)                                                                     \
	X(curl_version_info)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

#define UNIX_SCHEME "unix://"
#define TLS_SCHEME "https://"
/* An end so near to a deadline counts as the deadline. */
#define OVER_USEC (20 * 1000)

/* Of all headers of an answer. */
#define HEADERS_MAX ((gsize)1 << 20)
/* For bulk data; the time that an object store has to accept a connection. */
#define BULK_BUFFER 131072L
#define CONNECT_SECONDS 30L

/* libcurl ends an exchange at its deadline, unless frames of HTTP/2 without content keep it in a loop that looks at no
 * clock. Then the sockets are shut down under libcurl, this long after the deadline. */
#define WATCH_USEC (100 * 1000)
/* A connection attempt has two at most: one each for IPv4 and IPv6. */
#define SOCKETS_MAX 4

typedef struct {
	GMutex mutex;
	GCond ended;
	gint64 when;
	int sockets[SOCKETS_MAX]; /* those that are open; -1 */
	bool is_over;		  /* the exchange is */
	bool fired;
} Watch;

struct GbeConnection {
	CURL *curl;
	CURLcode code; /* of the options; after a failure no further one is set */
	Watch watch;
	char *base; /* without a trailing slash */
	const GbeEndpoint *endpoint;
	bool tls;
	bool met; /* a server has answered on it */
	char detail[CURL_ERROR_SIZE];
};

void
gbe_call_failure_clear(GbeCallFailure *failure)
{
	g_free(failure->why);
	*failure = (GbeCallFailure){0};
}

bool
gbe_call_fail(GbeCallFailure *failure, GbeReach reach, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	/* A part of the text may come from the server: make it one line of valid text. */
	gbe_call_failure_clear(failure);
	failure->reach = reach;
	failure->why = g_strchomp(gbe_shown_line(text));
	return false;
}

GbeErrorCode
gbe_call_code(const GbeCallFailure *failure, GbeErrorCode otherwise)
{
	return failure->reach == GBE_REACH_NO_USER ? GBE_ERROR_NO_USER : otherwise;
}

bool
gbe_call_is_denied(const GbeCallFailure *failure)
{
	return failure->reach == GBE_REACH_DENIED || failure->reach == GBE_REACH_NO_USER;
}

void
gbe_connection_close(GbeConnection *connection)
{
	if (connection == NULL)
		return;
	if (connection->curl != NULL)
		lib.curl_easy_cleanup(connection->curl);
	g_mutex_clear(&connection->watch.mutex);
	g_cond_clear(&connection->watch.ended);
	g_free(connection->base);
	g_free(connection);
}

/* curl_easy_setopt() accepts any type and misreads a wrong width, so that each option has a setter of its type. */
static void
set_number(GbeConnection *connection, CURLoption option, long number)
{
	if (connection->code == CURLE_OK)
		connection->code = lib.curl_easy_setopt(connection->curl, option, number);
}

static void
set_offset(GbeConnection *connection, CURLoption option, guint64 offset)
{
	if (connection->code == CURLE_OK)
		connection->code =
		    lib.curl_easy_setopt(connection->curl, option, (curl_off_t)offset);
}

/* Also of a text. */
static void
set_pointer(GbeConnection *connection, CURLoption option, const void *pointer)
{
	if (connection->code == CURLE_OK)
		connection->code = lib.curl_easy_setopt(connection->curl, option, pointer);
}

static void
set_function(GbeConnection *connection, CURLoption option, GCallback function)
{
	if (connection->code == CURLE_OK)
		connection->code = lib.curl_easy_setopt(connection->curl, option, function);
}

static bool
is_set(const char *path)
{
	return path != NULL && *path != '\0';
}

/* ---- the deadline ---- */

static void
replace_socket(Watch *watch, int old, int new)
{
	bool done = false;

	g_mutex_lock(&watch->mutex);
	for (guint i = 0; i < SOCKETS_MAX && !done; i++) {
		done = watch->sockets[i] == old;
		if (done)
			watch->sockets[i] = new;
	}
	g_mutex_unlock(&watch->mutex);
}

static int
note_socket(void *data, curl_socket_t fd, curlsocktype purpose G_GNUC_UNUSED)
{
	replace_socket(data, -1, fd);
	return CURL_SOCKOPT_OK;
}

/* Forgotten before it is closed: another file may get its number. */
static int
close_socket(void *data, curl_socket_t fd)
{
	replace_socket(data, fd, -1);
	return close(fd);
}

static gpointer
watch_deadline(gpointer data)
{
	Watch *watch = data;

	g_mutex_lock(&watch->mutex);
	while (!watch->is_over && !watch->fired)
		watch->fired = !g_cond_wait_until(&watch->ended, &watch->mutex, watch->when);
	for (guint i = 0; i < SOCKETS_MAX && watch->fired && !watch->is_over; i++)
		if (watch->sockets[i] >= 0)
			(void)shutdown(watch->sockets[i], SHUT_RDWR);
	g_mutex_unlock(&watch->mutex);
	return NULL;
}

/* Without a thread, libcurl's own clock has to do. */
static CURLcode
perform_within(GbeConnection *connection, gint64 deadline)
{
	Watch *watch = &connection->watch;
	GThread *thread = NULL;
	CURLcode code;

	watch->is_over = watch->fired = false;
	watch->when = deadline + WATCH_USEC;
	if (deadline > 0)
		thread = g_thread_try_new("deadline", watch_deadline, watch, NULL);
	code = lib.curl_easy_perform(connection->curl);
	if (thread == NULL)
		return code;
	g_mutex_lock(&watch->mutex);
	watch->is_over = true;
	g_cond_signal(&watch->ended);
	g_mutex_unlock(&watch->mutex);
	g_thread_join(thread);
	return watch->fired && code != CURLE_OK ? CURLE_OPERATION_TIMEDOUT : code;
}

/* ---- what libcurl calls in an exchange ---- */

typedef struct {
	const GbeExchange *exchange;
	guint64 done;  /* bytes of its file that libcurl has */
	gsize headers; /* bytes of the answer's headers */
} Running;

static size_t
take_body(char *bytes, size_t size, size_t count, void *data)
{
	const GbeExchange *exchange = ((Running *)data)->exchange;

	/* A smaller number than given stops libcurl. */
	return exchange->take((const guint8 *)bytes, size * count, exchange->data) ? size * count
										   : 0;
}

static size_t
take_header(char *bytes, size_t size, size_t count, void *data)
{
	Running *running = data;
	const GbeExchange *exchange = running->exchange;

	running->headers += size * count;
	if (running->headers > HEADERS_MAX)
		return 0;
	if (exchange->header != NULL)
		exchange->header(bytes, size * count, exchange->data);
	return size * count;
}

static size_t
read_file(char *bytes, size_t size, size_t count, void *data)
{
	Running *running = data;
	const GbeExchange *exchange = running->exchange;
	guint64 done = running->done;
	gsize want = MIN(size * count, exchange->size - done);
	ssize_t got = pread(exchange->fd, bytes, want, (off_t)(exchange->offset + done));

	if (got < 0 || (gsize)got != want ||
	    (exchange->sent != NULL && !exchange->sent(want, exchange->data)))
		return CURL_READFUNC_ABORT;
	running->done += want;
	return want;
}

/* libcurl sends the body once more where a kept connection turns out to be closed. */
static int
seek_file(void *data, curl_off_t offset, int origin)
{
	Running *running = data;

	if (origin != SEEK_SET || offset < 0 || (guint64)offset > running->exchange->size)
		return CURL_SEEKFUNC_FAIL;
	running->done = (guint64)offset;
	return CURL_SEEKFUNC_OK;
}

/* ---- the connection ---- */

static void
set_common(GbeConnection *connection, const curl_version_info_data *version)
{
	bool apart = (version->features & CURL_VERSION_ASYNCHDNS) != 0;

	/* Without signals, libcurl leaves SIGPIPE to its caller. If a thread resolves names, libcurl needs no
	 * signals. */
	set_number(connection, CURLOPT_NOSIGNAL, apart ? 0L : 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Do not wait for a thread that waits for a name server. */
	set_number(connection, CURLOPT_QUICK_EXIT, 1L);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
	set_pointer(connection, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	set_number(connection, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	set_pointer(connection, CURLOPT_NOPROXY, "*");
	set_number(connection, CURLOPT_FOLLOWLOCATION, 0L);
	set_number(connection, CURLOPT_BUFFERSIZE, 16384L);
	set_number(connection, CURLOPT_TCP_NODELAY, 1L);
	set_function(connection, CURLOPT_WRITEFUNCTION, G_CALLBACK(take_body));
	set_function(connection, CURLOPT_HEADERFUNCTION, G_CALLBACK(take_header));
	g_mutex_init(&connection->watch.mutex);
	g_cond_init(&connection->watch.ended);
	for (guint i = 0; i < SOCKETS_MAX; i++)
		connection->watch.sockets[i] = -1;
	set_function(connection, CURLOPT_SOCKOPTFUNCTION, G_CALLBACK(note_socket));
	set_pointer(connection, CURLOPT_SOCKOPTDATA, &connection->watch);
	set_function(connection, CURLOPT_CLOSESOCKETFUNCTION, G_CALLBACK(close_socket));
	set_pointer(connection, CURLOPT_CLOSESOCKETDATA, &connection->watch);
}

static void
set_endpoint(GbeConnection *connection, const GbeEndpoint *endpoint, GbeHttp http,
	     const curl_version_info_data *version)
{
	const char *url = endpoint->endpoint;
	gsize length = strlen(url);
	long number = CURL_HTTP_VERSION_1_1;

	if (g_str_has_prefix(url, UNIX_SCHEME)) {
		connection->base = g_strdup("http://localhost");
		set_pointer(connection, CURLOPT_UNIX_SOCKET_PATH, url + strlen(UNIX_SCHEME));
	} else {
		while (length > 0 && url[length - 1] == '/')
			length--;
		connection->base = g_strndup(url, length);
		connection->tls = g_ascii_strncasecmp(url, TLS_SCHEME, strlen(TLS_SCHEME)) == 0;
	}
	if (connection->tls) {
		if (is_set(endpoint->cacert)) {
			set_pointer(connection, CURLOPT_CAINFO, endpoint->cacert);
			/* Only this CA, and not those that the system trusts. */
			if (connection->code == CURLE_OK)
				(void)lib.curl_easy_setopt(connection->curl, CURLOPT_CAPATH,
							   (char *)NULL);
		}
		if (is_set(endpoint->cert))
			set_pointer(connection, CURLOPT_SSLCERT, endpoint->cert);
		if (is_set(endpoint->key))
			set_pointer(connection, CURLOPT_SSLKEY, endpoint->key);
		/* An empty passphrase is a wrong one. With none, libcurl would ask a terminal for it. */
		set_pointer(connection, CURLOPT_KEYPASSWD, "");
	}
	/* Plain: etcd speaks HTTP/2 at once, without negotiation. TLS: the handshake negotiates it. */
	if (http == GBE_HTTP_2)
		number =
		    connection->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	/* When 7.88 (Debian 12) reuses such a connection, it has forgotten the protocol and fails with CURLE_HTTP2.
	 * Without TLS, a new connection costs next to nothing. */
	if (number == CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE && version->version_num < 0x080000)
		set_number(connection, CURLOPT_FORBID_REUSE, 1L);
	set_number(connection, CURLOPT_HTTP_VERSION, number);
}

bool
gbe_connection_open(const GbeEndpoint *endpoint, GbeHttp http, GbeConnection **ret_connection,
		    GbeCallFailure *ret_failure)
{
	g_autoptr(GbeConnection) connection = g_new0(GbeConnection, 1);
	const curl_version_info_data *version;
	const char *url = endpoint->endpoint;
	g_autoptr(GError) local = NULL;

	if (endpoint->refused != NULL)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "%s", endpoint->refused);
	if (!is_set(url))
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "no endpoint is configured");
	if (g_str_has_prefix(url, UNIX_SCHEME) && url[strlen(UNIX_SCHEME)] != '/')
		return gbe_call_fail(
		    ret_failure, GBE_REACH_LOCAL,
		    "unix:// needs the absolute path of a socket, as unix:///run/etcd.sock");
	(void)unsetenv("SSLKEYLOGFILE"); /* TLS libraries would write our sessions' keys there */
	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), &local))
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "%s", local->message);
	version = lib.curl_version_info(CURLVERSION_NOW);
	if (http == GBE_HTTP_2 && (version->features & CURL_VERSION_HTTP2) == 0)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL,
				     "this libcurl has no HTTP/2, which etcd's API needs");
	connection->endpoint = endpoint;
	connection->curl = lib.curl_easy_init();
	if (connection->curl == NULL)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "libcurl cannot be used");
	set_common(connection, version);
	set_endpoint(connection, endpoint, http, version);
	if (connection->code != CURLE_OK)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "%s",
				     lib.curl_easy_strerror(connection->code));
	*ret_connection = g_steal_pointer(&connection);
	return true;
}

bool
gbe_connection_is_tls(const GbeConnection *connection)
{
	return connection->tls;
}

bool
gbe_connection_set_bulk(GbeConnection *connection, const char *proxy, guint64 rate,
			GbeCallFailure *ret_failure)
{
	connection->code = CURLE_OK;
	if (proxy != NULL)
		set_pointer(connection, CURLOPT_NOPROXY, "");
	set_pointer(connection, CURLOPT_PROXY, proxy != NULL ? proxy : "");
	set_number(connection, CURLOPT_PATH_AS_IS, 1L);
	set_number(connection, CURLOPT_BUFFERSIZE, BULK_BUFFER);
	set_number(connection, CURLOPT_UPLOAD_BUFFERSIZE, BULK_BUFFER);
	set_number(connection, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	set_offset(connection, CURLOPT_MAX_SEND_SPEED_LARGE, rate);
	set_offset(connection, CURLOPT_MAX_RECV_SPEED_LARGE, rate);
	return connection->code == CURLE_OK ||
	       gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "%s",
			     lib.curl_easy_strerror(connection->code));
}

/* ---- an exchange ---- */

static void
set_exchange(GbeConnection *connection, Running *running, struct curl_slist *headers,
	     gint64 left_ms)
{
	const GbeExchange *exchange = running->exchange;
	g_autofree char *url = g_strconcat(connection->base, exchange->path, NULL);

	set_pointer(connection, CURLOPT_URL, url);
	set_pointer(connection, CURLOPT_HTTPHEADER, headers);
	/* NOBODY keeps libcurl from waiting for the body of a HEAD. Setting HTTPGET takes NOBODY and UPLOAD back. */
	set_number(connection, CURLOPT_HTTPGET, 1L);
	set_pointer(connection, CURLOPT_CUSTOMREQUEST, exchange->method);
	if (g_strcmp0(exchange->method, "HEAD") == 0) {
		set_number(connection, CURLOPT_NOBODY, 1L);
	} else if (exchange->from_file) {
		running->done = 0;
		set_number(connection, CURLOPT_UPLOAD, 1L);
		set_offset(connection, CURLOPT_INFILESIZE_LARGE, exchange->size);
		set_function(connection, CURLOPT_READFUNCTION, G_CALLBACK(read_file));
		set_pointer(connection, CURLOPT_READDATA, running);
		set_function(connection, CURLOPT_SEEKFUNCTION, G_CALLBACK(seek_file));
		set_pointer(connection, CURLOPT_SEEKDATA, running);
	}
	if (exchange->body != NULL) {
		set_offset(connection, CURLOPT_POSTFIELDSIZE_LARGE, exchange->size);
		set_pointer(connection, CURLOPT_POSTFIELDS, exchange->body);
	}
	set_pointer(connection, CURLOPT_WRITEDATA, running);
	set_pointer(connection, CURLOPT_HEADERDATA, running);
	set_pointer(connection, CURLOPT_ERRORBUFFER, connection->detail);
	set_number(connection, CURLOPT_TIMEOUT_MS, (long)left_ms);
	set_number(connection, CURLOPT_LOW_SPEED_LIMIT, exchange->idle_seconds > 0 ? 1L : 0L);
	set_number(connection, CURLOPT_LOW_SPEED_TIME, (long)exchange->idle_seconds);
}

static struct curl_slist *
header_list(const char *const *headers)
{
	/* Without this, libcurl may wait for a "100 Continue". */
	struct curl_slist *list = lib.curl_slist_append(NULL, "Expect:");

	for (gsize i = 0; list != NULL && headers != NULL && headers[i] != NULL; i++) {
		struct curl_slist *longer = lib.curl_slist_append(list, headers[i]);

		if (longer == NULL)
			lib.curl_slist_free_all(list);
		list = longer;
	}
	return list;
}

/* Newer TLS stacks report a missing client certificate only when the answer is read. With TLS, a connection that
 * breaks before any answer is therefore a matter of certificates. @answered: a part of the answer came. */
static GbeReach
reach_of(const GbeConnection *connection, CURLcode code, bool answered)
{
	curl_off_t resolved = -1;
	curl_off_t connected = -1;

	switch ((int)code) {
	case CURLE_COULDNT_CONNECT:
		return GBE_REACH_DOWN;
	case CURLE_OPERATION_TIMEDOUT:
		/* If the time ended before the name became an address, no server was asked. */
		if (connection->met ||
		    g_str_has_prefix(connection->endpoint->endpoint, UNIX_SCHEME))
			return GBE_REACH_LATE;
		(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_NAMELOOKUP_TIME_T,
					    &resolved);
		(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_CONNECT_TIME_T, &connected);
		return resolved == 0 && connected == 0 ? GBE_REACH_LOCAL : GBE_REACH_LATE;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		if (answered)
			return GBE_REACH_DROPPED;
		return connection->tls ? GBE_REACH_TLS : GBE_REACH_FOREIGN;
	case CURLE_HTTP2_STREAM:
		return GBE_REACH_DROPPED;
	/* The server hangs up or talks nonsense instead of HTTP; a TLS port hangs up. */
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_GOT_NOTHING:
	case CURLE_WEIRD_SERVER_REPLY:
		return answered ? GBE_REACH_DROPPED : GBE_REACH_FOREIGN;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return GBE_REACH_TLS;
	default:
		return GBE_REACH_LOCAL;
	}
}

/* libcurl's text has the milliseconds in it. The same failure would look new each time, and be reported again. */
static const char *
words_of(GbeConnection *connection, CURLcode code)
{
	long number = 0;

	(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_OS_ERRNO, &number);
	if (code == CURLE_COULDNT_CONNECT && number != 0)
		return g_strerror((int)number);
	/* OpenSSL and GnuTLS, of an answer in plain HTTP. */
	if (code == CURLE_SSL_CONNECT_ERROR &&
	    (strstr(connection->detail, "wrong version number") != NULL ||
	     strstr(connection->detail, "unexpected TLS packet") != NULL))
		return "this port does not speak TLS: try http:// in place of https://";
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT ||
	    connection->detail[0] == '\0')
		return lib.curl_easy_strerror(code);
	return connection->detail;
}

bool
gbe_connection_ask(GbeConnection *connection, const GbeExchange *exchange, long *ret_status,
		   bool *ret_cut, GbeCallFailure *ret_failure)
{
	Running running = {.exchange = exchange};
	gint64 left_ms = 0;
	struct curl_slist *headers = NULL;
	long status = 0;
	CURLcode code;

	if (exchange->deadline > 0) {
		left_ms = (exchange->deadline - g_get_monotonic_time()) / 1000;
		/* libcurl takes 0 for no limit. */
		if (left_ms <= 0)
			return gbe_call_fail(ret_failure, GBE_REACH_LATE, "no time was left");
	}
	connection->detail[0] = '\0';
	headers = header_list(exchange->headers);
	connection->code = headers != NULL ? CURLE_OK : CURLE_OUT_OF_MEMORY;
	set_exchange(connection, &running, headers, left_ms);
	code = connection->code;
	if (code == CURLE_OK)
		code = perform_within(connection, exchange->deadline);
	(void)lib.curl_easy_setopt(connection->curl, CURLOPT_HTTPHEADER, (void *)NULL);
	lib.curl_slist_free_all(headers);
	(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_RESPONSE_CODE, &status);
	connection->met = connection->met || status != 0;
	/* The server gives up at the same moment, and may not say why. */
	if (code == CURLE_HTTP2_STREAM && exchange->deadline > 0 &&
	    g_get_monotonic_time() + OVER_USEC >= exchange->deadline)
		code = CURLE_OPERATION_TIMEDOUT;
	if (running.headers > HEADERS_MAX)
		return gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				     "the headers of the answer do not end");
	if (code != CURLE_OK && code != CURLE_WRITE_ERROR)
		return gbe_call_fail(ret_failure, reach_of(connection, code, status != 0), "%s",
				     words_of(connection, code));
	*ret_status = status;
	*ret_cut = code == CURLE_WRITE_ERROR;
	return true;
}
