/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/pem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define NAMES_MAX 256

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BIO, BIO_free_all)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EVP_PKEY, EVP_PKEY_free)

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
	X509_free(pem->x509);
	g_free(pem);
}

static gint64
seconds_of(const ASN1_TIME *time)
{
	struct tm tm;

	memset(&tm, 0, sizeof(tm));
	return ASN1_TIME_to_tm(time, &tm) == 1 ? (gint64)timegm(&tm) : -1;
}

/* Names come from the file: as text without anything that a terminal would obey (XN_FLAG_RFC2253 escapes it). */
static char *
name_text(X509_NAME *name)
{
	g_autoptr(BIO) bio = BIO_new(BIO_s_mem());
	char *bytes = NULL;
	long size;

	if (bio == NULL || X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) < 0)
		return g_strdup("");
	size = BIO_get_mem_data(bio, &bytes);
	return g_strndup(bytes, (gsize)MAX(size, 0));
}

static char *
address_text(const ASN1_OCTET_STRING *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	int size = ASN1_STRING_length(address);

	if (size != 4 && size != 16)
		return NULL;
	if (inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text,
		      sizeof(text)) == NULL)
		return NULL;
	return g_strconcat("IP:", text, NULL);
}

static char *
alternative_text(const GENERAL_NAME *name)
{
	int type = 0;
	ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
	const char *prefix = type == GEN_DNS ? "DNS:" : type == GEN_URI ? "URI:" : "email:";
	g_autofree char *text = NULL;

	if (type == GEN_IPADD)
		return address_text(value);
	if (type != GEN_DNS && type != GEN_URI && type != GEN_EMAIL)
		return NULL;
	text =
	    g_strndup((const char *)ASN1_STRING_get0_data(value), (gsize)ASN1_STRING_length(value));
	return g_str_is_ascii(text) ? g_strconcat(prefix, text, NULL) : NULL;
}

static char **
alternative_names(const X509 *certificate)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	g_autoptr(GPtrArray) texts = g_ptr_array_new();

	for (int i = 0; i < MIN(sk_GENERAL_NAME_num(names), NAMES_MAX); i++) {
		char *text = alternative_text(sk_GENERAL_NAME_value(names, i));

		if (text != NULL)
			g_ptr_array_add(texts, text);
	}
	GENERAL_NAMES_free(names);
	g_ptr_array_add(texts, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&texts), FALSE);
}

static char *
public_key_digest(EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int size = i2d_PUBKEY(key, &der);
	char *digest =
	    size > 0 ? g_compute_checksum_for_data(G_CHECKSUM_SHA256, der, (gsize)size) : NULL;

	OPENSSL_free(der);
	return digest;
}

static void
read_certificate(const unsigned char *der, long size, GbePem *pem)
{
	X509 *certificate = d2i_X509(NULL, &der, size);
	EVP_PKEY *key;

	if (certificate == NULL) {
		pem->problem = g_strdup("holds a certificate that cannot be read");
		return;
	}
	pem->kind = GBE_PEM_CERTIFICATE;
	pem->x509 = certificate;
	pem->subject = name_text(X509_get_subject_name(certificate));
	pem->issuer = name_text(X509_get_issuer_name(certificate));
	pem->names = alternative_names(certificate);
	pem->not_before = seconds_of(X509_get0_notBefore(certificate));
	pem->not_after = seconds_of(X509_get0_notAfter(certificate));
	pem->ca = X509_check_ca(certificate) > 0;
	pem->server = (X509_get_extended_key_usage(certificate) & XKU_SSL_SERVER) != 0;
	key = X509_get0_pubkey(certificate);
	if (key != NULL)
		pem->public_key = public_key_digest(key);
	pem->self_signed = gbe_pem_is_signed_by(pem, pem);
}

static void
read_key(const char *name, const char *header, const unsigned char *der, long size, GbePem *pem)
{
	g_autoptr(EVP_PKEY) key = NULL;

	pem->kind = GBE_PEM_KEY;
	if (strstr(name, "ENCRYPTED") != NULL || strstr(header, "ENCRYPTED") != NULL) {
		pem->problem = g_strdup("needs a passphrase, which etcd cannot give");
		return;
	}
	key = d2i_AutoPrivateKey(NULL, &der, size);
	if (key == NULL) {
		pem->kind = GBE_PEM_DAMAGED;
		pem->problem = g_strdup("holds a private key that cannot be read");
		return;
	}
	pem->public_key = public_key_digest(key);
}

static gboolean
is_end(void)
{
	unsigned long why = ERR_peek_last_error();

	return ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
}

GPtrArray *
gbe_pem_read(const char *bytes, gsize size, guint most)
{
	GPtrArray *found = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_pem_free);
	g_autoptr(BIO) bio = BIO_new_mem_buf(bytes, (int)MIN(size, G_MAXINT));

	while (bio != NULL && found->len < most) {
		GbePem *pem = g_new0(GbePem, 1);
		unsigned char *der = NULL;
		char *header = NULL;
		char *name = NULL;
		long length = 0;

		*pem = (GbePem){.kind = GBE_PEM_DAMAGED, .not_before = -1, .not_after = -1};
		if (PEM_read_bio(bio, &name, &header, &der, &length) != 1) {
			gboolean end = is_end();

			if (!end)
				pem->problem = g_strdup("is damaged, or cut off");
			g_ptr_array_add(found, pem);
			if (end)
				g_ptr_array_set_size(found, (int)found->len - 1);
			break;
		}
		if (g_str_has_suffix(name, "CERTIFICATE"))
			read_certificate(der, length, pem);
		else if (g_str_has_suffix(name, "PRIVATE KEY"))
			read_key(name, header, der, length, pem);
		if (pem->kind != GBE_PEM_DAMAGED || pem->problem != NULL)
			g_ptr_array_add(found, pem);
		else
			gbe_pem_free(pem);
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_clear_free(der, (gsize)MAX(length, 0));
	}
	/* What went wrong has been said. */
	ERR_clear_error();
	return found;
}

bool
gbe_pem_is_signed_by(const GbePem *certificate, const GbePem *ca)
{
	EVP_PKEY *key = X509_get0_pubkey(ca->x509);
	bool is = key != NULL && X509_check_issued(ca->x509, certificate->x509) == X509_V_OK &&
		  X509_verify(certificate->x509, key) == 1;

	ERR_clear_error();
	return is;
}

bool
gbe_pem_is_for(const GbePem *certificate, const char *host)
{
	/* An address is never compared with a name (RFC 6125). */
	return g_hostname_is_ip_address(host)
		   ? X509_check_ip_asc(certificate->x509, host, 0) == 1
		   : X509_check_host(certificate->x509, host, 0, 0, NULL) == 1;
}
