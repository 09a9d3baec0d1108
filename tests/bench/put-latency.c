/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * put-latency PORT COUNT BYTES KEYS SEED: COUNT puts of BYTES random bytes each, one after the other, to random ones of
 * KEYS keys. They use one connection to etcd's JSON gateway on 127.0.0.1. Prints the median and the 99th percentile in
 * microseconds. A process per put would measure processes.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
	int fd;
	int port;
	gsize bytes;
	gint32 keys;
	GRand *random;
	guchar *value;
} Client;

static bool
client_connect(Client *client)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET,
	    .sin_port = htons((guint16)client->port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1;

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return client->fd >= 0 &&
	       connect(client->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
	       setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0;
}

static char *
make_request(Client *client)
{
	g_autofree char *key =
	    g_strdup_printf("bench/%08d", g_rand_int_range(client->random, 0, client->keys));
	g_autofree char *key64 = g_base64_encode((const guchar *)key, strlen(key));
	g_autofree char *value64 = NULL;
	g_autofree char *body = NULL;

	for (gsize i = 0; i < client->bytes; i++)
		client->value[i] = (guchar)g_rand_int(client->random);
	value64 = g_base64_encode(client->value, client->bytes);
	body = g_strdup_printf("{\"key\":\"%s\",\"value\":\"%s\"}", key64, value64);
	return g_strdup_printf("POST /v3/kv/put HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
			       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
			       client->port, strlen(body), body);
}

static bool
send_all(int fd, const char *text)
{
	gsize size = strlen(text);

	while (size > 0) {
		ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		text += sent;
		size -= (gsize)sent;
	}
	return true;
}

/* A whole answer: head, then as many bytes as it announces. */
static bool
receive(int fd)
{
	char answer[8192];
	gsize got = 0;

	for (;;) {
		ssize_t n = recv(fd, answer + got, sizeof answer - 1 - got, 0);
		const char *body, *length;

		if (n <= 0 || got + (gsize)n >= sizeof answer - 1)
			return false;
		got += (gsize)n;
		answer[got] = '\0';
		body = strstr(answer, "\r\n\r\n");
		if (body == NULL)
			continue;
		length = strstr(answer, "Content-Length: ");
		if (!g_str_has_prefix(answer, "HTTP/1.1 200") || length == NULL || length > body)
			return false;
		if (strlen(body + 4) >= strtoul(length + strlen("Content-Length: "), NULL, 10))
			return strstr(body, "\"revision\"") != NULL;
	}
}

static int
compare(const void *a, const void *b)
{
	gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static bool
put(Client *client, gint64 *ret_usec)
{
	g_autofree char *request = make_request(client);
	gint64 began = g_get_monotonic_time();

	if (!send_all(client->fd, request) || !receive(client->fd))
		return false;
	*ret_usec = g_get_monotonic_time() - began;
	return true;
}

int
main(int argc, char **argv)
{
	Client client = {.fd = -1};
	g_autofree gint64 *usec = NULL;
	long count;

	if (argc != 6 || (count = strtol(argv[2], NULL, 10)) <= 0) {
		fprintf(stderr, "usage: %s PORT COUNT BYTES KEYS SEED\n", argv[0]);
		return 2;
	}
	client.port = (int)strtol(argv[1], NULL, 10);
	client.bytes = (gsize)strtoul(argv[3], NULL, 10);
	client.keys = (gint32)strtol(argv[4], NULL, 10);
	client.random = g_rand_new_with_seed((guint32)strtoul(argv[5], NULL, 10));
	client.value = g_malloc(client.bytes);
	usec = g_new(gint64, (gsize)count);
	if (!client_connect(&client)) {
		perror("put-latency: connect");
		return 1;
	}
	for (long i = 0; i < count; i++)
		if (!put(&client, &usec[i])) {
			fprintf(stderr, "put-latency: put %ld got no answer\n", i);
			return 1;
		}
	qsort(usec, (gsize)count, sizeof *usec, compare);
	printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", usec[count / 2],
	       usec[count * 99 / 100]);
	g_rand_free(client.random);
	g_free(client.value);
	return close(client.fd) < 0 ? 1 : 0;
}
