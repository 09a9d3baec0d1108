/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/http.h"

#include <curl/curl.h>
#include <string.h>

#define UNIX_SCHEME "unix://"

struct GbeHttp {
	CURL *curl;
	char *base; /* without the slash at its end */
	bool tls;
	gint64 deadline; /* monotonic, microseconds */
};

void
gbe_http_reply_clear(GbeHttpReply *reply)
{
	if (reply->body != NULL)
		(void)g_string_free(reply->body, TRUE);
	g_free(reply->why);
	*reply = (GbeHttpReply){0};
}

void
gbe_http_close(GbeHttp *http)
{
	if (http == NULL)
		return;
	if (http->curl != NULL)
		curl_easy_cleanup(http->curl);
	g_free(http->base);
	g_free(http);
}

static size_t
take_body(char *bytes, size_t size, size_t count, void *data)
{
	GString *body = data;
	gsize length = size * count;

	/* Fewer than given: libcurl stops with an error. */
	if (length > GBE_HTTP_MAX_BODY - body->len)
		return 0;
	(void)g_string_append_len(body, bytes, (gssize)length);
	return length;
}

/* A TLS stack of today tells of a missing client certificate only when the answer is read: what would be
 * a broken connection elsewhere is then a matter of certificates. */
static GbeHttpFailure
failure_of(const GbeHttp *http, CURLcode code)
{
	switch ((int)code) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
		return GBE_HTTP_DOWN;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return http->tls ? GBE_HTTP_TLS : GBE_HTTP_DROPPED;
	case CURLE_PARTIAL_FILE:
		return GBE_HTTP_DROPPED;
	case CURLE_GOT_NOTHING:
		return GBE_HTTP_SILENT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return GBE_HTTP_TLS;
	default:
		return GBE_HTTP_LOCAL;
	}
}

static bool
fail(GbeHttpReply *reply, GbeHttpFailure failure, const char *why)
{
	gbe_http_reply_clear(reply);
	reply->failure = failure;
	reply->why = g_strdup(why);
	return false;
}

static bool
is_set(const char *path)
{
	return path != NULL && *path != '\0';
}

static CURLcode
set_tls(CURL *curl, const GbeEndpoint *endpoint)
{
	CURLcode code = CURLE_OK;

	if (is_set(endpoint->cacert))
		code = curl_easy_setopt(curl, CURLOPT_CAINFO, endpoint->cacert);
	if (code == CURLE_OK && is_set(endpoint->cert))
		code = curl_easy_setopt(curl, CURLOPT_SSLCERT, endpoint->cert);
	if (code == CURLE_OK && is_set(endpoint->key))
		code = curl_easy_setopt(curl, CURLOPT_SSLKEY, endpoint->key);
	return code;
}

/* No proxy and no redirection: etcd is asked, or nobody. */
static CURLcode
set_common(CURL *curl)
{
	CURLcode code;

#if LIBCURL_VERSION_NUM >= 0x075500
	code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 16384L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	return code;
}

static CURLcode
set_endpoint(GbeHttp *http, const GbeEndpoint *endpoint)
{
	const char *url = endpoint->endpoint;
	gsize length;

	if (g_str_has_prefix(url, UNIX_SCHEME)) {
		http->base = g_strdup("http://localhost");
		return curl_easy_setopt(http->curl, CURLOPT_UNIX_SOCKET_PATH,
					url + strlen(UNIX_SCHEME));
	}
	length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		length--;
	http->base = g_strndup(url, length);
	http->tls = g_ascii_strncasecmp(url, "https://", strlen("https://")) == 0;
	return http->tls ? set_tls(http->curl, endpoint) : CURLE_OK;
}

bool
gbe_http_open(const GbeEndpoint *endpoint, GbeHttp **ret_http, GbeHttpReply *ret_reply)
{
	g_autoptr(GbeHttp) http = g_new0(GbeHttp, 1);
	const char *url = endpoint->endpoint;
	CURLcode code;

	http->deadline = g_get_monotonic_time() + (gint64)endpoint->timeout_ms * 1000;
	if (!is_set(url))
		return fail(ret_reply, GBE_HTTP_LOCAL, "no endpoint is configured");
	if (g_str_has_prefix(url, UNIX_SCHEME) && url[strlen(UNIX_SCHEME)] != '/')
		return fail(
		    ret_reply, GBE_HTTP_LOCAL,
		    "unix:// needs the absolute path of a socket, as unix:///run/etcd.sock");
	http->curl = curl_easy_init();
	if (http->curl == NULL)
		return fail(ret_reply, GBE_HTTP_LOCAL, "libcurl cannot be used");
	code = set_common(http->curl);
	if (code == CURLE_OK)
		code = set_endpoint(http, endpoint);
	if (code != CURLE_OK)
		return fail(ret_reply, GBE_HTTP_LOCAL, curl_easy_strerror(code));
	*ret_http = g_steal_pointer(&http);
	return true;
}

bool
gbe_http_get(GbeHttp *http, const char *path, GbeHttpReply *ret_reply)
{
	gint64 left_ms = (http->deadline - g_get_monotonic_time()) / 1000;
	char detail[CURL_ERROR_SIZE] = "";
	g_autofree char *url = g_strconcat(http->base, path, NULL);
	CURLcode code;

	gbe_http_reply_clear(ret_reply);
	if (left_ms <= 0)
		return fail(ret_reply, GBE_HTTP_DOWN, "no time was left");
	ret_reply->body = g_string_new(NULL);
	code = curl_easy_setopt(http->curl, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->curl, CURLOPT_WRITEDATA, ret_reply->body);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->curl, CURLOPT_ERRORBUFFER, detail);
	if (code == CURLE_OK)
		code = curl_easy_perform(http->curl);
	(void)curl_easy_setopt(http->curl, CURLOPT_ERRORBUFFER, NULL);
	if (code == CURLE_WRITE_ERROR)
		return fail(ret_reply, GBE_HTTP_LOCAL, "the answer is longer than etcd's would be");
	if (code != CURLE_OK)
		return fail(ret_reply, failure_of(http, code),
			    *detail != '\0' ? detail : curl_easy_strerror(code));
	(void)curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &ret_reply->status);
	return true;
}
