/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/tls/pem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/dlopen.h"

#define NAMES_MAX 256
/* Bundles of CAs are some hundred KiB. */
#define FILE_MAX (4 * 1024 * 1024)

#define SONAME "libcrypto.so.3"
#define FUNCTIONS(X)                                                                               \
	X(ASN1_STRING_get0_data)                                                                   \
	X(ASN1_STRING_length)                                                                      \
	X(ASN1_TIME_to_tm)                                                                         \
	X(BIO_ctrl)                                                                                \
	X(BIO_free_all)                                                                            \
	X(BIO_new)                                                                                 \
	X(BIO_new_mem_buf)                                                                         \
	X(BIO_s_mem)                                                                               \
	X(CRYPTO_clear_free)                                                                       \
	X(CRYPTO_free)                                                                             \
	X(ERR_clear_error)                                                                         \
	X(ERR_peek_last_error)                                                                     \
	X(EVP_PKEY_free)                                                                           \
	X(GENERAL_NAMES_free)                                                                      \
	X(GENERAL_NAME_get0_value)                                                                 \
	X(OPENSSL_sk_num)                                                                          \
	X(OPENSSL_sk_value)                                                                        \
	X(PEM_read_bio)                                                                            \
	X(X509_NAME_print_ex)                                                                      \
	X(X509_check_ca)                                                                           \
	X(X509_check_host)                                                                         \
	X(X509_check_ip_asc)                                                                       \
	X(X509_check_issued)                                                                       \
	X(X509_check_private_key)                                                                  \
	X(X509_free)                                                                               \
	X(X509_get0_notAfter)                                                                      \
	X(X509_get0_notBefore)                                                                     \
	X(X509_get0_pubkey)                                                                        \
	X(X509_get_ext_d2i)                                                                        \
	X(X509_get_extended_key_usage)                                                             \
	X(X509_get_issuer_name)                                                                    \
	X(X509_get_subject_name)                                                                   \
	X(X509_verify)                                                                             \
	X(d2i_AutoPrivateKey)                                                                      \
	X(d2i_X509)                                                                                \
	X(i2d_PUBKEY)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

struct GbePemReader {
	BIO *bio;
	bool ended;
};

static void
free_bio(BIO *bio)
{
	lib.BIO_free_all(bio);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BIO, free_bio)

void
gbe_pem_free(GbePem *pem)
{
	if (pem == NULL)
		return;
	g_free(pem->subject);
	g_free(pem->issuer);
	g_strfreev(pem->names);
	g_free(pem->public_key);
	g_free(pem->problem);
	if (pem->x509 != NULL)
		lib.X509_free(pem->x509);
	gbe_pem_forget_key(pem);
	g_free(pem);
}

void
gbe_pem_forget_key(GbePem *pem)
{
	if (pem->key != NULL)
		lib.EVP_PKEY_free(pem->key);
	pem->key = NULL;
}

static gint64
seconds_of(const ASN1_TIME *time)
{
	struct tm tm;

	memset(&tm, 0, sizeof(tm));
	return lib.ASN1_TIME_to_tm(time, &tm) == 1 ? (gint64)timegm(&tm) : -1;
}

/* The names come from the file. XN_FLAG_RFC2253 escapes everything that a terminal would obey. */
static char *
name_text(X509_NAME *name)
{
	g_autoptr(BIO) bio = lib.BIO_new(lib.BIO_s_mem());
	char *bytes = NULL;
	long size;

	if (bio == NULL || lib.X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) < 0)
		return g_strdup("");
	size = lib.BIO_ctrl(bio, BIO_CTRL_INFO, 0, &bytes);
	return g_strndup(bytes, (gsize)MAX(size, 0));
}

static char *
address_text(const ASN1_OCTET_STRING *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	int size = lib.ASN1_STRING_length(address);

	if (size != 4 && size != 16)
		return NULL;
	if (inet_ntop(size == 4 ? AF_INET : AF_INET6, lib.ASN1_STRING_get0_data(address), text,
		      sizeof(text)) == NULL)
		return NULL;
	return g_strconcat("IP:", text, NULL);
}

static char *
alternative_text(const GENERAL_NAME *name)
{
	int type = 0;
	ASN1_STRING *value = lib.GENERAL_NAME_get0_value(name, &type);
	const char *prefix = type == GEN_DNS ? "DNS:" : type == GEN_URI ? "URI:" : "email:";
	g_autofree char *text = NULL;

	if (type == GEN_IPADD)
		return address_text(value);
	if (type != GEN_DNS && type != GEN_URI && type != GEN_EMAIL)
		return NULL;
	text = g_strndup((const char *)lib.ASN1_STRING_get0_data(value),
			 (gsize)lib.ASN1_STRING_length(value));
	return g_str_is_ascii(text) ? g_strconcat(prefix, text, NULL) : NULL;
}

static char **
alternative_names(const X509 *certificate)
{
	GENERAL_NAMES *names = lib.X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	g_autoptr(GStrvBuilder) texts = g_strv_builder_new();

	for (int i = 0; i < MIN(lib.OPENSSL_sk_num((const OPENSSL_STACK *)names), NAMES_MAX); i++) {
		g_autofree char *text =
		    alternative_text(lib.OPENSSL_sk_value((const OPENSSL_STACK *)names, i));

		if (text != NULL)
			g_strv_builder_add(texts, text);
	}
	lib.GENERAL_NAMES_free(names);
	return g_strv_builder_end(texts);
}

static char *
public_key_digest(EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int size = lib.i2d_PUBKEY(key, &der);
	char *digest =
	    size > 0 ? g_compute_checksum_for_data(G_CHECKSUM_SHA256, der, (gsize)size) : NULL;

	lib.CRYPTO_free(der, OPENSSL_FILE, OPENSSL_LINE);
	return digest;
}

static void
read_certificate(const unsigned char *der, long size, GbePem *pem)
{
	X509 *certificate = lib.d2i_X509(NULL, &der, size);
	EVP_PKEY *key;

	if (certificate == NULL) {
		pem->problem = g_strdup("holds a certificate that cannot be read");
		return;
	}
	pem->kind = GBE_PEM_CERTIFICATE;
	pem->x509 = certificate;
	pem->subject = name_text(lib.X509_get_subject_name(certificate));
	pem->issuer = name_text(lib.X509_get_issuer_name(certificate));
	pem->names = alternative_names(certificate);
	pem->not_before = seconds_of(lib.X509_get0_notBefore(certificate));
	pem->not_after = seconds_of(lib.X509_get0_notAfter(certificate));
	pem->ca = lib.X509_check_ca(certificate) > 0;
	pem->server = (lib.X509_get_extended_key_usage(certificate) & XKU_SSL_SERVER) != 0;
	key = lib.X509_get0_pubkey(certificate);
	if (key != NULL)
		pem->public_key = public_key_digest(key);
	pem->self_signed = gbe_pem_is_signed_by(pem, pem);
}

static void
read_key(const char *name, const char *header, const unsigned char *der, long size, GbePem *pem)
{
	pem->kind = GBE_PEM_KEY;
	if (strstr(name, "ENCRYPTED") != NULL || strstr(header, "ENCRYPTED") != NULL) {
		pem->problem = g_strdup("needs a passphrase, which etcd cannot give");
		return;
	}
	pem->key = lib.d2i_AutoPrivateKey(NULL, &der, size);
	if (pem->key == NULL) {
		pem->kind = GBE_PEM_DAMAGED;
		pem->problem = g_strdup("holds a private key that cannot be read");
		return;
	}
	pem->public_key = public_key_digest(pem->key);
}

bool
gbe_pem_open(const char *bytes, gsize size, GbePemReader **ret_reader, GError **error)
{
	BIO *bio;

	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), error))
		return false;
	/* libcrypto takes an empty buffer for an error. */
	bio = lib.BIO_new_mem_buf(size > 0 ? bytes : "", (int)MIN(size, G_MAXINT));
	if (bio == NULL)
		return gbe_throw(error, GBE_ERROR_FAILED, "libcrypto has no memory");
	*ret_reader = g_new0(GbePemReader, 1);
	(*ret_reader)->bio = bio;
	return true;
}

GbePem *
gbe_pem_first(GBytes *bytes)
{
	g_autoptr(GbePemReader) reader = NULL;

	if (bytes == NULL ||
	    !gbe_pem_open(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), &reader, NULL))
		return NULL;
	return gbe_pem_next(reader);
}

void
gbe_pem_close(GbePemReader *reader)
{
	if (reader == NULL)
		return;
	lib.BIO_free_all(reader->bio);
	g_free(reader);
}

GbePem *
gbe_pem_next(GbePemReader *reader)
{
	g_autoptr(GbePem) pem = NULL;

	while (pem == NULL && !reader->ended) {
		unsigned char *der = NULL;
		char *header = NULL;
		char *name = NULL;
		long length = 0;

		pem = g_new0(GbePem, 1);
		*pem = (GbePem){.kind = GBE_PEM_DAMAGED, .not_before = -1, .not_after = -1};
		if (lib.PEM_read_bio(reader->bio, &name, &header, &der, &length) == 1) {
			if (g_str_has_suffix(name, "CERTIFICATE"))
				read_certificate(der, length, pem);
			else if (g_str_has_suffix(name, "PRIVATE KEY"))
				read_key(name, header, der, length, pem);
			lib.CRYPTO_free(name, OPENSSL_FILE, OPENSSL_LINE);
			lib.CRYPTO_free(header, OPENSSL_FILE, OPENSSL_LINE);
			lib.CRYPTO_clear_free(der, (gsize)MAX(length, 0), OPENSSL_FILE,
					      OPENSSL_LINE);
		} else {
			unsigned long why = lib.ERR_peek_last_error();

			reader->ended = true;
			if (ERR_GET_LIB(why) != ERR_LIB_PEM ||
			    ERR_GET_REASON(why) != PEM_R_NO_START_LINE)
				pem->problem = g_strdup("is damaged, or cut off");
		}
		/* Without a kind and a problem, the block is of another kind and is skipped. */
		if (pem->kind == GBE_PEM_DAMAGED && pem->problem == NULL)
			g_clear_pointer(&pem, gbe_pem_free);
	}
	/* The error is reported already. */
	lib.ERR_clear_error();
	return g_steal_pointer(&pem);
}

bool
gbe_pem_is_signed_by(const GbePem *certificate, const GbePem *ca)
{
	EVP_PKEY *key = lib.X509_get0_pubkey(ca->x509);
	bool is = key != NULL && lib.X509_check_issued(ca->x509, certificate->x509) == X509_V_OK &&
		  lib.X509_verify(certificate->x509, key) == 1;

	lib.ERR_clear_error();
	return is;
}

bool
gbe_pem_is_key_of(const GbePem *key, const GbePem *certificate)
{
	bool is = lib.X509_check_private_key(certificate->x509, key->key) == 1;

	lib.ERR_clear_error();
	return is;
}

bool
gbe_pem_is_for(const GbePem *certificate, const char *host)
{
	/* An address is never compared with a name (RFC 6125). */
	return g_hostname_is_ip_address(host)
		   ? lib.X509_check_ip_asc(certificate->x509, host, 0) == 1
		   : lib.X509_check_host(certificate->x509, host, 0, 0, NULL) == 1;
}

/* ---- the files of a configuration ---- */

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

/* False: the file has a problem. */
static bool
open_file(GbeTlsFile *file, Opened *opened)
{
	gbe_autofd int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	g_autoptr(GError) local = NULL;
	struct stat st;
	ssize_t got = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		file->problem = g_strdup_printf("cannot be read: %s", g_strerror(errno));
	else if (!S_ISREG(st.st_mode))
		file->problem = g_strdup("is no file");
	else if (st.st_size > FILE_MAX)
		file->problem = g_strdup("is too large");
	if (file->problem != NULL)
		return false;
	opened->bytes = g_malloc((gsize)st.st_size + 1);
	/* No bytes: the file became shorter meanwhile. */
	while (opened->size < (gsize)st.st_size && got != 0) {
		got = read(fd, opened->bytes + opened->size, (gsize)st.st_size - opened->size);
		if (got < 0 && errno != EINTR) {
			file->problem = g_strdup_printf("cannot be read: %s", g_strerror(errno));
			return false;
		}
		opened->size += (gsize)MAX(got, 0);
	}
	if (!gbe_pem_open(opened->bytes, opened->size, &opened->reader, &local))
		file->problem = g_strdup_printf("cannot be looked at: %s", local->message);
	return file->problem == NULL;
}

/* The first object that is, or claims to be, of that kind: the one that TLS takes from a file. */
static GbePem *
find_pem(GbePemReader *reader, GbePemKind kind)
{
	GbePem *pem;

	while ((pem = gbe_pem_next(reader)) != NULL) {
		if (pem->kind == kind || pem->kind == GBE_PEM_DAMAGED)
			break;
		gbe_pem_free(pem);
	}
	return pem;
}

/* The first certificate. @all: the file is a bundle of CAs, of which the one that lasts longest counts, because old ones
 * stay in it. */
static GbePem *
look_at_certificates(GbeTlsFile *file, bool all)
{
	g_auto(Opened) opened = {0};
	g_autoptr(GbePem) first = NULL;
	bool more = open_file(file, &opened);

	while (more) {
		g_autoptr(GbePem) pem = find_pem(opened.reader, GBE_PEM_CERTIFICATE);

		if (pem == NULL || pem->kind != GBE_PEM_CERTIFICATE)
			break;
		file->begins =
		    file->expires < 0 ? pem->not_before : MIN(file->begins, pem->not_before);
		file->expires = MAX(file->expires, pem->not_after);
		if (first == NULL)
			first = g_steal_pointer(&pem);
		more = all;
	}
	if (file->problem == NULL && (first == NULL || (all && file->expires < 0)))
		file->problem = g_strdup("holds no certificate");
	return g_steal_pointer(&first);
}

/* @certificate: to compare the key with, or NULL. */
static void
look_at_key(GbeTlsFile *file, const GbePem *certificate)
{
	g_auto(Opened) opened = {0};
	g_autoptr(GbePem) key = NULL;

	if (!open_file(file, &opened))
		return;
	key = find_pem(opened.reader, GBE_PEM_KEY);
	if (key == NULL || key->problem != NULL)
		file->problem =
		    g_strdup("holds no private key that can be read without a passphrase");
	else if (certificate != NULL && !gbe_pem_is_key_of(key, certificate))
		file->problem = g_strdup("is not the key of the certificate");
}

static bool
begin_file(GbeTlsFile *file, const char *key, const char *path)
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
	g_autoptr(GbePem) ca = NULL;
	g_autoptr(GbePem) certificate = NULL;

	if (begin_file(&tls[0], "cacert", cacert))
		ca = look_at_certificates(&tls[0], true);
	if (begin_file(&tls[1], "cert", cert))
		certificate = look_at_certificates(&tls[1], false);
	if (begin_file(&tls[2], "key", key))
		look_at_key(&tls[2], certificate);
}
