/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/grpc.h"

#include <string.h>

#define HTTP_OK 200

static bool
take(const guint8 *bytes, gsize size, gpointer data)
{
	return gbe_grpc_answer_push(data, bytes, size);
}

static void
header(const char *line, gsize size, gpointer data)
{
	gbe_grpc_answer_header(data, line, size);
}

/* Puts the five bytes before the message: no compression, and the size. */
static GByteArray *
frame(const GByteArray *request)
{
	guint32 size = GUINT32_TO_BE(request->len);
	GByteArray *framed = g_byte_array_sized_new(5 + request->len);

	(void)g_byte_array_append(framed, (const guint8 *)"", 1);
	(void)g_byte_array_append(framed, (const guint8 *)&size, sizeof(size));
	return g_byte_array_append(framed, request->data, request->len);
}

/* At most eight digits and a unit, rounded down: the client ends the call itself. */
static char *
timeout_header(gint64 deadline)
{
	gint64 left_ms = (deadline - g_get_monotonic_time()) / 1000;

	return g_strdup_printf("grpc-timeout: %" G_GINT64_FORMAT "m",
			       CLAMP(left_ms, 1, G_GINT64_CONSTANT(99999999)));
}

/* etcd reports its own timeouts with two codes and several texts (etcd.md, section 1), and so a server that stops after
 * it has proposed a change. */
static bool
is_late(const GbeGrpcAnswer *answer)
{
	const char *text = answer->status_message != NULL ? answer->status_message : "";

	return answer->status == GBE_GRPC_DEADLINE_EXCEEDED ||
	       strstr(text, "deadline exceeded") != NULL || strstr(text, "timed out") != NULL ||
	       strstr(text, "server stopped") != NULL;
}

/* Before 3.5, maintenance calls answer with the words of etcd's auth package and without a code of their own. */
static bool
asks_for_user(const GbeGrpcAnswer *answer)
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
	const char *text = answer->status_message != NULL ? answer->status_message : "";

	if (answer->status == GBE_GRPC_PERMISSION_DENIED ||
	    answer->status == GBE_GRPC_UNAUTHENTICATED)
		return true;
	if (g_str_has_prefix(text, "etcdserver: "))
		text += strlen("etcdserver: ");
	else if (g_str_has_prefix(text, "auth: "))
		text += strlen("auth: ");
	else
		return false;
	return g_strv_contains(words, text);
}

static bool
check_status(const GbeGrpcAnswer *answer, GbeCallFailure *ret_failure)
{
	const char *text = answer->status_message;

	if (answer->status == GBE_GRPC_OK)
		return true;
	if (text == NULL || *text == '\0')
		(void)gbe_call_fail(ret_failure, GBE_REACH_DENIED, "gRPC status %d",
				    answer->status);
	else
		(void)gbe_call_fail(ret_failure, GBE_REACH_DENIED, "%s", text);
	if (is_late(answer))
		ret_failure->reach = GBE_REACH_LATE;
	else if (asks_for_user(answer))
		ret_failure->reach = GBE_REACH_NO_USER;
	ret_failure->status = (guint)answer->status;
	return false;
}

static bool
check(const GbeGrpcAnswer *answer, long status, GbeCallFailure *ret_failure)
{
	if (status != HTTP_OK || !answer->is_grpc)
		return gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				     "it speaks HTTP (status %ld), and no gRPC", status);
	if (answer->bad != NULL)
		return gbe_call_fail(ret_failure, GBE_REACH_FOREIGN, "it sent %s", answer->bad);
	if (answer->stopped)
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL, "taken no further");
	if (answer->status < 0 || (answer->status == 0 && !gbe_grpc_answer_is_complete(answer)))
		return gbe_call_fail(ret_failure, GBE_REACH_DROPPED, "the answer has no end");
	return check_status(answer, ret_failure);
}

bool
gbe_grpc_call(GbeConnection *connection, const GbeGrpcCall *call, GbeCallFailure *ret_failure)
{
	g_auto(GbeGrpcAnswer) answer = {0};
	g_autoptr(GByteArray) body = frame(call->request);
	g_autofree char *timeout = call->deadline > 0 ? timeout_header(call->deadline) : NULL;
	g_autofree char *token =
	    call->token != NULL ? g_strconcat("token: ", call->token, NULL) : NULL;
	const char *headers[6] = {"content-type: application/grpc", "te: trailers"};
	guint n = 2;
	GbeExchange exchange = {.path = call->path,
				.headers = headers,
				.body = body->data,
				.size = body->len,
				.deadline = call->deadline,
				.idle_seconds = call->idle_seconds,
				.take = take,
				.header = header,
				.data = &answer};
	long status = 0;
	bool cut = false;

	if (call->needs_leader)
		headers[n++] = "hasleader: true";
	if (timeout != NULL)
		headers[n++] = timeout;
	if (token != NULL)
		headers[n++] = token;
	gbe_grpc_answer_init(&answer, call->limit, call->take, call->data);
	if (!gbe_connection_ask(connection, &exchange, &status, &cut, ret_failure)) {
		/* The server said why before it broke off. */
		if (ret_failure->reach == GBE_REACH_DROPPED && answer.is_grpc && answer.status > 0)
			(void)check_status(&answer, ret_failure);
		return false;
	}
	return check(&answer, status, ret_failure);
}
