/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/endpoint.h"

#include "core/redact.h"
#include "fs/open.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#define CREDENTIAL "etcd-password"

bool
gbe_key_file_open(const GbeApp *app, const char *path, bool secret, int *ret_fd, GError **error)
{
	/* The mode bits that give users other than root access. */
	mode_t others = secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_check_parents(app->root_fd, path, error) ||
	    !gbe_open_in_root(app->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at it");
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "it is not a regular file");
	if (st.st_uid != geteuid() || (st.st_mode & others) != 0)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "it is not root's alone (owner %u, mode %04o): chown it to root, "
				 "chmod %04o",
				 (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777),
				 0644 & ~(unsigned)others);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_key_file_read(const GbeApp *app, const char *path, const char *credential,
		  char bytes[GBE_KEY_FILE_MAX], gsize *ret_size, GError **error)
{
	const char *credentials = g_getenv("CREDENTIALS_DIRECTORY");
	gbe_autofd int fd = -1;
	ssize_t size;

	if (path != NULL) {
		if (!gbe_key_file_open(app, path, true, &fd, error))
			return false;
	} else if (credentials != NULL) {
		g_autofree char *name = g_build_filename(credentials, credential, NULL);

		fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no systemd credential %s",
				 credential);
	/* The secret is in this process's memory, and in no core that it leaves. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	size = pread(fd, bytes, GBE_KEY_FILE_MAX, 0);
	if (size < 0)
		return gbe_throw_errno(error, errno, "cannot read it");
	if (size == GBE_KEY_FILE_MAX) {
		explicit_bzero(bytes, GBE_KEY_FILE_MAX);
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is too long");
	}
	*ret_size = (gsize)size;
	return true;
}

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

/* The first line of [etcd] password-file, or of the credential in its place. NULL: *ret_why says why not. */
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
	const char *paths[] = {config->etcd.cacert, config->etcd.cert, config->etcd.key};
	GbeAppEndpoint endpoint = {{0}};

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
		if (paths[i] != NULL && *paths[i] != '\0')
			endpoint.paths[i] = gbe_app_real_path(app, paths[i]);
	endpoint.shown = gbe_redact_endpoint(config->etcd.endpoint);
	if (config->etcd.user != NULL)
		endpoint.password = read_password(app, &endpoint.no_password);
	endpoint.endpoint = (GbeEndpoint){.endpoint = config->etcd.endpoint,
					  .shown = endpoint.shown,
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
