/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/queue.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include "app/state/history.h"
#include "sys/systemd/events.h"

#define PAUSE_FIRST 60
#define PAUSE_MOST (6 * 3600)

/* Wakes a sender: its pause is over, the network has changed, or something came into the queue. */
typedef struct {
	int timer_fd, network_fd, queue_fd;
} Wake;

static void
wake_clear(Wake *wake)
{
	gbe_close_fd(&wake->timer_fd);
	gbe_close_fd(&wake->network_fd);
	gbe_close_fd(&wake->queue_fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wake, wake_clear)

static int
open_network(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
					    .nl_groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
							 RTMGRP_LINK};
	gbe_autofd int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return gbe_steal_fd(&fd);
}

/* Without the network's news or the queue's, the pause alone wakes. */
static bool
open_wake(const GbeSnapshotStore *queue, Wake *wake, GError **error)
{
	g_autofree char *path =
	    g_strdup_printf("/proc/self/fd/%d", gbe_depot_directory(queue->depot));

	wake->network_fd = open_network();
	wake->queue_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (wake->queue_fd >= 0)
		(void)inotify_add_watch(wake->queue_fd, path, IN_CREATE | IN_MOVED_TO);
	/* Suspended time counts, and a clock that is set does not. */
	wake->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return wake->timer_fd >= 0 || gbe_throw_errno(error, errno, "cannot make a timer");
}

static void
forget_news(int fd)
{
	char bytes[4096];

	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

/* *ret_early (NULL: news do not wake): something has happened before the time was over. */
static bool
wait_for(const Wake *wake, guint seconds, bool *ret_early, GError **error)
{
	const struct itimerspec when = {.it_value = {.tv_sec = seconds}};
	struct pollfd fds[] = {{wake->timer_fd, POLLIN, 0},
			       {wake->network_fd, POLLIN, 0},
			       {wake->queue_fd, POLLIN, 0}};
	int n;

	if (timerfd_settime(wake->timer_fd, 0, &when, NULL) < 0)
		return gbe_throw_errno(error, errno, "cannot set a timer");
	do
		n = poll(fds, ret_early != NULL ? G_N_ELEMENTS(fds) : 1, -1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return gbe_throw_errno(error, errno, "cannot wait");
	if (ret_early != NULL)
		*ret_early = (fds[0].revents & POLLIN) == 0;
	return true;
}

/* News wait for the first pause to end: containers that come and go change the network all the time. */
static bool
pause_for(const Wake *wake, guint seconds, bool *ret_early, GError **error)
{
	*ret_early = false;
	if (!wait_for(wake, PAUSE_FIRST, NULL, error) ||
	    (seconds > PAUSE_FIRST && !wait_for(wake, seconds - PAUSE_FIRST, ret_early, error)))
		return false;
	forget_news(wake->network_fd);
	forget_news(wake->queue_fd);
	return true;
}

static void
say_sent(const char *name, gpointer data)
{
	guint *seconds = data;

	gbe_note("snapshot %s was sent", name);
	*seconds = PAUSE_FIRST;
}

/* The depot is opened for each try: a disk may be mounted by then, or a key be exchanged. Where nothing waits, nobody
 * misses it. */
static bool
try_all(GbeApp *app, guint *seconds, GError **error)
{
	g_autoptr(GbeSnapshotStore) queue = NULL;
	g_autoptr(GbeDepot) depot = NULL;

	if (!gbe_queue_open(app, &queue, error))
		return false;
	if (gbe_queue_count(queue) == 0)
		return true;
	return gbe_depot_open(app, NULL, &depot, error) &&
	       gbe_queue_send_all(app, depot, say_sent, seconds, error);
}

bool
gbe_queue_drain(GbeApp *app, guint64 seconds_each, GError **error)
{
	g_auto(Wake) wake = {-1, -1, -1};
	g_autoptr(GbeSnapshotStore) queue = NULL;
	g_autofree char *store = gbe_history_configured(app);
	g_autofree char *said = NULL;
	guint seconds = PAUSE_FIRST;

	if (store == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "no store is set: [store] directory= or url=");
	if (!gbe_queue_open(app, &queue, error) || !open_wake(queue, &wake, error))
		return false;
	for (;;) {
		g_autoptr(GError) local = NULL;
		bool early = false;

		app->store_deadline =
		    g_get_monotonic_time() + (gint64)seconds_each * G_USEC_PER_SEC;
		if (try_all(app, &seconds, &local))
			return true;
		/* The same reason is said once. */
		if (g_strcmp0(said, local->message) != 0)
			gbe_complain("%s; it is tried again", local->message);
		g_free(said);
		said = g_strdup(local->message);
		if (!pause_for(&wake, seconds, &early, error))
			return false;
		/* News shorten this pause, and not the following ones. */
		seconds = MIN(seconds * 2, PAUSE_MOST);
		if (early)
			seconds = MAX(seconds / 2, PAUSE_FIRST);
	}
}
