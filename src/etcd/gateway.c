/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/gateway.h"

#include <string.h>

#include "core/record.h"

#define HTTP_OK 200
#define HTTP_NOT_FOUND 404

static bool
take(const guint8 *bytes, gsize size, gpointer data)
{
	GString *answer = data;

	if (size > GBE_GATEWAY_MAX - answer->len)
		return false;
	(void)g_string_append_len(answer, (const char *)bytes, (gssize)size);
	return true;
}

/* Both generations of the gateway have "message" and "code"; the older one "error" besides. */
static bool
fail(const GString *answer, long status, GbeCallFailure *ret_failure)
{
	g_autoptr(JsonObject) object = NULL;
	const char *text;
	gint64 code;

	if (!gbe_json_parse_object(answer->str, answer->len, "the answer", &object, NULL) ||
	    (code = gbe_json_int(object, "code", -1)) <= 0)
		return gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				     "it answers as no gateway of etcd's (HTTP %ld%s)", status,
				     status == HTTP_NOT_FOUND ? ", --enable-grpc-gateway=true?"
							      : "");
	text = gbe_json_string(object, "message", gbe_json_string(object, "error", "no reason"));
	(void)gbe_call_fail(ret_failure, GBE_REACH_DENIED, "%s", text);
	if (code == GBE_GRPC_DEADLINE_EXCEEDED || strstr(text, "deadline exceeded") != NULL ||
	    strstr(text, "timed out") != NULL)
		ret_failure->reach = GBE_REACH_LATE;
	ret_failure->status = (guint)MIN(code, G_MAXUINT);
	return false;
}

bool
gbe_gateway_call(GbeConnection *connection, const char *path, const char *request,
		 gboolean needs_leader, gint64 deadline, GString **ret_answer,
		 GbeCallFailure *ret_failure)
{
	GString *answer = g_string_new(NULL);
	gint64 left_ms = MAX((deadline - g_get_monotonic_time()) / 1000, 1);
	g_autofree char *timeout = g_strdup_printf("Grpc-Timeout: %" G_GINT64_FORMAT "m", left_ms);
	const char *headers[] = {"Content-Type: application/json", timeout,
				 needs_leader ? "Grpc-Metadata-hasleader: true" : NULL, NULL};
	GbeExchange exchange = {.path = path,
				.headers = headers,
				.body = request,
				.size = strlen(request),
				.deadline = deadline,
				.take = take,
				.data = answer};
	long status = 0;
	bool cut = false;
	bool ok = gbe_connection_ask(connection, &exchange, &status, &cut, ret_failure);

	if (ok && cut)
		ok = gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				   "the answer is longer than etcd's would be");
	else if (ok && status != HTTP_OK)
		ok = fail(answer, status, ret_failure);
	if (ok)
		*ret_answer = answer;
	else
		(void)g_string_free(answer, TRUE);
	return ok;
}
