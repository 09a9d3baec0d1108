/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/flush-ahead.h"

#include "base/fault.h"
#include "fs/probe.h"
#include "fs/sync.h"

/* Fewer bytes have no room for so many extents. */
#define LARGE ((guint64)64 * 1024 * 1024)
/* A tenth of a second is what 45,000 extents take on btrfs, 14,000 on XFS; a db that etcd and its backups have not
 * torn to pieces takes two milliseconds. */
#define LONG_USEC ((gint64)100 * 1000)
/* From the beginning to the next one, by what it was to the end of the last. */
#define TIMES 4

struct GbeFlushAhead {
	int fd;
	gint64 begin; /* monotonic, microseconds, as the next */
	gint64 wait;  /* from the beginning to the next flush */
	guint most;
	GThread *thread;
	GMutex lock; /* of ->end */
	GCond ended;
	gboolean end;
	/* The thread's, until it is joined. */
	guint flushes;
	GError *error;
};

/* The time for another one has come before the end. */
static gboolean
is_due(GbeFlushAhead *ahead)
{
	gboolean due;

	g_mutex_lock(&ahead->lock);
	while (!ahead->end &&
	       g_cond_wait_until(&ahead->ended, &ahead->lock, ahead->begin + ahead->wait))
		;
	due = !ahead->end;
	g_mutex_unlock(&ahead->lock);
	return due;
}

static gpointer
flush(gpointer data)
{
	GbeFlushAhead *ahead = data;

	while (ahead->flushes < ahead->most && is_due(ahead)) {
		ahead->flushes++;
		if (!gbe_sync_file(ahead->fd, "what was cloned so far", &ahead->error))
			break;
		ahead->wait = TIMES * (g_get_monotonic_time() - ahead->begin);
	}
	return NULL;
}

static void
ahead_free(GbeFlushAhead *ahead)
{
	g_cond_clear(&ahead->ended);
	g_mutex_clear(&ahead->lock);
	g_clear_error(&ahead->error);
	g_free(ahead);
}

GbeFlushAhead *
gbe_flush_ahead_new(int fd, guint64 size, guint flushes)
{
	GbeFlushAhead *ahead;

	if (size < LARGE || flushes >= GBE_FLUSH_AHEAD_MAX || !(gbe_is_btrfs(fd) || gbe_is_xfs(fd)))
		return NULL;
	ahead = g_new0(GbeFlushAhead, 1);
	ahead->fd = fd;
	ahead->most = GBE_FLUSH_AHEAD_MAX - flushes;
	ahead->begin = g_get_monotonic_time();
	ahead->wait = GBE_FAULT("flush-ahead-due", NULL) ? 0 : LONG_USEC;
	g_mutex_init(&ahead->lock);
	g_cond_init(&ahead->ended);
	ahead->thread = g_thread_try_new("flush-ahead", flush, ahead, NULL);
	if (ahead->thread == NULL)
		g_clear_pointer(&ahead, ahead_free);
	return ahead;
}

bool
gbe_flush_ahead_end(GbeFlushAhead *ahead, const char *what, guint *flushes, GError **error)
{
	bool ok;

	if (ahead == NULL)
		return true;
	g_mutex_lock(&ahead->lock);
	ahead->end = TRUE;
	g_cond_signal(&ahead->ended);
	g_mutex_unlock(&ahead->lock);
	(void)g_thread_join(ahead->thread);
	*flushes += ahead->flushes;
	ok = ahead->error == NULL;
	if (!ok)
		g_propagate_error(error, g_steal_pointer(&ahead->error));
	ahead_free(ahead);
	return ok || gbe_prefix(error, "%s", what);
}
