/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/grpc-answer.h"

#include <string.h>

/* Bytes of the server's message that are kept. */
#define STATUS_MESSAGE_MAX 512

void
gbe_grpc_answer_init(GbeGrpcAnswer *answer, gsize limit, GbeGrpcTake take, gpointer data)
{
	*answer = (GbeGrpcAnswer){.limit = limit, .take = take, .data = data, .status = -1};
	answer->message = g_byte_array_new();
}

void
gbe_grpc_answer_clear(GbeGrpcAnswer *answer)
{
	g_clear_pointer(&answer->message, g_byte_array_unref);
	g_clear_pointer(&answer->status_message, g_free);
}

static bool
bad(GbeGrpcAnswer *answer, const char *why)
{
	answer->bad = why;
	return false;
}

/* Reads the head of a message: a flag for compression, which was not requested, and the size. */
static bool
read_head(GbeGrpcAnswer *answer)
{
	guint32 size;

	if (answer->head[0] != 0)
		return bad(answer, "a message that is compressed");
	memcpy(&size, answer->head + 1, sizeof(size));
	answer->want = GUINT32_FROM_BE(size);
	if (answer->want > answer->limit)
		return bad(answer, "a message that is longer than etcd's would be");
	return true;
}

static bool
end_message(GbeGrpcAnswer *answer)
{
	answer->stopped = !answer->take(answer->message->data, answer->message->len, answer->data);
	answer->head_size = 0;
	(void)g_byte_array_set_size(answer->message, 0);
	return !answer->stopped;
}

bool
gbe_grpc_answer_push(GbeGrpcAnswer *answer, const guint8 *bytes, gsize size)
{
	const guint8 *end = size > 0 ? bytes + size : bytes;

	if (answer->bad != NULL || answer->stopped)
		return false;
	while (bytes < end) {
		gsize part;

		if (answer->head_size < sizeof(answer->head)) {
			answer->head[answer->head_size++] = *bytes++;
			if (answer->head_size < sizeof(answer->head))
				continue;
			if (!read_head(answer))
				return false;
		}
		part = MIN((gsize)(end - bytes), answer->want - answer->message->len);
		if (part > 0)
			(void)g_byte_array_append(answer->message, bytes, (guint)part);
		bytes += part;
		if (answer->message->len == answer->want && !end_message(answer))
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
gbe_grpc_answer_header(GbeGrpcAnswer *answer, const char *line, gsize size)
{
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
