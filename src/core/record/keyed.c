/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/keyed.h"

#include <string.h>

#define DIGITS_MIN 64
#define DIGITS_MAX 128
#define HEX "0123456789abcdefABCDEF"

struct GbeKeys {
	GPtrArray *keys; /* of GBytes, the first one signs */
};

static const char *const kinds[] = {
    [GBE_KEYED_MANIFEST] = "greenboot-etcd manifest\n",
    [GBE_KEYED_STORED] = "greenboot-etcd snapshot\n",
    [GBE_KEYED_FILE] = "greenboot-etcd file\n",
    [GBE_KEYED_DEVICE] = "greenboot-etcd snapshot of a device\n",
};

void
gbe_keys_free(GbeKeys *keys)
{
	if (keys == NULL)
		return;
	g_ptr_array_unref(keys->keys);
	g_free(keys);
}

bool
gbe_keys_parse(const char *bytes, gsize size, GbeKeys **ret_keys, GError **error)
{
	g_autoptr(GbeKeys) keys = g_new0(GbeKeys, 1);
	g_autofree char *text = g_strndup(size > 0 ? bytes : "", size);
	g_auto(GStrv) lines = NULL;

	keys->keys = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	if (strlen(text) != size)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is no text");
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		const char *line = g_strstrip(lines[i]);
		gsize length = strlen(line);
		guint8 *key;

		if (length == 0 || *line == '#')
			continue;
		if (length < DIGITS_MIN || length > DIGITS_MAX || length % 2 != 0 ||
		    strspn(line, HEX) != length)
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "line %u is not a key of %d to %d hex digits (`openssl "
					 "rand -hex 32` makes one)",
					 i + 1, DIGITS_MIN, DIGITS_MAX);
		if (keys->keys->len == GBE_KEYS_MAX)
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "it has more than %d keys", GBE_KEYS_MAX);
		key = g_malloc(length / 2);
		for (gsize n = 0; n < length / 2; n++)
			key[n] = (guint8)(g_ascii_xdigit_value(line[2 * n]) << 4 |
					  g_ascii_xdigit_value(line[2 * n + 1]));
		g_ptr_array_add(keys->keys, g_bytes_new_take(key, length / 2));
	}
	if (keys->keys->len == 0)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it has no key");
	*ret_keys = g_steal_pointer(&keys);
	return true;
}

static char *
sign(GBytes *key, GbeKeyed kind, const char *text)
{
	g_autofree char *whole = g_strconcat(kinds[kind], text, NULL);
	gsize size = 0;
	const guint8 *bytes = g_bytes_get_data(key, &size);

	return g_compute_hmac_for_data(G_CHECKSUM_SHA256, bytes, size, (const guchar *)whole,
				       strlen(whole));
}

char *
gbe_keys_sign(const GbeKeys *keys, GbeKeyed kind, const char *text)
{
	return sign(keys->keys->pdata[0], kind, text);
}

bool
gbe_keys_prove(const GbeKeys *keys, GbeKeyed kind, const char *text, const char *digest)
{
	bool proved = false;

	if (digest == NULL || strlen(digest) != GBE_KEYED_LENGTH)
		return false;
	for (guint i = 0; i < keys->keys->len; i++) {
		g_autofree char *wanted = sign(keys->keys->pdata[i], kind, text);
		guint differs = 0;

		for (guint n = 0; n < GBE_KEYED_LENGTH; n++)
			differs |= (guint)(wanted[n] ^ digest[n]);
		proved = proved || differs == 0;
	}
	return proved;
}

char *
gbe_keyed_stored_text(const char *name, const char *meta, const char *db)
{
	return g_strconcat(name, "\n", meta, "\n", db, "\n", NULL);
}
