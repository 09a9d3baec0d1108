/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/etcd-tool.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/version.h"
#include "fs/open.h"

#define POLL_USEC 10000
#define VERSION_SECONDS 5

/* The version that `etcdctl version` prints; unknown when it prints none. */
static GbeVersion
version_of_etcdctl(GbeApp *app, int fd)
{
	static const char label[] = "etcdctl version: ";
	const char *const argv[] = {"etcdctl", "version", NULL};
	g_auto(GbeChild) child = {0};
	g_autofree char *version = NULL;
	char text[256] = "";
	const char *at;

	if (!gbe_child_start(fd, argv, app->root_fd, &child, NULL) ||
	    !gbe_etcd_tool_wait(&child, VERSION_SECONDS, NULL) ||
	    pread(child.out_fd, text, sizeof text - 1, 0) < 0)
		return gbe_version_parse(NULL);
	at = strstr(text, label);
	if (at != NULL)
		version = g_strndup(at + strlen(label), strcspn(at + strlen(label), " \r\n"));
	return gbe_version_parse(version);
}

bool
gbe_etcd_tool_open(GbeApp *app, const char *for_what, const char **ret_tool, int *ret_fd,
		   GError **error)
{
	static const char *const tools[] = {"etcdutl", "etcdctl"};
	g_autofree char *dir = g_path_get_dirname(app->config->etcd.binary);

	for (gsize i = 0; i < G_N_ELEMENTS(tools); i++) {
		g_autofree char *path = g_build_filename(dir, tools[i], NULL);
		g_autoptr(GError) local = NULL;
		gbe_autofd int fd = -1;

		if (gbe_open_in_root(app->root_fd, path, O_RDONLY, &fd, &local)) {
			GbeVersion version = g_str_equal(tools[i], "etcdctl")
						 ? version_of_etcdctl(app, fd)
						 : (GbeVersion){0};

			/* Since 3.6, etcdctl only talks to a running etcd; etcdutl works on files. */
			if (version.known &&
			    (version.major > 3 || (version.major == 3 && version.minor >= 6)))
				return gbe_throw(error, GBE_ERROR_REFUSED,
						 "etcdutl is not in %s, and the etcdctl there is "
						 "of etcd %u.%u, where etcdutl is what %s: install "
						 "it",
						 dir, version.major, version.minor, for_what);
			*ret_fd = gbe_steal_fd(&fd);
			*ret_tool = tools[i];
			return true;
		}
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	}
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "neither etcdutl nor etcdctl is in %s, and etcd's own tool is what %s: "
			 "install it",
			 dir, for_what);
}

bool
gbe_etcd_tool_wait(GbeChild *child, guint64 seconds, GError **error)
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
		g_usleep(POLL_USEC);
	}
}
