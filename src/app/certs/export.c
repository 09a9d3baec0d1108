/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs/certs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/device/endpoint.h"
#include "app/health/certificates.h"
#include "core/redact.h"
#include "etcd/tls/pem.h"
#include "fs/copy/archive.h"
#include "fs/open.h"
#include "fs/part.h"

#define N_FILES 3

/* In the order of GbeTlsFile. */
static const struct {
	const char *name, *variable, *about;
} files[N_FILES] = {
    {"ca.crt", "ETCDCTL_CACERT", "checks etcd's certificate"},
    {"client.crt", "ETCDCTL_CERT", "the client's certificate"},
    {"client.key", "ETCDCTL_KEY", "its private key"},
};

typedef struct {
	char *bytes[N_FILES];
	gsize sizes[N_FILES];
	GbeTlsFile tls[N_FILES];
	GString *environment, *readme;
} Packing;

static void
packing_clear(Packing *packing)
{
	for (guint i = 0; i < N_FILES; i++) {
		if (packing->bytes[i] != NULL)
			explicit_bzero(packing->bytes[i], packing->sizes[i]);
		g_free(packing->bytes[i]);
		g_free(packing->tls[i].path);
		g_free(packing->tls[i].problem);
	}
	(void)g_string_free(packing->environment, true);
	(void)g_string_free(packing->readme, true);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Packing, packing_clear)

/* A file that cannot be used here cannot be used on the other machine. */
static bool
read_files(GbeApp *app, Packing *packing, GError **error)
{
	const GbeConfig *config = app->config;
	const char *const paths[N_FILES] = {config->etcd.cacert, config->etcd.cert,
					    config->etcd.key};
	g_auto(GbeAppEndpoint) at = {{0}};
	guint found = 0;

	gbe_app_endpoint(app, &at);
	gbe_certificates_look(at.endpoint.cacert, at.endpoint.cert, at.endpoint.key, packing->tls);
	for (guint i = 0; i < N_FILES; i++) {
		const GbeTlsFile *file = &packing->tls[i];

		if (file->problem != NULL)
			return gbe_throw(error, GBE_ERROR_REFUSED, "%s of [etcd], %s, %s",
					 file->key, file->path, file->problem);
		found += file->path != NULL ? 1 : 0;
	}
	if (found == 0)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "credentials are missing: set cacert=, cert= or key= of [etcd]");
	for (guint i = 0; i < N_FILES; i++)
		if (packing->tls[i].path != NULL &&
		    !gbe_read_in_root(app->root_fd, paths[i], GBE_CERTS_FILE_MAX,
				      &packing->bytes[i], &packing->sizes[i], error))
			return gbe_prefix(error, "%s", packing->tls[i].key);
	return true;
}

static void
describe_files(Packing *packing, const char *endpoint)
{
	g_autofree char *quoted = g_shell_quote(endpoint);
	g_autofree char *shown = gbe_redact_endpoint(endpoint);

	g_string_append_printf(packing->environment,
			       "unset ETCDCTL_API\nexport ETCDCTL_ENDPOINTS=%s\n", quoted);
	g_string_append_printf(
	    packing->readme,
	    "Certificates for a client of etcd at %s, packed by `greenboot-etcd certs "
	    "export FILE`.\nThe key gives every right that this client has: keep it "
	    "as you keep a password.\n\n",
	    shown);
	for (guint i = 0; i < N_FILES; i++) {
		if (packing->bytes[i] == NULL)
			continue;
		g_string_append_printf(packing->environment, "export %s=\"$PWD/%s\"\n",
				       files[i].variable, files[i].name);
		g_string_append_printf(packing->readme, "%-12s %s\n", files[i].name,
				       files[i].about);
	}
	g_string_append(packing->readme,
			"etcdctl.env  where etcd is, and these files, for etcdctl\n\n"
			"In this directory:\n\n    . ./etcdctl.env\n    etcdctl endpoint health\n\n"
			"An address of 127.0.0.1, ::1 or localhost is that of the machine that "
			"etcd runs on:\nforward its port, for instance with ssh -L, or set "
			"ETCDCTL_ENDPOINTS to an address\nthat etcd listens at and that its "
			"certificate names.\n");
}

static char *
path_of(const GbeApp *app, const char *path)
{
	return app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
}

bool
gbe_certs_write_file(const GbeApp *app, GBytes *content, const char *path, GError **error)
{
	g_autofree char *absolute = path_of(app, path);
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	GbePart part = {.fd = -1};
	gsize size = 0;
	const void *bytes = g_bytes_get_data(content, &size);
	bool ok;

	if (!gbe_open_parent_in_root(app->root_fd, absolute, &dir_fd, &name, error) ||
	    !gbe_part_begin(dir_fd, name, false, &part, error))
		return false;
	ok = gbe_part_write(&part, bytes, size, error) && gbe_part_publish(&part, error);
	/* The part must be cleared before its directory is closed. */
	gbe_part_clear(&part);
	return ok || gbe_prefix(error, "%s", path);
}

bool
gbe_certs_read_file(const GbeApp *app, const char *path, bool secret, GBytes **ret_content,
		    GError **error)
{
	g_autofree char *absolute = path_of(app, path);
	gbe_autofd int fd = -1;
	struct stat st;
	char *bytes = NULL;
	gsize size = 0;

	if (!gbe_open_in_root(app->root_fd, absolute, O_PATH, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "look at %s", path);
	if (secret && S_ISREG(st.st_mode) && (st.st_mode & 0077) != 0)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s: other users have access to this private key (mode %04o); run "
				 "`chmod 0600 %s`",
				 path, (guint)st.st_mode & 07777, path);
	if (!gbe_read_in_root(app->root_fd, absolute, GBE_CERTS_FILE_MAX, &bytes, &size, error))
		return false;
	*ret_content = g_bytes_new_take(bytes, size);
	return true;
}

void
gbe_certs_remove_file(const GbeApp *app, const char *path)
{
	g_autofree char *absolute = path_of(app, path);
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;

	if (!gbe_open_parent_in_root(app->root_fd, absolute, &dir_fd, &name, NULL) ||
	    unlinkat(dir_fd, name, 0) < 0)
		g_debug("%s stays", path);
}

bool
gbe_certs_export(GbeApp *app, const char *path, GError **error)
{
	g_auto(Packing) packing = {.environment = g_string_new(NULL), .readme = g_string_new(NULL)};
	g_autoptr(GBytes) archive = NULL;
	GbeArchiveMember members[N_FILES + 2];
	gsize n = 0;

	if (!read_files(app, &packing, error))
		return false;
	describe_files(&packing, app->config->etcd.endpoint);
	for (guint i = 0; i < N_FILES; i++)
		if (packing.bytes[i] != NULL)
			members[n++] =
			    (GbeArchiveMember){files[i].name, packing.bytes[i], packing.sizes[i]};
	members[n++] =
	    (GbeArchiveMember){"etcdctl.env", packing.environment->str, packing.environment->len};
	members[n++] = (GbeArchiveMember){"README", packing.readme->str, packing.readme->len};
	return gbe_archive_pack(members, n, &archive, error) &&
	       gbe_certs_write_file(app, archive, path, error);
}
