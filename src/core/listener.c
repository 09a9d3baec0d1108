/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/listener.h"

#include <string.h>

#define LISTEN 0x0a /* TCP_LISTEN, linux/tcp_states.h */
#define FIELDS 10   /* the last one that matters is the inode */

gboolean
gbe_listen_url_parse(const char *url, char **ret_host, guint16 *ret_port)
{
	const char *host = strstr(url, "://");
	const char *colon;
	gsize length;
	guint64 port = 0;

	if (host == NULL || g_str_has_prefix(url, "unix"))
		return FALSE;
	host += strlen("://");
	colon = strrchr(host, ':');
	if (colon == NULL ||
	    !g_ascii_string_to_unsigned(colon + 1, 10, 1, G_MAXUINT16, &port, NULL))
		return FALSE;
	length = (gsize)(colon - host);
	if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
		host++;
		length -= 2;
	}
	*ret_host = g_strndup(host, length);
	*ret_port = (guint16)port;
	return TRUE;
}

/* Words of 32 bits, each as this machine prints it. */
static gboolean
parse_address(const char *text, gsize words, guint8 *address)
{
	for (gsize i = 0; i < words; i++) {
		g_autofree char *word = g_strndup(text + i * 8, 8);
		guint64 number = 0;
		guint32 stored;

		if (!g_ascii_string_to_unsigned(word, 16, 0, G_MAXUINT32, &number, NULL))
			return FALSE;
		stored = (guint32)number;
		memcpy(address + i * sizeof(stored), &stored, sizeof(stored));
	}
	return TRUE;
}

/* "0: 0100007F:094B 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 INODE ..." */
gboolean
gbe_listener_parse(const char *line, gboolean ipv6, GbeListener *ret_listener)
{
	g_auto(GStrv) words = g_strsplit_set(line, " \t\n", -1);
	GbeListener listener = {.ipv6 = ipv6};
	gsize digits = ipv6 ? 32 : 8;
	const char *fields[FIELDS];
	guint64 state = 0, port = 0;
	guint n = 0;

	for (guint i = 0; words[i] != NULL && n < FIELDS; i++)
		if (*words[i] != '\0')
			fields[n++] = words[i];
	if (n < FIELDS || strlen(fields[1]) != digits + 5 || fields[1][digits] != ':' ||
	    !g_ascii_string_to_unsigned(fields[3], 16, 0, 0xff, &state, NULL) || state != LISTEN ||
	    !g_ascii_string_to_unsigned(fields[1] + digits + 1, 16, 0, G_MAXUINT16, &port, NULL) ||
	    !g_ascii_string_to_unsigned(fields[9], 10, 0, G_MAXUINT64, &listener.inode, NULL) ||
	    !parse_address(fields[1], digits / 8, listener.address))
		return FALSE;
	listener.port = (guint16)port;
	*ret_listener = listener;
	return TRUE;
}

gboolean
gbe_listener_is_wildcard(const GbeListener *listener)
{
	static const guint8 zero[sizeof(listener->address)];

	return memcmp(listener->address, zero, sizeof(zero)) == 0;
}
