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

/* libcurl ends an exchange at its deadline, unless it is in a loop that looks at no clock: frames of HTTP/2 without
 * content keep it there. Then the sockets are shut down under it, so much later. */
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
	Watch watch;
	char *base; /* without a trailing slash */
	const GbeEndpoint *endpoint;
	bool tls;
	bool met; /* a server has answered on it */
	char detail[CURL_ERROR_SIZE];
};

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
static CURLcode
set_number(CURL *curl, CURLoption option, long number)
{
	return lib.curl_easy_setopt(curl, option, number);
}

static CURLcode
set_text(CURL *curl, CURLoption option, const char *text)
{
	return lib.curl_easy_setopt(curl, option, text);
}

static CURLcode
set_pointer(CURL *curl, CURLoption option, const void *pointer)
{
	return lib.curl_easy_setopt(curl, option, pointer);
}

static CURLcode
set_taker(CURL *curl, CURLoption option, curl_write_callback taker)
{
	return lib.curl_easy_setopt(curl, option, taker);
}

static bool
is_set(const char *path)
{
	return path != NULL && *path != '\0';
}

/* Did the time end before the name became an address? Then no server was asked. */
static bool
is_unresolved(const GbeConnection *connection)
{
	curl_off_t resolved = -1;
	curl_off_t connected = -1;

	if (connection->met || g_str_has_prefix(connection->endpoint->endpoint, UNIX_SCHEME))
		return false;
	(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
	(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_CONNECT_TIME_T, &connected);
	return resolved == 0 && connected == 0;
}

/* Newer TLS stacks report a missing client certificate only when the answer is read. With TLS, a connection that
 * breaks before any answer is therefore a matter of certificates. @answered: a part of the answer came. */
static GbeReach
reach_of(const GbeConnection *connection, CURLcode code, bool answered)
{
	switch ((int)code) {
	case CURLE_COULDNT_CONNECT:
		return GBE_REACH_DOWN;
	case CURLE_OPERATION_TIMEDOUT:
		return is_unresolved(connection) ? GBE_REACH_LOCAL : GBE_REACH_LATE;
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

static CURLcode
set_tls(CURL *curl, const GbeEndpoint *endpoint)
{
	CURLcode code = CURLE_OK;

	if (is_set(endpoint->cacert)) {
		code = set_text(curl, CURLOPT_CAINFO, endpoint->cacert);
		/* Only this CA, and not those that the system trusts. */
		if (code == CURLE_OK)
			(void)set_text(curl, CURLOPT_CAPATH, NULL);
	}
	if (code == CURLE_OK && is_set(endpoint->cert))
		code = set_text(curl, CURLOPT_SSLCERT, endpoint->cert);
	if (code == CURLE_OK && is_set(endpoint->key))
		code = set_text(curl, CURLOPT_SSLKEY, endpoint->key);
	/* An empty passphrase is a wrong one. With none, libcurl would ask a terminal for it. */
	if (code == CURLE_OK)
		code = set_text(curl, CURLOPT_KEYPASSWD, "");
	return code;
}

/* Without signals, libcurl leaves SIGPIPE to its caller. It needs no signals where a thread resolves names. */
static CURLcode
set_signals(CURL *curl, const curl_version_info_data *version)
{
	bool apart = (version->features & CURL_VERSION_ASYNCHDNS) != 0;
	CURLcode code = set_number(curl, CURLOPT_NOSIGNAL, apart ? 0L : 1L);

#if LIBCURL_VERSION_NUM >= 0x075700
	/* Do not wait for a thread that waits for a name server. */
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_QUICK_EXIT, 1L);
#endif
	return code;
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
perform(GbeConnection *connection, gint64 deadline)
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

static CURLcode
set_watch(GbeConnection *connection)
{
	CURL *curl = connection->curl;
	CURLcode code;

	g_mutex_init(&connection->watch.mutex);
	g_cond_init(&connection->watch.ended);
	for (guint i = 0; i < SOCKETS_MAX; i++)
		connection->watch.sockets[i] = -1;
	code =
	    lib.curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, (curl_sockopt_callback)note_socket);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_SOCKOPTDATA, &connection->watch);
	if (code == CURLE_OK)
		code = lib.curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION,
					    (curl_closesocket_callback)close_socket);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_CLOSESOCKETDATA, &connection->watch);
	return code;
}

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

static CURLcode
set_common(CURL *curl, const curl_version_info_data *version)
{
	CURLcode code = set_signals(curl, version);

	if (code == CURLE_OK)
#if LIBCURL_VERSION_NUM >= 0x075500
		code = set_text(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
		code =
		    set_number(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	if (code == CURLE_OK)
		code = set_text(curl, CURLOPT_NOPROXY, "*");
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_FOLLOWLOCATION, 0L);
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_BUFFERSIZE, 16384L);
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_TCP_NODELAY, 1L);
	if (code == CURLE_OK)
		code = set_taker(curl, CURLOPT_WRITEFUNCTION, take_body);
	if (code == CURLE_OK)
		code = set_taker(curl, CURLOPT_HEADERFUNCTION, take_header);
	return code;
}

/* Plain: etcd speaks HTTP/2 at once, without negotiation. TLS: the handshake negotiates it. */
static CURLcode
set_version(const GbeConnection *connection, GbeHttp http, const curl_version_info_data *version)
{
	long number = CURL_HTTP_VERSION_1_1;
	CURLcode code = CURLE_OK;

	if (http == GBE_HTTP_2)
		number =
		    connection->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	/* When 7.88 (Debian 12) reuses such a connection, it has forgotten the protocol and fails with CURLE_HTTP2.
	 * Without TLS, a new connection costs next to nothing. */
	if (number == CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE && version->version_num < 0x080000)
		code = set_number(connection->curl, CURLOPT_FORBID_REUSE, 1L);
	if (code == CURLE_OK)
		code = set_number(connection->curl, CURLOPT_HTTP_VERSION, number);
	return code;
}

static CURLcode
set_endpoint(GbeConnection *connection, const GbeEndpoint *endpoint)
{
	const char *url = endpoint->endpoint;
	gsize length = strlen(url);

	if (g_str_has_prefix(url, UNIX_SCHEME)) {
		connection->base = g_strdup("http://localhost");
		return set_text(connection->curl, CURLOPT_UNIX_SOCKET_PATH,
				url + strlen(UNIX_SCHEME));
	}
	while (length > 0 && url[length - 1] == '/')
		length--;
	connection->base = g_strndup(url, length);
	connection->tls = g_ascii_strncasecmp(url, TLS_SCHEME, strlen(TLS_SCHEME)) == 0;
	return connection->tls ? set_tls(connection->curl, endpoint) : CURLE_OK;
}

bool
gbe_connection_open(const GbeEndpoint *endpoint, GbeHttp http, GbeConnection **ret_connection,
		    GbeCallFailure *ret_failure)
{
	g_autoptr(GbeConnection) connection = g_new0(GbeConnection, 1);
	const curl_version_info_data *version;
	const char *url = endpoint->endpoint;
	g_autoptr(GError) local = NULL;
	CURLcode code;

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
	code = set_common(connection->curl, version);
	if (code == CURLE_OK)
		code = set_watch(connection);
	if (code == CURLE_OK)
		code = set_endpoint(connection, endpoint);
	if (code == CURLE_OK)
		code = set_version(connection, http, version);
	if (code != CURLE_OK)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "%s",
				     lib.curl_easy_strerror(code));
	*ret_connection = g_steal_pointer(&connection);
	return true;
}

bool
gbe_connection_is_tls(const GbeConnection *connection)
{
	return connection->tls;
}

static CURLcode
set_limits(CURL *curl, gint64 left_ms, guint idle_seconds)
{
	CURLcode code = set_number(curl, CURLOPT_TIMEOUT_MS, (long)left_ms);

	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_LOW_SPEED_LIMIT, idle_seconds > 0 ? 1L : 0L);
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_LOW_SPEED_TIME, (long)idle_seconds);
	return code;
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

static CURLcode
set_upload(CURL *curl, Running *running)
{
	curl_off_t size = (curl_off_t)running->exchange->size;
	CURLcode code = set_number(curl, CURLOPT_UPLOAD, 1L);

	running->done = 0;
	if (code == CURLE_OK)
		code = lib.curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, size);
	if (code == CURLE_OK)
		code =
		    lib.curl_easy_setopt(curl, CURLOPT_READFUNCTION, (curl_read_callback)read_file);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_READDATA, running);
	if (code == CURLE_OK)
		code =
		    lib.curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, (curl_seek_callback)seek_file);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_SEEKDATA, running);
	return code;
}

/* CURLOPT_NOBODY keeps libcurl from waiting for the body of a HEAD. Setting HTTPGET takes both back. */
static CURLcode
set_method(CURL *curl, Running *running)
{
	const GbeExchange *exchange = running->exchange;
	CURLcode code = set_number(curl, CURLOPT_HTTPGET, 1L);

	if (code == CURLE_OK)
		code = set_text(curl, CURLOPT_CUSTOMREQUEST, exchange->method);
	if (code == CURLE_OK && g_strcmp0(exchange->method, "HEAD") == 0)
		return set_number(curl, CURLOPT_NOBODY, 1L);
	return code == CURLE_OK && exchange->from_file ? set_upload(curl, running) : code;
}

static CURLcode
set_body(CURL *curl, const GbeExchange *exchange)
{
	CURLcode code =
	    lib.curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->size);

	return code == CURLE_OK ? set_pointer(curl, CURLOPT_POSTFIELDS, exchange->body) : code;
}

static CURLcode
set_exchange(GbeConnection *connection, Running *running, struct curl_slist *headers)
{
	const GbeExchange *exchange = running->exchange;
	g_autofree char *url = g_strconcat(connection->base, exchange->path, NULL);
	CURL *curl = connection->curl;
	CURLcode code = set_text(curl, CURLOPT_URL, url);

	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_HTTPHEADER, headers);
	if (code == CURLE_OK)
		code = set_method(curl, running);
	if (code == CURLE_OK && exchange->body != NULL)
		code = set_body(curl, exchange);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_WRITEDATA, running);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_HEADERDATA, running);
	if (code == CURLE_OK)
		code = set_pointer(curl, CURLOPT_ERRORBUFFER, connection->detail);
	return code;
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

static bool
is_over(const GbeExchange *exchange)
{
	return exchange->deadline > 0 && g_get_monotonic_time() + OVER_USEC >= exchange->deadline;
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
	code = headers != NULL ? set_exchange(connection, &running, headers) : CURLE_OUT_OF_MEMORY;
	if (code == CURLE_OK)
		code = set_limits(connection->curl, left_ms, exchange->idle_seconds);
	if (code == CURLE_OK)
		code = perform(connection, exchange->deadline);
	(void)set_pointer(connection->curl, CURLOPT_HTTPHEADER, NULL);
	lib.curl_slist_free_all(headers);
	(void)lib.curl_easy_getinfo(connection->curl, CURLINFO_RESPONSE_CODE, &status);
	connection->met = connection->met || status != 0;
	/* The server gives up at the same moment, and may not say why. */
	if (code == CURLE_HTTP2_STREAM && is_over(exchange))
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

bool
gbe_connection_set_bulk(GbeConnection *connection, const char *proxy, guint64 rate,
			GbeCallFailure *ret_failure)
{
	curl_off_t limit = (curl_off_t)rate;
	CURL *curl = connection->curl;
	CURLcode code = CURLE_OK;

	if (proxy != NULL)
		code = set_text(curl, CURLOPT_NOPROXY, "");
	if (code == CURLE_OK)
		code = set_text(curl, CURLOPT_PROXY, proxy != NULL ? proxy : "");
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_PATH_AS_IS, 1L);
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_BUFFERSIZE, BULK_BUFFER);
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_UPLOAD_BUFFERSIZE, BULK_BUFFER);
	if (code == CURLE_OK)
		code = set_number(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	if (code == CURLE_OK)
		code = lib.curl_easy_setopt(curl, CURLOPT_MAX_SEND_SPEED_LARGE, limit);
	if (code == CURLE_OK)
		code = lib.curl_easy_setopt(curl, CURLOPT_MAX_RECV_SPEED_LARGE, limit);
	return code == CURLE_OK ||
	       gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "%s", lib.curl_easy_strerror(code));
}
