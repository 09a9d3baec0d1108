/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/tls/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/tls/pem.h"

/* Bundles of CAs are some hundred KiB. */
#define FILE_MAX (4 * 1024 * 1024)

/* The file's bytes during the look; they are wiped, because they may hold a key. */
typedef struct {
	char *bytes;
	gsize size;
	GbePemReader *reader;
} Opened;

static void
opened_clear(Opened *opened)
{
	gbe_pem_close(opened->reader);
	if (opened->bytes != NULL)
		explicit_bzero(opened->bytes, opened->size);
	g_free(opened->bytes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Opened, opened_clear)

static char *
read_all(int fd, Opened *opened)
{
	gsize at = 0;

	opened->bytes = g_malloc(opened->size + 1);
	while (at < opened->size) {
		ssize_t got = read(fd, opened->bytes + at, opened->size - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return g_strdup_printf("cannot be read: %s", g_strerror(errno));
		/* The file became shorter meanwhile. */
		if (got == 0)
			break;
		at += (gsize)got;
	}
	opened->size = at;
	return NULL;
}

/* Sets the file's problem and returns false. */
static bool
open_file(GbeTlsFile *file, Opened *opened)
{
	gbe_autofd int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	g_autoptr(GError) local = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		file->problem = g_strdup_printf("cannot be read: %s", g_strerror(errno));
	else if (!S_ISREG(st.st_mode))
		file->problem = g_strdup("is no file");
	else if (st.st_size > FILE_MAX)
		file->problem = g_strdup("is too large");
	if (file->problem != NULL)
		return false;
	opened->size = (gsize)st.st_size;
	file->problem = read_all(fd, opened);
	if (file->problem == NULL &&
	    !gbe_pem_open(opened->bytes, opened->size, &opened->reader, &local))
		file->problem = g_strdup_printf("cannot be looked at: %s", local->message);
	return file->problem == NULL;
}

/* The first object that is, or claims to be, of that kind: the one that TLS takes from a file. */
static GbePem *
find(GbePemReader *reader, GbePemKind kind)
{
	GbePem *pem;

	while ((pem = gbe_pem_next(reader)) != NULL) {
		if (pem->kind == kind || pem->kind == GBE_PEM_DAMAGED)
			break;
		gbe_pem_free(pem);
	}
	return pem;
}

/* Of several CAs, the one that lasts longest: old ones stay in a bundle. */
static void
look_at_cas(GbeTlsFile *file)
{
	g_auto(Opened) opened = {0};
	bool more = open_file(file, &opened);

	while (more) {
		g_autoptr(GbePem) ca = find(opened.reader, GBE_PEM_CERTIFICATE);

		more = ca != NULL && ca->kind == GBE_PEM_CERTIFICATE;
		if (!more)
			continue;
		file->begins =
		    file->expires < 0 ? ca->not_before : MIN(file->begins, ca->not_before);
		file->expires = MAX(file->expires, ca->not_after);
	}
	if (file->problem == NULL && file->expires < 0)
		file->problem = g_strdup("holds no certificate");
}

static GbePem *
look_at_certificate(GbeTlsFile *file)
{
	g_auto(Opened) opened = {0};
	g_autoptr(GbePem) certificate = NULL;

	if (!open_file(file, &opened))
		return NULL;
	certificate = find(opened.reader, GBE_PEM_CERTIFICATE);
	if (certificate == NULL || certificate->kind != GBE_PEM_CERTIFICATE) {
		file->problem = g_strdup("holds no certificate");
		return NULL;
	}
	file->begins = certificate->not_before;
	file->expires = certificate->not_after;
	return g_steal_pointer(&certificate);
}

/* @certificate: NULL where there is none to compare the key with. */
static void
look_at_key(GbeTlsFile *file, const GbePem *certificate)
{
	g_auto(Opened) opened = {0};
	g_autoptr(GbePem) key = NULL;

	if (!open_file(file, &opened))
		return;
	key = find(opened.reader, GBE_PEM_KEY);
	if (key == NULL || key->problem != NULL)
		file->problem =
		    g_strdup("holds no private key that can be read without a passphrase");
	else if (certificate != NULL && !gbe_pem_is_key_of(key, certificate))
		file->problem = g_strdup("is not the key of the certificate");
}

static bool
begin(GbeTlsFile *file, const char *key, const char *path)
{
	g_free(file->path);
	g_free(file->problem);
	*file = (GbeTlsFile){.begins = -1, .expires = -1};
	if (path == NULL || *path == '\0')
		return false;
	file->key = key;
	file->path = g_strdup(path);
	return true;
}

void
gbe_certificates_look(const char *cacert, const char *cert, const char *key, GbeTlsFile tls[3])
{
	g_autoptr(GbePem) certificate = NULL;

	if (begin(&tls[0], "cacert", cacert))
		look_at_cas(&tls[0]);
	if (begin(&tls[1], "cert", cert))
		certificate = look_at_certificate(&tls[1]);
	if (begin(&tls[2], "key", key))
		look_at_key(&tls[2], certificate);
}
