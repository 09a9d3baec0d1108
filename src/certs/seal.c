/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An authority's key that only this machine can open. */
#include "certs/pki.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "app/device/etcd-tool.h"
#include "app/health/certificates.h"
#include "fs/open.h"

#define PROGRAM "/usr/bin/systemd-creds"
#define CREDENTIAL "--name=greenboot-etcd-ca"
/* A TPM answers within seconds. */
#define SECONDS 60

/* Runs systemd-creds as a filter of @in. The files are in memory alone. */
static bool
run(GbeApp *app, const char *const *argv, GBytes *in, GBytes **ret_out, GError **error)
{
	g_auto(GbeChild) child = {0};
	gbe_autofd int program_fd = -1;
	gbe_autofd int in_fd = memfd_create("in", MFD_CLOEXEC);
	gbe_autofd int out_fd = memfd_create("out", MFD_CLOEXEC);
	const GbeChildStreams streams = {in_fd, out_fd, in_fd};
	g_autofree char *bytes = g_malloc0(GBE_CERTS_FILE_MAX);
	gsize size = in != NULL ? g_bytes_get_size(in) : 0;
	ssize_t n;

	if (in_fd < 0 || out_fd < 0)
		return gbe_throw_errno(error, errno, "make a file in memory");
	if (size > 0 && pwrite(in_fd, g_bytes_get_data(in, NULL), size, 0) != (ssize_t)size)
		return gbe_throw_errno(error, errno, "write a file in memory");
	if (!gbe_open_in_root(app->root_fd, PROGRAM, O_RDONLY, &program_fd, NULL))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "there is no " PROGRAM ", which seals keys and opens them");
	if (!gbe_child_start_filter(program_fd, argv, &streams, &child, error) ||
	    !gbe_etcd_tool_wait(&child, SECONDS, error))
		return false;
	if (ret_out == NULL)
		return true;
	n = pread(out_fd, bytes, GBE_CERTS_FILE_MAX, 0);
	if (n <= 0)
		return gbe_throw_errno(error, errno, "read what systemd-creds printed");
	*ret_out = g_bytes_new(bytes, (gsize)n);
	explicit_bzero(bytes, (gsize)n);
	return true;
}

bool
gbe_seal_is_there(GbeApp *app)
{
	static const char *const argv[] = {"systemd-creds", "has-tpm2", NULL};

	return !app->below_root && run(app, argv, NULL, NULL, NULL);
}

bool
gbe_seal(GbeApp *app, GbePrivateKey *key, GBytes **ret_sealed, GError **error)
{
	/* Values of PCRs change with firmware and kernels: no update, and no rollback, may lock the key away. */
	static const char *const argv[] = {
	    "systemd-creds", "encrypt", CREDENTIAL, "--with-key=auto",
	    "--tpm2-pcrs=",  "-",	"-",	    NULL};

	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "below --root no key is sealed: another machine will have to open "
				 "it");
	return run(app, argv, key, ret_sealed, error) || gbe_prefix(error, "seal the key");
}

bool
gbe_unseal(GbeApp *app, GbeAuthority *authority, GError **error)
{
	static const char *const argv[] = {"systemd-creds", "decrypt", CREDENTIAL, "-", "-", NULL};

	if (authority->key != NULL || authority->sealed == NULL)
		return true;
	return run(app, argv, authority->sealed, &authority->key, error) ||
	       gbe_prefix(error, "open the authority's sealed key");
}
