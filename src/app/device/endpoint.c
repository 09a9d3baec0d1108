/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/endpoint.h"

#include "core/redact.h"
#include "fs/open.h"

#include <fcntl.h>
#include <string.h>

#define CREDENTIAL "etcd-password"

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

/* The first line of [etcd] password-file, or of the credential that replaces it. NULL: *ret_why says why not. */
static char *
read_password(const GbeApp *app, char **ret_why)
{
	const char *path = app->config->etcd.password_file;
	char bytes[GBE_KEY_FILE_MAX];
	g_autoptr(GError) error = NULL;
	char *password = NULL;
	gsize size = 0;

	if (!gbe_key_file_read(app, path, CREDENTIAL, bytes, &size, &error)) {
		*ret_why = path != NULL ? g_strdup_printf("%s: %s", path, error->message)
					: g_strdup("password-file= of [etcd] is not set, and there "
						   "is no systemd credential " CREDENTIAL);
		return NULL;
	}
	bytes[size] = '\0';
	bytes[strcspn(bytes, "\r\n")] = '\0';
	if (*bytes != '\0' && g_utf8_validate(bytes, -1, NULL))
		password = g_strdup(bytes);
	else
		*ret_why = g_strdup_printf("%s: the first line is not a password",
					   path != NULL ? path : CREDENTIAL);
	explicit_bzero(bytes, sizeof(bytes));
	return password;
}

void
gbe_app_endpoint(const GbeApp *app, GbeAppEndpoint *ret_endpoint)
{
	const GbeConfig *config = app->config;
	const char *origin = g_hash_table_lookup(config->origins, "etcd.endpoint");
	const char *paths[] = {config->etcd.cacert, config->etcd.cert, config->etcd.key};
	GbeAppEndpoint endpoint = {{0}};

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
		if (paths[i] != NULL && *paths[i] != '\0')
			endpoint.paths[i] = gbe_app_real_path(app, paths[i]);
	/* The default, and a detected address, are the host's. */
	if (app->below_root && (origin == NULL || g_str_has_prefix(origin, "detected: ")))
		endpoint.refused =
		    "below --root, etcd is asked only if endpoint= of [etcd] is set there";
	endpoint.shown = gbe_redact_endpoint(config->etcd.endpoint);
	if (config->etcd.user != NULL)
		endpoint.password = read_password(app, &endpoint.no_password);
	endpoint.endpoint = (GbeEndpoint){.endpoint = config->etcd.endpoint,
					  .shown = endpoint.shown,
					  .refused = endpoint.refused,
					  .cacert = endpoint.paths[0],
					  .cert = endpoint.paths[1],
					  .key = endpoint.paths[2],
					  .user = config->etcd.user,
					  .password = endpoint.password,
					  .no_password = endpoint.no_password};
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
	if (endpoint->password != NULL)
		explicit_bzero(endpoint->password, strlen(endpoint->password));
	g_clear_pointer(&endpoint->password, g_free);
	g_clear_pointer(&endpoint->no_password, g_free);
	endpoint->endpoint = (GbeEndpoint){0};
}
