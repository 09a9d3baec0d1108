/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs.h"

#include <fcntl.h>
#include <string.h>

#include "app/certs-private.h"
#include "core/certs.h"
#include "fs/open.h"
#include "fs/tree.h"

typedef struct {
	GbeCerts *certs;
	const char *directory;
} Walk;

static void
cert_free(gpointer data)
{
	GbeCert *cert = data;

	g_free(cert->path);
	gbe_pem_free(cert->pem);
	g_free(cert->problem);
	g_free(cert);
}

static void
unread_free(gpointer data)
{
	GbeCertUnread *unread = data;

	g_free(unread->path);
	g_free(unread->why);
	g_free(unread);
}

void
gbe_certs_free(GbeCerts *certs)
{
	if (certs == NULL)
		return;
	g_ptr_array_unref(certs->certs);
	g_ptr_array_unref(certs->unread);
	g_free(certs);
}

const char *
gbe_chain_to_string(GbeChain chain)
{
	static const char *const words[] = {[GBE_CHAIN_SELF_SIGNED] = "self-signed",
					    [GBE_CHAIN_SIGNED] = "signed",
					    [GBE_CHAIN_WRONG] = "wrong",
					    [GBE_CHAIN_UNKNOWN] = "unknown"};

	return words[chain];
}

static void
add_unread(GbeCerts *certs, const char *path, const char *why)
{
	GbeCertUnread *unread = g_new0(GbeCertUnread, 1);

	unread->path = gbe_path_to_text(path);
	unread->why = g_strdup(why);
	g_ptr_array_add(certs->unread, unread);
}

/* Other files lie beside certificates; of these people expect some. */
static gboolean
should_hold_some(const char *name)
{
	static const char *const endings[] = {".crt", ".cert", ".cer", ".pem", ".key"};

	for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_str_has_suffix(name, endings[i]))
			return TRUE;
	return FALSE;
}

/* How many of them there were. */
static guint
add_found(GbeCerts *certs, const char *path, const struct stat *st, GbePemReader *reader)
{
	guint position = 0;
	GbePem *pem;

	while (certs->certs->len < GBE_CERTS_MAX && (pem = gbe_pem_next(reader)) != NULL) {
		GbeCert *cert;

		position++;
		if (pem->kind == GBE_PEM_DAMAGED) {
			add_unread(certs, path, pem->problem);
			gbe_pem_free(pem);
			continue;
		}
		gbe_pem_forget_key(pem);
		cert = g_new0(GbeCert, 1);
		*cert = (GbeCert){.path = gbe_path_to_text(path),
				  .pem = pem,
				  .position = position,
				  .mode = st->st_mode & 07777,
				  .owner = st->st_uid,
				  .group = st->st_gid,
				  .endpoint = GBE_UNKNOWN};
		g_ptr_array_add(certs->certs, cert);
	}
	return position;
}

static void
look_at_file(GbeCerts *certs, const char *path, const char *name, const struct stat *st,
	     const char *bytes, gsize size)
{
	g_autoptr(GbePemReader) reader = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_pem_open(bytes, size, &reader, &local))
		add_unread(certs, path, local->message);
	else if (add_found(certs, path, st, reader) > 0 || !should_hold_some(name))
		return;
	else if (g_str_has_suffix(name, ".key"))
		add_unread(certs, path, "holds no private key");
	else
		add_unread(certs, path, "holds neither a certificate nor a private key");
}

static bool
visit(const char *below, int dir_fd, const char *name, const struct stat *st, gpointer data,
      GError **error)
{
	Walk *walk = data;
	GbeCerts *certs = walk->certs;
	g_autofree char *path = g_strconcat(walk->directory, "/", below, NULL);
	g_autoptr(GError) local = NULL;
	char *bytes = NULL;
	gsize size = 0;

	if (!S_ISREG(st->st_mode))
		return true;
	certs->truncated = certs->files == GBE_CERTS_MAX || certs->certs->len >= GBE_CERTS_MAX;
	if (certs->truncated)
		return gbe_throw(error, GBE_ERROR_FAILED, "there are too many files");
	certs->files++;
	if (!gbe_read_file_at(dir_fd, name, GBE_CERTS_FILE_MAX, &bytes, &size, &local)) {
		if (should_hold_some(name))
			add_unread(certs, path, local->message);
		return true;
	}
	look_at_file(certs, path, name, st, bytes, size);
	explicit_bzero(bytes, size);
	g_free(bytes);
	return true;
}

static void
look_below(GbeApp *app, const char *directory, GbeCerts *certs)
{
	Walk walk = {certs, directory};
	gbe_autofd int dir_fd = -1;
	g_autoptr(GError) local = NULL;

	if ((!gbe_open_in_root(app->root_fd, directory, O_RDONLY | O_DIRECTORY, &dir_fd, &local) ||
	     !gbe_tree_walk(dir_fd, NULL, visit, &walk, &local)) &&
	    !certs->truncated)
		add_unread(certs, directory, local->message);
}

bool
gbe_certs_look(GbeApp *app, GbeCerts **ret_certs, GError **error)
{
	g_autoptr(GbeCerts) certs = g_new0(GbeCerts, 1);
	g_auto(GStrv) directories = NULL;

	certs->certs = g_ptr_array_new_with_free_func(cert_free);
	certs->unread = g_ptr_array_new_with_free_func(unread_free);
	if (!gbe_certs_directories(app->config->certs.directories, &directories, error))
		return false;
	certs->directories = g_strv_length(directories);
	for (guint i = 0; directories[i] != NULL; i++)
		look_below(app, directories[i], certs);
	gbe_certs_judge(certs, app->config, g_get_real_time() / G_USEC_PER_SEC);
	*ret_certs = g_steal_pointer(&certs);
	return true;
}
