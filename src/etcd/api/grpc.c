/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/grpc.h"

#include <string.h>

#define HTTP_OK 200
/* Bytes of the server's message that are kept. */
#define STATUS_MESSAGE_MAX 512

void
gbe_grpc_answer_init(GbeGrpcAnswer *answer, gsize limit, GbeGrpcTake take, gpointer data)
{
	*answer = (GbeGrpcAnswer){.limit = limit, .take = take, .data = data, .status = -1};
	answer->message = g_byte_array_new();
}

bool
gbe_grpc_answer_push(const guint8 *bytes, gsize size, gpointer data)
{
	GbeGrpcAnswer *answer = data;
	const guint8 *end = size > 0 ? bytes + size : bytes;

	if (answer->bad != NULL || answer->stopped)
		return false;
	while (bytes < end) {
		guint32 want;
		gsize part;

		if (answer->head_size < sizeof(answer->head)) {
			answer->head[answer->head_size++] = *bytes++;
			if (answer->head_size < sizeof(answer->head))
				continue;
			/* A flag for compression, which was not requested, and the size. */
			memcpy(&want, answer->head + 1, sizeof(want));
			answer->want = GUINT32_FROM_BE(want);
			if (answer->head[0] != 0)
				answer->bad = "a message that is compressed";
			else if (answer->want > answer->limit)
				answer->bad = "a message that is longer than etcd's would be";
			if (answer->bad != NULL)
				return false;
		}
		part = MIN((gsize)(end - bytes), answer->want - answer->message->len);
		if (part > 0)
			(void)g_byte_array_append(answer->message, bytes, (guint)part);
		bytes += part;
		if (answer->message->len < answer->want)
			continue;
		answer->stopped =
		    !answer->take(answer->message->data, answer->message->len, answer->data);
		answer->head_size = 0;
		(void)g_byte_array_set_size(answer->message, 0);
		if (answer->stopped)
			return false;
	}
	return true;
}

/* Decodes %XX; a "%" without two hex digits stands for itself. */
static char *
decode_message(const char *text, gsize size)
{
	GString *decoded = g_string_new(NULL);

	for (gsize i = 0; i < size && decoded->len < STATUS_MESSAGE_MAX; i++) {
		if (text[i] == '%' && size - i > 2 && g_ascii_isxdigit(text[i + 1]) &&
		    g_ascii_isxdigit(text[i + 2])) {
			(void)g_string_append_c(decoded,
						(char)(g_ascii_xdigit_value(text[i + 1]) << 4 |
						       g_ascii_xdigit_value(text[i + 2])));
			i += 2;
		} else {
			(void)g_string_append_c(decoded, text[i]);
		}
	}
	return g_string_free(decoded, false);
}

/* Takes at most two digits: gRPC has seventeen codes. Anything else is an unknown status, and no success. */
static gint
decode_status(const char *text, gsize size)
{
	gint status = 0;

	if (size == 0 || size > 2)
		return G_MAXINT;
	for (gsize i = 0; i < size; i++) {
		if (!g_ascii_isdigit(text[i]))
			return G_MAXINT;
		status = status * 10 + (text[i] - '0');
	}
	return status;
}

/* The value of the header with this name, without blanks around it. */
static bool
is_header(const char *line, gsize size, const char *name, const char **ret_value, gsize *ret_size)
{
	gsize length = strlen(name);

	if (size <= length || line[length] != ':' || g_ascii_strncasecmp(line, name, length) != 0)
		return false;
	line += length + 1;
	size -= length + 1;
	while (size > 0 && g_ascii_isspace(*line)) {
		line++;
		size--;
	}
	while (size > 0 && g_ascii_isspace(line[size - 1]))
		size--;
	*ret_value = line;
	*ret_size = size;
	return true;
}

void
gbe_grpc_answer_header(const char *line, gsize size, gpointer data)
{
	GbeGrpcAnswer *answer = data;
	static const char type[] = "application/grpc";
	const char *value;
	gsize length;

	if (is_header(line, size, "grpc-status", &value, &length)) {
		answer->status = decode_status(value, length);
	} else if (is_header(line, size, "grpc-message", &value, &length)) {
		g_free(answer->status_message);
		answer->status_message = decode_message(value, length);
	} else if (is_header(line, size, "content-type", &value, &length)) {
		/* "+proto" or a parameter may follow; "application/grpc-web" is another protocol. */
		answer->is_grpc =
		    length >= strlen(type) && g_ascii_strncasecmp(value, type, strlen(type)) == 0 &&
		    (length == strlen(type) || strchr("+; ", value[strlen(type)]) != NULL);
	}
}

bool
gbe_grpc_answer_is_complete(const GbeGrpcAnswer *answer)
{
	return answer->bad == NULL && answer->head_size == 0;
}

/* ---- a call ---- */

/* Does etcd ask for a user? Before 3.5, maintenance calls answer with the words of etcd's auth package and without
 * a code of their own. */
static bool
asks_for_user(guint status, const char *text)
{
	static const char *const words[] = {"user name is empty",
					    "user name not found",
					    "user not found",
					    "permission denied",
					    "invalid auth token",
					    "revision of auth store is old",
					    "revision in header is old",
					    "authentication failed, invalid user ID or password",
					    NULL};
	const char *colon = strstr(text, ": ");

	if (status == GBE_GRPC_PERMISSION_DENIED || status == GBE_GRPC_UNAUTHENTICATED)
		return true;
	return (g_str_has_prefix(text, "etcdserver: ") || g_str_has_prefix(text, "auth: ")) &&
	       g_strv_contains(words, colon + strlen(": "));
}

static bool
check_status(const GbeGrpcAnswer *answer, GbeCallFailure *ret_failure)
{
	const char *text = answer->status_message != NULL ? answer->status_message : "";

	if (answer->status == GBE_GRPC_OK)
		return true;
	if (*text == '\0')
		(void)gbe_call_fail(ret_failure, GBE_REACH_DENIED, "gRPC status %d",
				    answer->status);
	else
		(void)gbe_call_fail(ret_failure, GBE_REACH_DENIED, "%s", text);
	/* etcd reports its own timeouts with two codes and several texts (etcd.md, section 1). A server that stops
	 * after it has proposed a change reports the same. */
	if (answer->status == GBE_GRPC_DEADLINE_EXCEEDED ||
	    strstr(text, "deadline exceeded") != NULL || strstr(text, "timed out") != NULL ||
	    strstr(text, "server stopped") != NULL)
		ret_failure->reach = GBE_REACH_LATE;
	else if (asks_for_user((guint)answer->status, text))
		ret_failure->reach = GBE_REACH_NO_USER;
	ret_failure->status = (guint)answer->status;
	return false;
}

bool
gbe_grpc_call(GbeConnection *connection, const GbeGrpcCall *call, GbeCallFailure *ret_failure)
{
	g_auto(GbeGrpcAnswer) answer = {0};
	g_autoptr(GByteArray) body = g_byte_array_new();
	guint32 size = GUINT32_TO_BE(call->request != NULL ? call->request->len : 0);
	g_autofree char *timeout = NULL;
	g_autofree char *token = NULL;
	const char *headers[6] = {"content-type: application/grpc", "te: trailers"};
	guint n = 2;
	GbeExchange exchange = {.path = call->path,
				.headers = headers,
				.deadline = call->deadline,
				.idle_seconds = call->idle_seconds,
				.take = gbe_grpc_answer_push,
				.header = gbe_grpc_answer_header,
				.data = &answer};
	long status = 0;
	bool cut = false;

	/* Five bytes are before the message: no compression, and the size. */
	(void)g_byte_array_append(body, (const guint8 *)"", 1);
	(void)g_byte_array_append(body, (const guint8 *)&size, sizeof(size));
	if (call->request != NULL)
		(void)g_byte_array_append(body, call->request->data, call->request->len);
	exchange.body = body->data;
	exchange.size = body->len;
	if (call->needs_leader)
		headers[n++] = "hasleader: true";
	if (call->deadline > 0) {
		gint64 left_ms = (call->deadline - g_get_monotonic_time()) / 1000;

		/* At most eight digits and a unit, rounded down: the client ends the call itself. */
		timeout = g_strdup_printf("grpc-timeout: %" G_GINT64_FORMAT "m",
					  CLAMP(left_ms, 1, G_GINT64_CONSTANT(99999999)));
		headers[n++] = timeout;
	}
	if (call->token != NULL)
		headers[n++] = token = g_strconcat("token: ", call->token, NULL);
	gbe_grpc_answer_init(&answer, call->limit, call->take, call->data);
	if (!gbe_connection_ask(connection, &exchange, &status, &cut, ret_failure)) {
		/* The server said why before it broke off. */
		if (ret_failure->reach == GBE_REACH_DROPPED && answer.is_grpc && answer.status > 0)
			(void)check_status(&answer, ret_failure);
		return false;
	}
	if (status != HTTP_OK || !answer.is_grpc)
		return gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				     "it speaks HTTP (status %ld), and no gRPC", status);
	if (answer.bad != NULL)
		return gbe_call_fail(ret_failure, GBE_REACH_FOREIGN, "it sent %s", answer.bad);
	if (answer.stopped)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "taken no further");
	if (answer.status < 0 || (answer.status == 0 && !gbe_grpc_answer_is_complete(&answer)))
		return gbe_call_fail(ret_failure, GBE_REACH_DROPPED, "the answer has no end");
	return check_status(&answer, ret_failure);
}
