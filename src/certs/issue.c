/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/issue.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/dlopen.h"
#include "core/config/lists.h"

#define SERIAL_BYTES 16
/* That of RSA with 2,048 bits. */
#define SECURITY_BITS 112

#define SONAME "libcrypto.so.3"
#define FUNCTIONS(X)                                                                               \
	X(ASN1_STRING_set)                                                                         \
	X(ASN1_TIME_set)                                                                           \
	X(BIO_ctrl)                                                                                \
	X(BIO_free_all)                                                                            \
	X(BIO_new)                                                                                 \
	X(BIO_new_mem_buf)                                                                         \
	X(BIO_s_mem)                                                                               \
	X(ERR_clear_error)                                                                         \
	X(ERR_peek_last_error)                                                                     \
	X(ERR_reason_error_string)                                                                 \
	X(EVP_PKEY_Q_keygen)                                                                       \
	X(EVP_PKEY_free)                                                                           \
	X(EVP_PKEY_get_security_bits)                                                              \
	X(EVP_PKEY_is_a)                                                                           \
	X(EVP_sha256)                                                                              \
	X(GENERAL_NAMES_free)                                                                      \
	X(OPENSSL_sk_pop_free)                                                                     \
	X(PEM_read_bio_X509_REQ)                                                                   \
	X(PEM_write_bio_PKCS8PrivateKey)                                                           \
	X(PEM_write_bio_X509)                                                                      \
	X(RAND_bytes)                                                                              \
	X(X509V3_EXT_conf_nid)                                                                     \
	X(X509V3_get_d2i)                                                                          \
	X(X509V3_set_ctx)                                                                          \
	X(X509_EXTENSION_free)                                                                     \
	X(X509_NAME_add_entry_by_txt)                                                              \
	X(X509_REQ_free)                                                                           \
	X(X509_REQ_get0_pubkey)                                                                    \
	X(X509_REQ_get_extensions)                                                                 \
	X(X509_REQ_get_subject_name)                                                               \
	X(X509_REQ_verify)                                                                         \
	X(X509_add1_ext_i2d)                                                                       \
	X(X509_add_ext)                                                                            \
	X(X509_free)                                                                               \
	X(X509_get_serialNumber)                                                                   \
	X(X509_get_subject_name)                                                                   \
	X(X509_getm_notAfter)                                                                      \
	X(X509_getm_notBefore)                                                                     \
	X(X509_new)                                                                                \
	X(X509_set_issuer_name)                                                                    \
	X(X509_set_pubkey)                                                                         \
	X(X509_set_subject_name)                                                                   \
	X(X509_set_version)                                                                        \
	X(X509_sign)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

#define FREED_BY(type, function)                                                                   \
	static void free_##type(type *object)                                                      \
	{                                                                                          \
		lib.function(object);                                                              \
	}                                                                                          \
	G_DEFINE_AUTOPTR_CLEANUP_FUNC(type, free_##type)
FREED_BY(BIO, BIO_free_all)
FREED_BY(EVP_PKEY, EVP_PKEY_free)
FREED_BY(X509, X509_free)
FREED_BY(X509_REQ, X509_REQ_free)

void
gbe_private_key_free(GbePrivateKey *key)
{
	gsize size = 0;
	gpointer bytes;

	if (key == NULL)
		return;
	bytes = (gpointer)g_bytes_get_data(key, &size);
	if (bytes != NULL)
		explicit_bzero(bytes, size);
	g_bytes_unref(key);
}

/* Sets the error that libcrypto has last reported. Always returns false. */
static bool
throw_crypto(GError **error, const char *what)
{
	const char *reason = lib.ERR_reason_error_string(lib.ERR_peek_last_error());

	lib.ERR_clear_error();
	return gbe_throw(error, GBE_ERROR_FAILED, "cannot make %s: %s", what,
			 reason != NULL ? reason : "libcrypto gives no reason");
}

static GBytes *
bytes_of(BIO *bio)
{
	char *bytes = NULL;
	long size = lib.BIO_ctrl(bio, BIO_CTRL_INFO, 0, &bytes);

	return g_bytes_new(bytes, (gsize)MAX(size, 0));
}

/* ---- a certificate ---- */

static bool
add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX context;
	bool added;

	lib.X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = lib.X509V3_EXT_conf_nid(NULL, &context, nid, value);
	added = extension != NULL && lib.X509_add_ext(certificate, extension, -1) == 1;
	lib.X509_EXTENSION_free(extension);
	return added;
}

/* libcrypto parses the text that is made of these. A host has no character that means something there. */
static bool
add_hosts(X509 *certificate, char *const *hosts, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; hosts[i] != NULL; i++) {
		bool address = g_hostname_is_ip_address(hosts[i]);

		if (!gbe_certs_is_host(hosts[i]))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s is not an IP address or a host name", hosts[i]);
		g_string_append_printf(text, "%s%s:%s", i > 0 ? "," : "", address ? "IP" : "DNS",
				       hosts[i]);
	}
	return text->len == 0 ||
	       add_extension(certificate, NULL, NID_subject_alt_name, text->str) ||
	       throw_crypto(error, "the names of a certificate");
}

static X509 *
begin_certificate(const GbeCertOrder *order, EVP_PKEY *key)
{
	g_autoptr(X509) certificate = lib.X509_new();
	unsigned char serial[SERIAL_BYTES];

	if (certificate == NULL || lib.X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    lib.RAND_bytes(serial, sizeof(serial)) != 1)
		return NULL;
	/* Positive, not zero, and 126 bits that are hard to guess. */
	serial[0] = (unsigned char)((serial[0] & 0x3f) | 0x40);
	if (lib.ASN1_STRING_set(lib.X509_get_serialNumber(certificate), serial, sizeof(serial)) !=
		1 ||
	    lib.ASN1_TIME_set(lib.X509_getm_notBefore(certificate), (time_t)order->not_before) ==
		NULL ||
	    lib.ASN1_TIME_set(lib.X509_getm_notAfter(certificate), (time_t)order->not_after) ==
		NULL ||
	    lib.X509_set_pubkey(certificate, key) != 1)
		return NULL;
	if (order->name != NULL && lib.X509_NAME_add_entry_by_txt(
				       lib.X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
				       (const unsigned char *)order->name, -1, -1, 0) != 1)
		return NULL;
	return g_steal_pointer(&certificate);
}

static bool
sign_certificate(X509 *certificate, X509 *issuer, EVP_PKEY *key)
{
	/* These have a digest of their own. */
	bool own = lib.EVP_PKEY_is_a(key, "ED25519") == 1 || lib.EVP_PKEY_is_a(key, "ED448") == 1;

	return lib.X509_set_issuer_name(certificate, lib.X509_get_subject_name(issuer)) == 1 &&
	       lib.X509_sign(certificate, key, own ? NULL : lib.EVP_sha256()) > 0;
}

static bool
print_certificate(X509 *certificate, GBytes *more, GBytes **ret_bytes, GError **error)
{
	g_autoptr(BIO) bio = lib.BIO_new(lib.BIO_s_mem());
	g_autoptr(GBytes) one = NULL;
	GByteArray *both = NULL;

	if (bio == NULL || lib.PEM_write_bio_X509(bio, certificate) != 1)
		return throw_crypto(error, "a certificate");
	one = bytes_of(bio);
	both = g_byte_array_new();
	g_byte_array_append(both, g_bytes_get_data(one, NULL), (guint)g_bytes_get_size(one));
	if (more != NULL && g_bytes_get_size(more) > 0)
		g_byte_array_append(both, g_bytes_get_data(more, NULL),
				    (guint)g_bytes_get_size(more));
	*ret_bytes = g_byte_array_free_to_bytes(both);
	return true;
}

static bool
print_key(EVP_PKEY *key, GbePrivateKey **ret_key, GError **error)
{
	/* libcrypto wipes the memory of this one when it is freed. */
	g_autoptr(BIO) bio = lib.BIO_new(lib.BIO_s_mem());

	if (bio == NULL ||
	    lib.PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return throw_crypto(error, "a private key");
	*ret_key = bytes_of(bio);
	return true;
}

static bool
make_key(EVP_PKEY **ret_key, GError **error)
{
	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), error))
		return false;
	*ret_key = lib.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	return *ret_key != NULL || throw_crypto(error, "a private key");
}

bool
gbe_issue_authority(const GbeCertOrder *order, GBytes **ret_certificate, GbePrivateKey **ret_key,
		    GError **error)
{
	g_autoptr(EVP_PKEY) key = NULL;
	g_autoptr(X509) certificate = NULL;
	g_autoptr(GbePrivateKey) printed = NULL;

	if (!make_key(&key, error))
		return false;
	certificate = begin_certificate(order, key);
	if (certificate == NULL ||
	    !add_extension(certificate, NULL, NID_basic_constraints,
			   "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(certificate, NULL, NID_key_usage, "critical,keyCertSign,cRLSign") ||
	    !add_extension(certificate, NULL, NID_subject_key_identifier, "hash") ||
	    !sign_certificate(certificate, certificate, key))
		return throw_crypto(error, "an authority's certificate");
	if (!print_key(key, &printed, error) ||
	    !print_certificate(certificate, NULL, ret_certificate, error))
		return false;
	*ret_key = g_steal_pointer(&printed);
	return true;
}

/* ---- the authority ---- */

void
gbe_issuer_free(GbeIssuer *issuer)
{
	if (issuer == NULL)
		return;
	gbe_pem_free(issuer->certificate);
	gbe_pem_free(issuer->key);
	g_clear_pointer(&issuer->chain, g_bytes_unref);
	g_clear_pointer(&issuer->intermediates, g_bytes_unref);
	g_free(issuer);
}

static GbePem *
next_pem(GbePemReader *reader, GbePemKind kind, const char *what, GError **error)
{
	GbePem *pem = gbe_pem_next(reader);

	while (pem != NULL && pem->problem == NULL && pem->kind != kind) {
		gbe_pem_free(pem);
		pem = gbe_pem_next(reader);
	}
	if (pem != NULL && pem->problem != NULL) {
		(void)gbe_throw(error, GBE_ERROR_REFUSED, "%s %s", what, pem->problem);
		g_clear_pointer(&pem, gbe_pem_free);
	}
	return pem;
}

/* The first certificate signs. All certificates but self-signed ones are sent along with a leaf. */
static bool
read_chain(GbeIssuer *issuer, GBytes *certificate, const char *what, GError **error)
{
	g_autoptr(GbePemReader) reader = NULL;
	g_autoptr(BIO) all = NULL;
	g_autoptr(BIO) bio = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_pem_open(g_bytes_get_data(certificate, NULL), g_bytes_get_size(certificate),
			  &reader, error))
		return false;
	all = lib.BIO_new(lib.BIO_s_mem());
	bio = lib.BIO_new(lib.BIO_s_mem());
	for (;;) {
		g_autoptr(GbePem) pem = next_pem(reader, GBE_PEM_CERTIFICATE, what, &local);

		if (pem == NULL)
			break;
		if (lib.PEM_write_bio_X509(all, pem->x509) != 1 ||
		    (!pem->self_signed && lib.PEM_write_bio_X509(bio, pem->x509) != 1))
			return throw_crypto(error, "a chain of certificates");
		if (issuer->certificate == NULL)
			issuer->certificate = g_steal_pointer(&pem);
	}
	if (local != NULL)
		return gbe_pass(error, &local);
	issuer->chain = bytes_of(all);
	issuer->intermediates = bytes_of(bio);
	return issuer->certificate != NULL ||
	       gbe_throw(error, GBE_ERROR_REFUSED, "%s has no certificate", what);
}

bool
gbe_issuer_open(GBytes *certificate, GbePrivateKey *key, const char *what, GbeIssuer **ret_issuer,
		GError **error)
{
	g_autoptr(GbeIssuer) issuer = g_new0(GbeIssuer, 1);
	g_autoptr(GbePemReader) reader = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), error) ||
	    !read_chain(issuer, certificate, what, error))
		return false;
	if (!issuer->certificate->ca)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "%s is not a certificate of an authority: %s may not sign certificates", what,
		    issuer->certificate->subject);
	/* The signature of another authority cannot be checked here. */
	if (!issuer->certificate->self_signed &&
	    g_str_equal(issuer->certificate->subject, issuer->certificate->issuer))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is damaged: its signature is not its own", what);
	if (!gbe_pem_open(g_bytes_get_data(key, NULL), g_bytes_get_size(key), &reader, error))
		return false;
	issuer->key = next_pem(reader, GBE_PEM_KEY, "the authority's key", &local);
	if (local != NULL)
		return gbe_pass(error, &local);
	if (issuer->key == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "the key for %s is not a private key",
				 what);
	if (!gbe_pem_is_key_of(issuer->key, issuer->certificate))
		return gbe_throw(error, GBE_ERROR_REFUSED, "the key is not that of %s", what);
	if (lib.EVP_PKEY_get_security_bits(issuer->key->key) < SECURITY_BITS)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the key of %s is too weak: RSA needs 2048 bits, EC 224", what);
	*ret_issuer = g_steal_pointer(&issuer);
	return true;
}

/* ---- leaves ---- */

static bool
finish_certificate(const GbeIssuer *issuer, const GbeCertOrder *order, X509 *certificate, bool rsa,
		   GBytes **ret_certificate, GError **error)
{
	X509 *by = issuer->certificate->x509;

	if (!add_extension(certificate, by, NID_basic_constraints, "critical,CA:FALSE") ||
	    !add_extension(certificate, by, NID_key_usage,
			   rsa ? "critical,digitalSignature,keyEncipherment"
			       : "critical,digitalSignature") ||
	    !add_extension(certificate, by, NID_ext_key_usage,
			   order->use == GBE_USE_CLIENT ? "clientAuth" : "serverAuth,clientAuth") ||
	    !add_extension(certificate, by, NID_subject_key_identifier, "hash") ||
	    !add_extension(certificate, by, NID_authority_key_identifier, "keyid,issuer") ||
	    !sign_certificate(certificate, by, issuer->key->key))
		return throw_crypto(error, "a certificate");
	return print_certificate(certificate, issuer->intermediates, ret_certificate, error);
}

bool
gbe_issue(const GbeIssuer *issuer, const GbeCertOrder *order, GBytes **ret_certificate,
	  GbePrivateKey **ret_key, GError **error)
{
	g_autoptr(EVP_PKEY) key = NULL;
	g_autoptr(X509) certificate = NULL;
	g_autoptr(GbePrivateKey) printed = NULL;

	if (!make_key(&key, error))
		return false;
	certificate = begin_certificate(order, key);
	if (certificate == NULL)
		return throw_crypto(error, "a certificate");
	if ((order->hosts != NULL && !add_hosts(certificate, order->hosts, error)) ||
	    !print_key(key, &printed, error) ||
	    !finish_certificate(issuer, order, certificate, false, ret_certificate, error))
		return false;
	*ret_key = g_steal_pointer(&printed);
	return true;
}

static bool
copy_hosts(X509_REQ *request, X509 *certificate, GError **error)
{
	STACK_OF(X509_EXTENSION) *extensions = lib.X509_REQ_get_extensions(request);
	int critical = -1; /* and stays so without names */
	GENERAL_NAMES *names =
	    extensions != NULL
		? lib.X509V3_get_d2i(extensions, NID_subject_alt_name, &critical, NULL)
		: NULL;
	bool damaged = names == NULL && critical != -1;
	bool copied = names == NULL || lib.X509_add1_ext_i2d(certificate, NID_subject_alt_name,
							     names, 0, X509V3_ADD_DEFAULT) == 1;

	lib.GENERAL_NAMES_free(names);
	lib.OPENSSL_sk_pop_free((OPENSSL_STACK *)extensions,
				(OPENSSL_sk_freefunc)lib.X509_EXTENSION_free);
	if (damaged) {
		lib.ERR_clear_error();
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "the names that the request asks for cannot be read");
	}
	return copied || throw_crypto(error, "the names of a certificate");
}

bool
gbe_issue_for_request(const GbeIssuer *issuer, const GbeCertOrder *order, GBytes *request,
		      GBytes **ret_certificate, GError **error)
{
	g_autoptr(BIO) bio = NULL;
	g_autoptr(X509_REQ) asked = NULL;
	g_autoptr(X509) certificate = NULL;
	EVP_PKEY *key;

	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), error))
		return false;
	bio = lib.BIO_new_mem_buf(g_bytes_get_data(request, NULL), (int)g_bytes_get_size(request));
	/* Without a passphrase here, libcrypto would ask the terminal for one where the text wants it. */
	asked = bio != NULL ? lib.PEM_read_bio_X509_REQ(bio, NULL, NULL, (void *)"") : NULL;
	key = asked != NULL ? lib.X509_REQ_get0_pubkey(asked) : NULL;
	lib.ERR_clear_error();
	if (key == NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "the file is not a certificate request (PKCS #10 in PEM)");
	if (lib.X509_REQ_verify(asked, key) != 1) {
		lib.ERR_clear_error();
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the request is not signed with the key that it names");
	}
	if (lib.EVP_PKEY_get_security_bits(key) < SECURITY_BITS)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the request's key is too weak: RSA needs 2048 bits, EC 224");
	certificate = begin_certificate(order, key);
	if (certificate == NULL ||
	    (order->name == NULL &&
	     lib.X509_set_subject_name(certificate, lib.X509_REQ_get_subject_name(asked)) != 1))
		return throw_crypto(error, "a certificate");
	return (order->hosts != NULL ? add_hosts(certificate, order->hosts, error)
				     : copy_hosts(asked, certificate, error)) &&
	       finish_certificate(issuer, order, certificate, lib.EVP_PKEY_is_a(key, "RSA") == 1,
				  ret_certificate, error);
}
