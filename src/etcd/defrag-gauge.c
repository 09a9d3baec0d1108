/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/defrag-gauge.h"

#include <string.h>

#define NAME "etcd_disk_defrag_inflight"
/* Lines that are longer are others. */
#define LONGEST_LINE 128

typedef struct {
	char line[LONGEST_LINE];
	gsize used; /* LONGEST_LINE: too long, passed over up to its end */
	GbeTri answer;
} Gauge;

GbeTri
gbe_defrag_gauge_line(const char *line, gsize size)
{
	gsize name = strlen(NAME);

	if (size < name + 2 || memcmp(line, NAME, name) != 0 || line[name] != ' ')
		return GBE_UNKNOWN;
	if (size == name + 2 && line[name + 1] == '0')
		return GBE_NO;
	return g_ascii_isdigit(line[name + 1]) ? GBE_YES : GBE_UNKNOWN;
}

static bool
take(const guint8 *bytes, gsize size, gpointer data)
{
	Gauge *gauge = data;

	for (gsize i = 0; i < size; i++) {
		if (bytes[i] != '\n') {
			if (gauge->used < LONGEST_LINE)
				gauge->line[gauge->used++] = (char)bytes[i];
			continue;
		}
		if (gauge->used < LONGEST_LINE)
			gauge->answer = gbe_defrag_gauge_line(gauge->line, gauge->used);
		gauge->used = 0;
		if (gauge->answer != GBE_UNKNOWN)
			return false;
	}
	return true;
}

GbeTri
gbe_defrag_gauge_ask(const GbeEndpoint *endpoint, gint64 deadline)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeConnection) connection = NULL;
	/* Without TLS, what comes as HTTP/2 is gRPC's (etcd.md, section 1). */
	GbeEndpoint http = *endpoint;
	Gauge gauge = {.answer = GBE_UNKNOWN};
	GbeExchange exchange = {.path = "/metrics",
				.deadline = deadline,
				.take = take,
				.data = &gauge};
	long status = 0;
	bool cut = false;

	http.json = TRUE;
	if (!gbe_connection_open(&http, &connection, &failure) ||
	    !gbe_connection_post(connection, &exchange, &status, &cut, &failure) || status != 200)
		return GBE_UNKNOWN;
	return gauge.answer;
}
