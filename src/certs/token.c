/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/token.h"

#include <string.h>

#include "app/certs/export.h"
#include "certs/issue.h"

#define ROTATION "rotation: "

bool
gbe_authority_equal(const GbeAuthority *one, const GbeAuthority *other)
{
	return one->certificate != NULL && other->certificate != NULL &&
	       g_bytes_equal(one->certificate, other->certificate);
}

/* The first private key in @text, as PEM; NULL: it has none. */
static const char *
find_key(const char *text, gsize size, gsize *ret_length)
{
	const char *end = text + size, *begin = text;

	while ((begin = g_strstr_len(begin, end - begin, "-----BEGIN ")) != NULL) {
		const char *last = g_strstr_len(begin, end - begin, "-----END ");
		const char *next = last != NULL ? memchr(last, '\n', (gsize)(end - last)) : NULL;

		if (last == NULL)
			return NULL;
		next = next != NULL ? next + 1 : end;
		if (g_strstr_len(last, next - last, "PRIVATE KEY") != NULL) {
			*ret_length = (gsize)(next - begin);
			return begin;
		}
		begin = next;
	}
	return NULL;
}

/* The file of the key may hold certificates, too. */
static bool
append(GbeApp *app, GByteArray *to, GbeAuthority *authority, GError **error)
{
	const char *text, *key;
	gsize size = 0, length = 0;

	if (!gbe_unseal(app, authority, error))
		return false;
	text = g_bytes_get_data(authority->key, &size);
	key = find_key(text, size, &length);
	if (key == NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 GBE_PKI_LIVE "/authority has no private key");
	g_byte_array_append(to, g_bytes_get_data(authority->certificate, NULL),
			    (guint)g_bytes_get_size(authority->certificate));
	g_byte_array_append(to, (const guint8 *)key, (guint)length);
	if (key[length - 1] != '\n')
		g_byte_array_append(to, (const guint8 *)"\n", 1);
	return true;
}

bool
gbe_token_write(GbeApp *app, const char *path, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GbePrivateKey) token = NULL;
	GByteArray *bytes = g_byte_array_new();
	bool ok;

	ok = gbe_pki_read(app, &pki, error) &&
	     (pki != NULL || gbe_throw(error, GBE_ERROR_NOT_FOUND,
				       "there is no authority in " GBE_PKI_LIVE
				       ": `greenboot-etcd cluster init` makes one"));
	if (ok && pki->record.rotation != GBE_ROTATION_NONE) {
		g_autofree char *line = g_strdup_printf(
		    ROTATION "%s\n", gbe_words_get(&gbe_rotation_words, pki->record.rotation));

		g_byte_array_append(bytes, (const guint8 *)line, (guint)strlen(line));
	}
	ok = ok && append(app, bytes, &pki->signer, error) &&
	     (pki->record.rotation == GBE_ROTATION_NONE || append(app, bytes, &pki->other, error));
	token = g_byte_array_free_to_bytes(bytes);
	return ok && gbe_certs_write_file(app, token, path, error);
}

/* ---- reading ---- */

/* @key: the private key of the authority that @text begins with. */
static bool
take(const char *text, gsize size, const char *key, gsize length, const char *path,
     GbeAuthority *authority, GError **error)
{
	g_autoptr(GbePrivateKey) all = g_bytes_new(text, size);
	g_autoptr(GbePrivateKey) one = g_bytes_new(key, length);
	g_autoptr(GbeIssuer) issuer = NULL;

	if (!gbe_issuer_open(all, one, path, &issuer, error))
		return false;
	authority->certificate = g_bytes_ref(gbe_issuer_chain(issuer));
	authority->key = g_steal_pointer(&one);
	return true;
}

bool
gbe_token_read(GbeApp *app, const char *path, GbePki *ret_pki, GError **error)
{
	g_autoptr(GbePrivateKey) token = NULL;
	const char *text, *key, *rest, *other;
	gsize size = 0, length = 0;

	if (!gbe_certs_read_file(app, path, true, &token, error))
		return false;
	text = g_bytes_get_data(token, &size);
	key = find_key(text, size, &length);
	if (key == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s has no private key: it is not a "
				 "token of `greenboot-etcd cluster token`",
				 path);
	if (!g_str_has_prefix(text, ROTATION))
		return take(text, size, key, length, path, &ret_pki->signer, error);
	rest = key + length;
	if (!take(text, (gsize)(rest - text), key, length, path, &ret_pki->signer, error))
		return false;
	size -= (gsize)(rest - text);
	other = find_key(rest, size, &length);
	if (other == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is cut off: its second key is missing", path);
	ret_pki->record.rotation = g_str_has_prefix(text, ROTATION "reissued\n")
				       ? GBE_ROTATION_REISSUED
				       : GBE_ROTATION_TRUSTED;
	return take(rest, size, other, length, path, &ret_pki->other, error);
}
