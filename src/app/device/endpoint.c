/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/endpoint.h"

#include "core/redact.h"
#include "fs/open.h"

#include <fcntl.h>

char *
gbe_app_real_path(const GbeApp *app, const char *path)
{
	g_autofree char *link = NULL;
	gbe_autofd int fd = -1;
	char *resolved = NULL;

	if (!app->below_root)
		return g_strdup(path);
	if (gbe_open_in_root(app->root_fd, path, O_PATH, &fd, NULL)) {
		link = g_strdup_printf("/proc/self/fd/%d", fd);
		resolved = g_file_read_link(link, NULL);
	}
	return resolved != NULL ? resolved : g_build_filename(app->root_path, path, "/", NULL);
}

void
gbe_app_endpoint(const GbeApp *app, GbeAppEndpoint *ret_endpoint)
{
	const GbeConfig *config = app->config;
	const char *paths[] = {config->etcd.cacert, config->etcd.cert, config->etcd.key};
	GbeAppEndpoint endpoint = {{0}};

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
		if (paths[i] != NULL && *paths[i] != '\0')
			endpoint.paths[i] = gbe_app_real_path(app, paths[i]);
	endpoint.shown = gbe_redact_endpoint(config->etcd.endpoint);
	endpoint.endpoint = (GbeEndpoint){.endpoint = config->etcd.endpoint,
					  .shown = endpoint.shown,
					  .cacert = endpoint.paths[0],
					  .cert = endpoint.paths[1],
					  .key = endpoint.paths[2]};
	*ret_endpoint = endpoint;
}

gint64
gbe_app_deadline(const GbeApp *app)
{
	return g_get_monotonic_time() +
	       (gint64)app->config->health.request_timeout * G_USEC_PER_SEC;
}

void
gbe_app_endpoint_clear(GbeAppEndpoint *endpoint)
{
	for (guint i = 0; i < G_N_ELEMENTS(endpoint->paths); i++)
		g_clear_pointer(&endpoint->paths[i], g_free);
	g_clear_pointer(&endpoint->shown, g_free);
	endpoint->endpoint = (GbeEndpoint){0};
}
