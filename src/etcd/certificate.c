/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"

/* Bundles of CAs are some hundred KiB. */
#define FILE_MAX (4 * 1024 * 1024)

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BIO, BIO_free_all)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(X509, X509_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EVP_PKEY, EVP_PKEY_free)

/* NULL, and *ret_problem. */
static BIO *
open_file(const char *path, char **ret_problem)
{
	gbe_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		*ret_problem = g_strdup_printf("cannot be read: %s", g_strerror(errno));
	else if (!S_ISREG(st.st_mode))
		*ret_problem = g_strdup("is no file");
	else if (st.st_size > FILE_MAX)
		*ret_problem = g_strdup("is too large");
	if (*ret_problem != NULL)
		return NULL;
	return BIO_new_fp(fdopen(gbe_steal_fd(&fd), "re"), BIO_CLOSE);
}

/* Instead of OpenSSL's own, which asks the terminal. */
static int
no_passphrase(char *buffer, int size, int writing, void *data)
{
	return -1;
}

static gint64
expiry_of(const X509 *certificate)
{
	struct tm tm;

	memset(&tm, 0, sizeof(tm));
	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1)
		return -1;
	return (gint64)timegm(&tm);
}

/* Of CAs, the one that lasts longest: old ones stay in a bundle. */
static void
look_at_cas(GbeTlsFile *file)
{
	g_autoptr(BIO) bio = open_file(file->path, &file->problem);

	while (bio != NULL) {
		g_autoptr(X509) ca = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);

		if (ca == NULL)
			break;
		file->expires = MAX(file->expires, expiry_of(ca));
	}
	if (bio != NULL && file->expires < 0)
		file->problem = g_strdup("holds no certificate");
}

static X509 *
look_at_certificate(GbeTlsFile *file)
{
	g_autoptr(BIO) bio = open_file(file->path, &file->problem);
	X509 *certificate;

	if (bio == NULL)
		return NULL;
	certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
	if (certificate == NULL)
		file->problem = g_strdup("holds no certificate");
	else
		file->expires = expiry_of(certificate);
	return certificate;
}

/* @certificate: NULL where there is none to compare it with. */
static void
look_at_key(GbeTlsFile *file, const X509 *certificate)
{
	g_autoptr(BIO) bio = open_file(file->path, &file->problem);
	g_autoptr(EVP_PKEY) key = NULL;

	if (bio == NULL)
		return;
	key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	if (key == NULL)
		file->problem =
		    g_strdup("holds no private key that can be read without a passphrase");
	else if (certificate != NULL && X509_check_private_key((X509 *)certificate, key) != 1)
		file->problem = g_strdup("is not the key of the certificate");
}

static gboolean
begin(GbeTlsFile *file, const char *key, const char *path)
{
	g_free(file->path);
	g_free(file->problem);
	*file = (GbeTlsFile){.expires = -1};
	if (path == NULL || *path == '\0')
		return FALSE;
	file->key = key;
	file->path = g_strdup(path);
	return TRUE;
}

void
gbe_certificates_look(const char *cacert, const char *cert, const char *key, GbeTlsFile tls[3])
{
	g_autoptr(X509) certificate = NULL;

	if (begin(&tls[0], "cacert", cacert))
		look_at_cas(&tls[0]);
	if (begin(&tls[1], "cert", cert))
		certificate = look_at_certificate(&tls[1]);
	if (begin(&tls[2], "key", key))
		look_at_key(&tls[2], certificate);
	/* What went wrong has been said. */
	ERR_clear_error();
}
