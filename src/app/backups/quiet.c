/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/quiet.h"

#include <fcntl.h>

#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "sys/process.h"
#include "sys/systemd/events.h"

#define STEP_USEC 100000

static pid_t
find_on_db(const GbeData *data)
{
	gbe_autofd int fd = -1;

	return gbe_layout_open_db(data->fd, data->member_path, &fd, NULL)
		   ? gbe_process_with_lock(fd)
		   : 0;
}

static pid_t
find_on_wal(const GbeData *data)
{
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int fd = -1;

	if (!gbe_layout_open_wal(data->fd, data->member_path, data->wal_fd, &dir_fd, NULL) ||
	    !gbe_layout_newest_wal(dir_fd, &name, NULL) || name == NULL)
		return 0;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 ? gbe_process_with_lock(fd) : 0;
}

static pid_t
find_holder(const GbeData *data)
{
	pid_t pid = find_on_db(data);

	return pid != 0 ? pid : find_on_wal(data);
}

char *
gbe_data_holder(const GbeData *data)
{
	return gbe_process_describe(find_holder(data));
}

char *
gbe_data_holder_unit(const GbeData *data)
{
	return gbe_process_unit(find_holder(data));
}

/* Asks for an exclusive lock, as every program that works on the data does. */
static GbeTri
is_open(const GbeData *data, GError **error)
{
	gbe_autofd int lock_fd = -1;

	return gbe_in_use(data->fd, data->member_path, data->wal_fd, &lock_fd, error);
}

bool
gbe_data_wait_closed(GbeApp *app, const GbeData *data, guint seconds, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
	g_autofree char *holder = NULL;
	GbeTri open;

	if (data->fd < 0 || data->member_path == NULL)
		return true;
	if (data->unsafe != NULL)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "cannot tell whether %s is open: %s", data->path, data->unsafe);
	while ((open = is_open(data, error)) == GBE_YES && g_get_monotonic_time() < deadline) {
		if (holder == NULL) {
			holder = gbe_data_holder(data);
			gbe_complain("%s has %s open: waiting up to %u s", holder, data->path,
				     seconds);
		}
		(void)gbe_app_progress(0, app);
		g_usleep(STEP_USEC);
	}
	if (open == GBE_UNKNOWN)
		return gbe_prefix(error, "cannot tell whether %s is open", data->path);
	if (open == GBE_NO)
		return true;
	g_free(holder);
	holder = gbe_data_holder(data);
	return gbe_throw(error, GBE_ERROR_BUSY, "%s still has %s open after %u s", holder,
			 data->path, seconds);
}
