/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/key-value.h"

#include <string.h>
#include <sys/auxv.h>

#include "etcd/protobuf.h"

/* A tag and a number of ten bytes each: enough of a field to find the next one. */
#define FIELD_HEAD 20
#define KEY 1
#define CREATE_REVISION 2
#define MOD_REVISION 3
#define VERSION 4
#define VALUE 5
#define LEASE 6
#define PIECE (GBE_BBOLT_WINDOW / 2)

bool
gbe_revision_read(const guint8 *at, gsize size, GbeRevision *ret_revision)
{
	GbeRevision revision;

	if (size < 17 || size > 18 || at[8] != '_' || (size == 18 && at[17] != 't'))
		return false;
	revision.main = (gint64)gbe_load_be64(at);
	revision.sub = (gint64)gbe_load_be64(at + 9);
	revision.tombstone = size == 18;
	if (revision.main < 1 || revision.sub < 0)
		return false;
	*ret_revision = revision;
	return true;
}

/* ---- the hash of a key: SipHash-1-3, eight bytes at a time, so that pieces of such lengths add up ---- */

typedef struct {
	guint64 v0, v1, v2, v3;
} KeyHash;

static inline guint64
rotate_word(guint64 word, guint bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void
mix_hash(KeyHash *hash)
{
	hash->v0 += hash->v1;
	hash->v2 += hash->v3;
	hash->v1 = rotate_word(hash->v1, 13) ^ hash->v0;
	hash->v3 = rotate_word(hash->v3, 16) ^ hash->v2;
	hash->v0 = rotate_word(hash->v0, 32) + hash->v3;
	hash->v2 += hash->v1;
	hash->v1 = rotate_word(hash->v1, 17) ^ hash->v2;
	hash->v3 = rotate_word(hash->v3, 21) ^ hash->v0;
	hash->v2 = rotate_word(hash->v2, 32);
}

/* The secret belongs to this process, so that keys cannot be chosen to collide in a table. The secret is the sixteen
 * random bytes that the kernel gives each process, which need no entropy of our own early at boot. */
static KeyHash
hash_begin(void)
{
	static guint64 secret[2];
	static gsize known;

	if (g_once_init_enter(&known)) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		memcpy(secret, (const void *)getauxval(AT_RANDOM), sizeof(secret));
		g_once_init_leave(&known, 1);
	}
	return (KeyHash){
	    .v0 = secret[0] ^ G_GUINT64_CONSTANT(0x736f6d6570736575),
	    .v1 = secret[1] ^ G_GUINT64_CONSTANT(0x646f72616e646f6d),
	    .v2 = secret[0] ^ G_GUINT64_CONSTANT(0x6c7967656e657261),
	    .v3 = secret[1] ^ G_GUINT64_CONSTANT(0x7465646279746573),
	};
}

static inline void
hash_word(KeyHash *hash, guint64 word)
{
	hash->v3 ^= word;
	mix_hash(hash);
	hash->v0 ^= word;
}

static void
hash_piece(KeyHash *hash, const guint8 *at, gsize size)
{
	guint64 word;

	for (; size >= 8; at += 8, size -= 8) {
		memcpy(&word, at, 8);
		hash_word(hash, word);
	}
	if (size > 0) {
		word = 0;
		memcpy(&word, at, size);
		hash_word(hash, word);
	}
}

static guint64
hash_end(KeyHash *hash, guint64 size)
{
	hash_word(hash, size);
	hash->v2 ^= 0xff;
	mix_hash(hash);
	mix_hash(hash);
	mix_hash(hash);
	return hash->v0 ^ hash->v1 ^ hash->v2 ^ hash->v3;
}

guint64
gbe_key_hash(const guint8 *at, gsize size)
{
	KeyHash hash = hash_begin();

	hash_piece(&hash, at, size);
	return hash_end(&hash, size);
}

/* ---- the message ---- */

/* A known field must have its own kind, else etcd cannot read it. */
static bool
kind_fits(guint32 number, GbeWireType type)
{
	if (number == KEY || number == VALUE)
		return type == GBE_WIRE_BYTES;
	return number > LEASE || type == GBE_WIRE_VARINT;
}

static void
take_number(GbeKeyValue *kv, guint32 number, guint64 value)
{
	switch (number) {
	case CREATE_REVISION:
		kv->create = (gint64)value;
		break;
	case MOD_REVISION:
		kv->mod = (gint64)value;
		break;
	case VERSION:
		kv->version = (gint64)value;
		break;
	default:
		break;
	}
}

/* Reads a field as etcd itself writes nearly every field: one byte for the tag, numbers in no more bytes than they
 * need. False: anything else, which the reader of the wire format may still read. */
static inline bool
quick_number(const guint8 **at, const guint8 *end, guint64 *ret_number)
{
	guint64 number = 0;

	for (guint shift = 0; *at < end && shift < 63; shift += 7) {
		guint8 byte = *(*at)++;

		number |= (guint64)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

static bool
read_quickly(const guint8 *at, gsize size, GbeKeyValue *kv)
{
	const guint8 *end = at + size;
	guint64 number = 0;

	while (at < end) {
		guint8 tag = *at++;

		if (!quick_number(&at, end, &number))
			return false;
		if (tag == (KEY << 3 | GBE_WIRE_BYTES) || tag == (VALUE << 3 | GBE_WIRE_BYTES)) {
			if (number > (guint64)(end - at))
				return false;
			if (tag >> 3 == KEY) {
				kv->key = at;
				kv->key_size = number;
			}
			at += number;
		} else if (tag == CREATE_REVISION << 3 || tag == MOD_REVISION << 3 ||
			   tag == VERSION << 3 || tag == LEASE << 3) {
			take_number(kv, tag >> 3, number);
		} else {
			return false;
		}
	}
	kv->hash = gbe_key_hash(kv->key, (gsize)kv->key_size);
	return true;
}

/* Reads the head of the field at @at: its number and kind, and, for bytes, how many follow the *ret_head bytes of the
 * head. */
static bool
read_head(const guint8 *at, gsize size, GbeProtobuf *ret_field, gsize *ret_head, guint64 *ret_bytes)
{
	GbeProtobuf field = gbe_protobuf_begin(at, size);
	const guint8 *next = at;
	guint64 tag;

	*ret_bytes = 0;
	if (!gbe_protobuf_varint(&next, at + size, &tag))
		return false;
	if ((tag & 7) != GBE_WIRE_BYTES) {
		if (!gbe_protobuf_next(&field))
			return false;
		next = field.at;
	} else if (tag >> 3 == 0 || tag >> 3 >= 1 << 29 ||
		   !gbe_protobuf_varint(&next, at + size, ret_bytes)) {
		return false;
	} else {
		field.number = (guint32)(tag >> 3);
		field.type = GBE_WIRE_BYTES;
	}
	*ret_field = field;
	*ret_head = (gsize)(next - at);
	return true;
}

/* @want bytes of the row's value from byte @offset on. */
static bool
fetch_value(GbeBbolt *db, const GbeBboltRow *row, guint64 offset, gsize want, const guint8 **ret_at,
	    GError **error)
{
	if (row->value == NULL)
		return gbe_bbolt_fetch(db, row->value_at + offset, want, ret_at, error);
	*ret_at = row->value + offset;
	return true;
}

/* Goes from field to field. Of a large field it reads only the key's bytes. */
static bool
read_fields(GbeBbolt *db, const GbeBboltRow *row, GbeKeyValue *kv, bool *ret_good, GError **error)
{
	guint64 end = row->value_size;
	guint64 offset = 0;

	*ret_good = false;
	kv->hash = gbe_key_hash(NULL, 0);
	while (offset < end) {
		const guint8 *at = NULL;
		GbeProtobuf field = {0};
		guint64 bytes = 0;
		gsize head = 0;
		gsize want = (gsize)MIN(end - offset, FIELD_HEAD);

		if (!fetch_value(db, row, offset, want, &at, error))
			return false;
		if (!read_head(at, want, &field, &head, &bytes) ||
		    !kind_fits(field.number, field.type) || bytes > end - offset - head)
			return true;
		offset += head;
		if (field.number == KEY) {
			KeyHash hash = hash_begin();

			for (guint64 done = 0; done < bytes; done += want) {
				want = (gsize)MIN(bytes - done, PIECE);
				if (!fetch_value(db, row, offset + done, want, &at, error))
					return false;
				hash_piece(&hash, at, want);
			}
			if (row->value != NULL)
				kv->key = row->value + offset;
			kv->key_size = bytes;
			kv->hash = hash_end(&hash, bytes);
		}
		if (field.type == GBE_WIRE_VARINT)
			take_number(kv, field.number, field.value);
		offset += bytes;
	}
	*ret_good = true;
	return true;
}

bool
gbe_key_value_read(GbeBbolt *db, const GbeBboltRow *row, GbeKeyValue *ret_kv, bool *ret_good,
		   GError **error)
{
	*ret_kv = (GbeKeyValue){0};
	*ret_good = row->value != NULL && read_quickly(row->value, (gsize)row->value_size, ret_kv);
	if (*ret_good)
		return true;
	*ret_kv = (GbeKeyValue){0};
	return read_fields(db, row, ret_kv, ret_good, error);
}
