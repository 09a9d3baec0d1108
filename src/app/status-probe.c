/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Apart from the rest of status, so that what runs at boot does not link a HTTP client. */
#include "app/status.h"

void
gbe_status_probe(const GbeApp *app, guint timeout_ms, GbeProbe *ret_probe)
{
	const char *paths[] = {app->config->etcd.cacert, app->config->etcd.cert,
			       app->config->etcd.key};
	char *resolved[G_N_ELEMENTS(paths)] = {NULL};
	GbeEndpoint endpoint = {.endpoint = app->config->etcd.endpoint, .timeout_ms = timeout_ms};

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
		if (paths[i] != NULL && *paths[i] != '\0')
			resolved[i] = app->below_root
					  ? g_build_filename(app->root_path, paths[i], NULL)
					  : g_strdup(paths[i]);
	endpoint.cacert = resolved[0];
	endpoint.cert = resolved[1];
	endpoint.key = resolved[2];
	gbe_health_probe(&endpoint, ret_probe);
	for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
		g_free(resolved[i]);
}
