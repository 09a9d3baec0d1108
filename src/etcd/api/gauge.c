/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/gauge.h"

#include <math.h>
#include <string.h>

/* The figures that we look for have shorter lines. */
#define LONGEST_LINE 128

typedef struct {
	const char *name;
	char line[LONGEST_LINE];
	gsize used; /* LONGEST_LINE: the line is too long and is skipped to its end */
	bool found;
	double value;
} Gauge;

bool
gbe_gauge_line(const char *name, const char *line, gsize size, double *ret_value)
{
	g_autofree char *number = NULL;
	gsize head = strlen(name);
	char *end = NULL;
	double value;

	if (size < head + 2 || memcmp(line, name, head) != 0 || line[head] != ' ' ||
	    !g_ascii_isdigit(line[head + 1]))
		return false;
	number = g_strndup(line + head + 1, size - head - 1);
	value = g_ascii_strtod(number, &end);
	if (*end != '\0' || !isfinite(value))
		return false;
	*ret_value = value;
	return true;
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
		gauge->found = gauge->used < LONGEST_LINE &&
			       gbe_gauge_line(gauge->name, gauge->line, gauge->used, &gauge->value);
		gauge->used = 0;
		if (gauge->found)
			return false;
	}
	return true;
}

bool
gbe_gauge_ask(GbeConnection *connection, const char *name, gint64 deadline, double *ret_value)
{
	g_auto(GbeCallFailure) failure = {0};
	Gauge gauge = {.name = name};
	GbeExchange exchange = {.path = "/metrics",
				.deadline = deadline,
				.take = take,
				.data = &gauge};
	long status = 0;
	bool cut = false;

	if (!gbe_connection_ask(connection, &exchange, &status, &cut, &failure) || status != 200 ||
	    !gauge.found)
		return false;
	*ret_value = gauge.value;
	return true;
}

bool
gbe_gauge_ask_apart(const GbeEndpoint *endpoint, const char *name, gint64 deadline,
		    double *ret_value)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeConnection) connection = NULL;

	return gbe_connection_open(endpoint, GBE_HTTP_1, &connection, &failure) &&
	       gbe_gauge_ask(connection, name, deadline, ret_value);
}

GbeTri
gbe_gauge_defragments(const GbeEndpoint *endpoint, gint64 deadline)
{
	double value = 0;

	if (!gbe_gauge_ask_apart(endpoint, GBE_GAUGE_DEFRAG, deadline, &value))
		return GBE_UNKNOWN;
	return gbe_tri(value > 0);
}
