/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/etcd-tool.h"

#include <fcntl.h>

#include "fs/open.h"

#define POLL_USEC 10000

bool
gbe_etcd_tool_open(GbeApp *app, const char *for_what, const char **ret_tool, int *ret_fd,
		   GError **error)
{
	static const char *const tools[] = {"etcdutl", "etcdctl"};
	g_autofree char *dir = g_path_get_dirname(app->config->etcd.binary);

	for (gsize i = 0; i < G_N_ELEMENTS(tools); i++) {
		g_autofree char *path = g_build_filename(dir, tools[i], NULL);
		g_autoptr(GError) local = NULL;

		if (gbe_open_in_root(app->root_fd, path, O_RDONLY, ret_fd, &local)) {
			*ret_tool = tools[i];
			return true;
		}
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
	}
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "neither etcdutl nor etcdctl is in %s, and etcd's own tool is what %s: "
			 "install it",
			 dir, for_what);
}

bool
gbe_etcd_tool_wait(GbeChild *child, guint64 seconds,
		   bool (*progress)(guint64 done, guint64 total, gpointer data), gpointer data,
		   GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;

	for (bool running = true;;) {
		if (!gbe_child_poll(child, &running, error))
			return false;
		if (!running)
			return true;
		if (g_get_monotonic_time() >= deadline)
			return gbe_throw(error, GBE_ERROR_FAILED,
					 "%s has not ended within %" G_GUINT64_FORMAT
					 " s (--timeout)",
					 child->name, seconds);
		if (progress != NULL && !progress(0, 0, data))
			return gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
		g_usleep(POLL_USEC);
	}
}
