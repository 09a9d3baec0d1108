/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* health-probe N ENDPOINT CACERT CERT KEY: what a check asks of etcd, once, and N times more on the connection that
 * is open by then. Prints the microseconds of the first, and the median of the others. */
#include "etcd/api/client.h"

#include <stdio.h>
#include <stdlib.h>

#define LIMIT_USEC (5 * G_USEC_PER_SEC)

static int
compare(gconstpointer a, gconstpointer b)
{
	gint64 x = *(const gint64 *)a;
	gint64 y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static gint64
probe(const GbeEndpoint *endpoint, GbeClient **client, GbeHealthFacts *facts)
{
	gint64 began = g_get_monotonic_time();

	gbe_health_facts_reset(facts);
	gbe_health_inquire(endpoint, began + LIMIT_USEC, client, facts);
	if (facts->read.reach != GBE_REACH_ANSWERED || facts->write.reach != GBE_REACH_ANSWERED) {
		(void)fprintf(stderr, "health-probe: no answer: %s\n",
			      facts->status.why != NULL ? facts->status.why : "?");
		exit(1);
	}
	return g_get_monotonic_time() - began;
}

int
main(int argc, char **argv)
{
	g_autoptr(GbeHealthFacts) facts = gbe_health_facts_new();
	g_autoptr(GArray) times = g_array_new(false, false, sizeof(gint64));
	g_autoptr(GbeClient) client = NULL;
	GbeEndpoint endpoint;
	gint64 first;

	if (argc != 6 || atoi(argv[1]) < 1)
		return 2;
	endpoint =
	    (GbeEndpoint){.endpoint = argv[2], .cacert = argv[3], .cert = argv[4], .key = argv[5]};
	first = probe(&endpoint, &client, facts);
	for (int i = 0; i < atoi(argv[1]); i++) {
		gint64 took = probe(&endpoint, &client, facts);

		g_array_append_val(times, took);
	}
	g_array_sort(times, compare);
	(void)printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", first,
		     g_array_index(times, gint64, times->len / 2));
	return 0;
}
