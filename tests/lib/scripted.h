/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server that misbehaves on demand, as no real etcd does. serve() answers every connection with the same bytes.
 * scripted_start() speaks HTTP/2 (RFC 9113) as far as a gRPC client needs. The first question on any connection gets
 * the first script. The last script answers all further questions. Included after etcd-real.h.
 */
#pragma once

#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>

typedef enum {
	SCRIPT_ANSWER,
	SCRIPT_SILENT,	  /* takes the question, and sends nothing */
	SCRIPT_CUT,	  /* half of the answer, then the connection is closed */
	SCRIPT_RESET,	  /* half of the answer, then the stream is reset */
	SCRIPT_FLOOD,	  /* announces 4 GiB, and sends forever */
	SCRIPT_EMPTY,	  /* sends frames without content, forever */
	SCRIPT_DRIP,	  /* the answer, one byte in 50 ms */
	SCRIPT_NO_STATUS, /* the answer without its final status */
	SCRIPT_TEXT,	  /* HTTP/2 without gRPC */
	SCRIPT_GARBAGE,	  /* invalid frames */
} ScriptAct;

typedef struct {
	ScriptAct act;
	const void *message; /* protocol buffers; NULL: no message */
	gsize size;
	const char *status; /* grpc-status; NULL: "0" */
	const char *text;   /* grpc-message */
} Script;

enum { H2_DATA = 0, H2_HEADERS = 1, H2_RST_STREAM = 3, H2_SETTINGS = 4 };
enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4 };

static inline bool
send_all(int fd, const void *bytes, gsize size)
{
	for (gsize at = 0; at < size;) {
		ssize_t sent = send(fd, (const guint8 *)bytes + at, size - at, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += (gsize)sent;
	}
	return true;
}

static inline void
h2_put_frame(GByteArray *to, guint8 type, guint8 flags, guint32 stream, const void *bytes,
	     gsize size)
{
	guint8 head[9] = {(guint8)(size >> 16), (guint8)(size >> 8), (guint8)size, type, flags};
	guint32 id = GUINT32_TO_BE(stream);

	memcpy(head + 5, &id, sizeof(id));
	(void)g_byte_array_append(to, head, sizeof(head));
	(void)g_byte_array_append(to, bytes, (guint)size);
}

/* A literal field without indexing, with a new name (RFC 7541, 6.2.2). */
static inline void
h2_put_field(GByteArray *to, const char *name, const char *value)
{
	guint8 lengths[2] = {(guint8)strlen(name), (guint8)strlen(value)};

	(void)g_byte_array_append(to, (const guint8 *)"", 1);
	(void)g_byte_array_append(to, &lengths[0], 1);
	(void)g_byte_array_append(to, (const guint8 *)name, lengths[0]);
	(void)g_byte_array_append(to, &lengths[1], 1);
	(void)g_byte_array_append(to, (const guint8 *)value, lengths[1]);
}

static inline GByteArray *
script_bytes(const Script *script, guint32 stream)
{
	GByteArray *bytes = g_byte_array_new();
	g_autoptr(GByteArray) fields = g_byte_array_new();
	g_autoptr(GByteArray) body = g_byte_array_new();
	guint32 size = GUINT32_TO_BE((guint32)script->size);
	bool flood = script->act == SCRIPT_FLOOD;

	/* :status 200, from the static table. */
	(void)g_byte_array_append(fields, (const guint8 *)"\x88", 1);
	h2_put_field(fields, "content-type",
		     script->act == SCRIPT_TEXT ? "text/plain" : "application/grpc");
	h2_put_frame(bytes, H2_HEADERS, H2_END_HEADERS, stream, fields->data, fields->len);
	if (script->message != NULL || flood) {
		(void)g_byte_array_append(body, (const guint8 *)"", 1);
		(void)g_byte_array_append(
		    body, flood ? (const guint8 *)"\xff\xff\xff\xff" : (const guint8 *)&size, 4);
		(void)g_byte_array_append(body, script->message, (guint)script->size);
		h2_put_frame(bytes, H2_DATA, script->act == SCRIPT_NO_STATUS ? H2_END_STREAM : 0,
			     stream, body->data, body->len);
	}
	if (script->act == SCRIPT_NO_STATUS || flood)
		return bytes;
	(void)g_byte_array_set_size(fields, 0);
	h2_put_field(fields, "grpc-status", script->status != NULL ? script->status : "0");
	h2_put_field(fields, "grpc-message", script->text != NULL ? script->text : "");
	h2_put_frame(bytes, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, stream, fields->data,
		     fields->len);
	return bytes;
}

/* False: the connection cannot be used any more. */
static inline bool
play_script(int fd, const Script *script, guint32 stream)
{
	g_autoptr(GByteArray) bytes = script_bytes(script, stream);
	g_autoptr(GByteArray) more = g_byte_array_new();
	guint8 block[16384] = {0};
	bool open;

	switch (script->act) {
	case SCRIPT_SILENT:
		return true;
	case SCRIPT_CUT:
		(void)send_all(fd, bytes->data, bytes->len / 2);
		return false;
	case SCRIPT_RESET:
		h2_put_frame(more, H2_RST_STREAM, 0, stream, "\0\0\0\2", 4);
		/* Header and message are sent and have been read; the trailers are not sent. */
		if (!send_all(fd, bytes->data, bytes->len - 9 - 30))
			return false;
		g_usleep(50 * 1000);
		return send_all(fd, more->data, more->len);
	case SCRIPT_FLOOD:
		h2_put_frame(more, H2_DATA, 0, stream, block, sizeof(block));
		while (send_all(fd, bytes->data, bytes->len)) {
			(void)g_byte_array_set_size(bytes, 0);
			(void)g_byte_array_append(bytes, more->data, more->len);
		}
		return false;
	case SCRIPT_EMPTY:
		for (guint i = 0; i < 1000; i++)
			h2_put_frame(more, H2_DATA, 0, stream, "", 0);
		open = send_all(fd, bytes->data, 9 + bytes->data[2]);
		while (open)
			open = send_all(fd, more->data, more->len);
		return false;
	case SCRIPT_DRIP:
		for (guint i = 0; i < bytes->len; i++) {
			if (!send_all(fd, bytes->data + i, 1))
				return false;
			g_usleep(50 * 1000);
		}
		return true;
	case SCRIPT_GARBAGE:
		memset(block, 0xa5, sizeof(block));
		return send_all(fd, block, sizeof(block));
	case SCRIPT_ANSWER:
	case SCRIPT_NO_STATUS:
	case SCRIPT_TEXT:
	default:
		return send_all(fd, bytes->data, bytes->len);
	}
}

static inline bool
read_all(int fd, guint8 *bytes, gsize size)
{
	while (size > 0) {
		ssize_t got = read(fd, bytes, size);

		if (got <= 0)
			return false;
		bytes += got;
		size -= (gsize)got;
	}
	return true;
}

static inline void
play_connection(int fd, const Script *scripts, guint n, guint *at)
{
	guint8 buffer[65536];
	g_autoptr(GByteArray) hello = g_byte_array_new();
	bool open = read_all(fd, buffer, 24);

	h2_put_frame(hello, H2_SETTINGS, 0, 0, "", 0);
	h2_put_frame(hello, H2_SETTINGS, H2_ACK, 0, "", 0);
	open = open && send_all(fd, hello->data, hello->len);
	while (open && read_all(fd, buffer, 9)) {
		gsize size = (gsize)buffer[0] << 16 | (gsize)buffer[1] << 8 | buffer[2];
		guint8 type = buffer[3];
		guint8 flags = buffer[4];
		guint32 stream;

		memcpy(&stream, buffer + 5, sizeof(stream));
		if (size > sizeof(buffer) || !read_all(fd, buffer, size))
			return;
		if ((type == H2_DATA || type == H2_HEADERS) && (flags & H2_END_STREAM) != 0) {
			open = play_script(fd, &scripts[MIN(*at, n - 1)], GUINT32_FROM_BE(stream));
			(*at)++;
		}
	}
}

static inline int
listen_locally(char **ret_url)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*ret_url = g_strdup_printf("http://127.0.0.1:%u", (guint)ntohs(address.sin_port));
	return fd;
}

static inline pid_t
scripted_start(const Script *scripts, guint n, char **ret_url)
{
	int listener = listen_locally(ret_url);
	pid_t pid = fork();
	guint at = 0;

	ck_assert_int_ge(pid, 0);
	while (pid == 0) {
		int fd = accept(listener, NULL, NULL);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		play_connection(fd, scripts, n, &at);
		(void)close(fd);
	}
	(void)close(listener);
	return pid;
}

/* Answers every connection with the same bytes and closes it. Without bytes, keeps it open and sends nothing. */
static inline pid_t
serve(const char *bytes, gsize size, char **ret_url)
{
	int listener = listen_locally(ret_url);
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	while (pid == 0) {
		char request[4096];
		int fd = accept(listener, NULL, NULL);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!read(fd, request, sizeof(request));
		if (bytes == NULL)
			continue;
		(void)send_all(fd, bytes, size);
		(void)shutdown(fd, SHUT_RDWR);
		(void)close(fd);
	}
	(void)close(listener);
	return pid;
}

static inline void
stop_server(pid_t pid)
{
	int status = 0;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
