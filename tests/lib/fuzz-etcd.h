/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes etcd's files from any bytes with right checksums, so that the readers also reach the content.
 */
#pragma once

#include "base/crc32c.h"
#include "etcd/protobuf.h"
#include "etcd/wal/record.h"
#include "lib/fuzz.h"

#include <string.h>

static inline void
fuzz_wal_record(GByteArray *to, guint type, guint32 crc, const guint8 *data, gsize size)
{
	g_autoptr(GByteArray) record = g_byte_array_new();
	static const guint8 zeros[8];
	guint padding;
	guint64 field;

	gbe_protobuf_put_varint(record, 1, type);
	gbe_protobuf_put_varint(record, 2, crc);
	gbe_protobuf_put_bytes(record, 3, data, size);
	padding = (8 - record->len % 8) % 8;
	field = GUINT64_TO_LE(record->len | (guint64)(0x80 | padding) << 56);
	(void)g_byte_array_append(to, (const guint8 *)&field, sizeof(field));
	(void)g_byte_array_append(to, record->data, record->len);
	(void)g_byte_array_append(to, zeros, padding);
}

/* Makes a segment from repeated triples: a type, a length, as many bytes. *crc continues from segment to segment. */
static inline void
fuzz_wal_records(GByteArray *to, const guint8 *data, gsize size, guint32 *crc)
{
	while (size >= 2) {
		gsize length = MIN(data[1], size - 2);

		if (data[0] % 8 != GBE_WAL_CRC)
			*crc = gbe_crc32c(*crc, data + 2, length);
		fuzz_wal_record(to, data[0] % 8, *crc, data + 2, length);
		data += 2 + length;
		size -= 2 + length;
	}
}

/* A .snap file with @data below its checksum. */
static inline void
fuzz_snap(GByteArray *to, const guint8 *data, gsize size)
{
	gbe_protobuf_put_varint(to, 1, gbe_crc32c(0, data, size));
	gbe_protobuf_put_bytes(to, 2, data, size);
}

static inline void
fuzz_db_mend_meta(guint8 *bytes, gsize size, gsize at)
{
	guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325);

	if (at + 80 > size)
		return;
	for (gsize i = 16; i < 72; i++)
		hash = (hash ^ bytes[at + i]) * G_GUINT64_CONSTANT(0x100000001b3);
	hash = GUINT64_TO_LE(hash);
	memcpy(bytes + at + 72, &hash, 8);
}

/* Writes both meta pages of a database, the second where the first one says. */
static inline void
fuzz_db_mend(guint8 *bytes, gsize size)
{
	guint32 page_size = 0;

	fuzz_db_mend_meta(bytes, size, 0);
	if (size < 28)
		return;
	memcpy(&page_size, bytes + 24, 4);
	fuzz_db_mend_meta(bytes, size, GUINT32_FROM_LE(page_size));
}
