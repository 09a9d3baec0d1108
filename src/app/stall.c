/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/stall.h"

#include <signal.h>

#include "etcd/client.h"

#define BETWEEN_USEC 5000
/* etcd itself gives up after seven seconds. */
#define ATTEMPT_USEC (5 * G_USEC_PER_SEC)

struct GbeStall {
	GbeEndpoint endpoint;
	GThread *thread;
	struct sigaction before;
	gint tried, over; /* atomic */
	gboolean began;	  /* one went through */
	gint64 longest;	  /* of those after it; -1: none */
};

static bool
write_once(GbeStall *stall, GbeClient **client)
{
	g_auto(GbeCallFailure) failure = {0};
	gint64 deadline = g_get_monotonic_time() + ATTEMPT_USEC;

	if (*client == NULL && !gbe_client_open(&stall->endpoint, client, &failure))
		return false;
	return gbe_client_write_nothing(*client, deadline, &failure);
}

static gpointer
write_on(gpointer data)
{
	GbeStall *stall = data;
	g_autoptr(GbeClient) client = NULL;
	gint64 since = g_get_monotonic_time();

	/* One at least that was under way, or came right after it. */
	while (g_atomic_int_get(&stall->over) == 0 || stall->longest < 0) {
		bool through = write_once(stall, &client);

		/* The first has the connection to open, and is not counted. */
		if (stall->began)
			stall->longest = MAX(stall->longest, g_get_monotonic_time() - since);
		stall->began = stall->began || through;
		g_atomic_int_set(&stall->tried, 1);
		/* Who may not write at all is not heard again. */
		if (!stall->began)
			break;
		g_usleep(BETWEEN_USEC);
		if (through)
			since = g_get_monotonic_time();
	}
	return NULL;
}

GbeStall *
gbe_stall_begin(const GbeEndpoint *endpoint)
{
	GbeStall *stall = g_new0(GbeStall, 1);
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	stall->endpoint = *endpoint;
	stall->longest = -1;
	(void)sigaction(SIGPIPE, &ignore, &stall->before);
	stall->thread = g_thread_new("writer", write_on, stall);
	while (g_atomic_int_get(&stall->tried) == 0)
		g_usleep(1000);
	return stall;
}

gint64
gbe_stall_end(GbeStall *stall)
{
	gint64 longest;

	g_atomic_int_set(&stall->over, 1);
	(void)g_thread_join(stall->thread);
	(void)sigaction(SIGPIPE, &stall->before, NULL);
	longest = stall->longest;
	g_free(stall);
	return longest;
}
