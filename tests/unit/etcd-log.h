/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Logs and .snap files as etcd writes them, made to measure. */
#pragma once

#include "sys-root.h"

#include "base/crc32c.h"
#include "etcd/finding.h"
#include "etcd/protobuf.h"
#include "etcd/wal/record.h"

#define MEMBER G_GUINT64_CONSTANT(0x2e1259d415f2a040)
#define CLUSTER G_GUINT64_CONSTANT(0x48276a8f75b6a87)

typedef struct {
	GByteArray *bytes; /* of the segment that is being written */
	guint32 crc;
	guint64 index, commit;
	guint sequence;
	char name[40];
} Log;

static inline void
log_record(Log *log, guint type, const GByteArray *data)
{
	g_autoptr(GByteArray) record = g_byte_array_new();
	static const guint8 zeros[8];
	guint64 length;
	guint padding;

	if (data != NULL)
		log->crc = gbe_crc32c(log->crc, data->data, data->len);
	gbe_protobuf_put_varint(record, 1, type);
	gbe_protobuf_put_varint(record, 2, log->crc);
	if (data != NULL)
		gbe_protobuf_put_bytes(record, 3, data->data, data->len);
	padding = (8 - record->len % 8) % 8;
	length = record->len | (padding > 0 ? (guint64)(0x80 | padding) << 56 : 0);
	length = GUINT64_TO_LE(length);
	g_byte_array_append(log->bytes, (const guint8 *)&length, sizeof(length));
	g_byte_array_append(log->bytes, record->data, record->len);
	g_byte_array_append(log->bytes, zeros, padding);
}

static inline void
log_triple(Log *log, guint type, guint64 first, guint64 second, guint64 third)
{
	g_autoptr(GByteArray) data = g_byte_array_new();

	gbe_protobuf_put_varint(data, 1, first);
	gbe_protobuf_put_varint(data, 2, second);
	gbe_protobuf_put_varint(data, 3, third);
	log_record(log, type, data);
}

static inline void
log_pair(Log *log, guint type, guint64 first, guint64 second)
{
	g_autoptr(GByteArray) data = g_byte_array_new();

	gbe_protobuf_put_varint(data, 1, first);
	gbe_protobuf_put_varint(data, 2, second);
	log_record(log, type, data);
}

static inline void
log_entry(Log *log, guint type, guint64 index, const void *bytes, gsize size)
{
	g_autoptr(GByteArray) data = g_byte_array_new();

	gbe_protobuf_put_varint(data, 1, type);
	gbe_protobuf_put_varint(data, 2, 2);
	gbe_protobuf_put_varint(data, 3, index);
	gbe_protobuf_put_bytes(data, 4, bytes, size);
	log->index = index;
	log_record(log, GBE_WAL_ENTRY, data);
}

/* A write that etcd flushes: an entry of @size bytes of data that hold no sector of zeros, its state. */
static inline void
log_put(Log *log, gsize size)
{
	g_autofree guint8 *bytes = g_malloc(size + 1);

	for (gsize i = 0; i < size; i++)
		bytes[i] = (guint8)(i * 7 + 1) | 1;
	log_entry(log, GBE_ENTRY_NORMAL, log->index + 1, bytes, size);
	log_triple(log, GBE_WAL_STATE, 2, MEMBER, log->commit = log->index);
}

static inline void
log_change(Log *log, guint type, guint64 node)
{
	g_autoptr(GByteArray) change = g_byte_array_new();

	gbe_protobuf_put_varint(change, 1, 1);
	gbe_protobuf_put_varint(change, 2, type);
	gbe_protobuf_put_varint(change, 3, node);
	log_entry(log, GBE_ENTRY_CONF_CHANGE, log->index + 1, change->data, change->len);
}

static inline void
log_head(Log *log)
{
	(void)g_snprintf(log->name, sizeof(log->name), "%016x-%016" G_GINT64_MODIFIER "x.wal",
			 log->sequence, log->sequence == 0 ? 0 : log->index + 1);
	log->bytes = g_byte_array_new();
	log_record(log, GBE_WAL_CRC, NULL);
	log_pair(log, GBE_WAL_METADATA, MEMBER, CLUSTER);
}

static inline void
log_begin(Log *log)
{
	*log = (Log){0};
	log_head(log);
	log_pair(log, GBE_WAL_SNAPSHOT, 0, 0);
}

static inline char *
log_path(const Log *log)
{
	g_autofree char *name = g_build_filename("wal", log->name, NULL);

	return root_path(name);
}

/* Writes the segment as "wal/NAME", with @zeros bytes preallocated after it. */
static inline void
log_save(const Log *log, gsize zeros)
{
	g_autofree char *path = g_build_filename("wal", log->name, NULL);
	g_autofree guint8 *all = g_malloc0(log->bytes->len + zeros);

	if (log->bytes->len > 0)
		memcpy(all, log->bytes->data, log->bytes->len);
	root_write_bytes(path, all, log->bytes->len + zeros);
}

/* Writes it and begins the next. */
static inline void
log_cut(Log *log)
{
	log_save(log, 0);
	g_byte_array_unref(log->bytes);
	log->sequence++;
	log_head(log);
	log_triple(log, GBE_WAL_STATE, 2, MEMBER, log->commit);
}

static inline void
log_end(Log *log)
{
	g_clear_pointer(&log->bytes, g_byte_array_unref);
}

/* A .snap file's bytes. */
static inline GByteArray *
snap_bytes(guint64 index, guint64 term, const guint64 *voters, guint count)
{
	g_autoptr(GByteArray) conf = g_byte_array_new();
	g_autoptr(GByteArray) metadata = g_byte_array_new();
	g_autoptr(GByteArray) snapshot = g_byte_array_new();
	GByteArray *file = g_byte_array_new();

	for (guint i = 0; i < count; i++)
		gbe_protobuf_put_varint(conf, 1, voters[i]);
	gbe_protobuf_put_bytes(metadata, 1, conf->data, conf->len);
	gbe_protobuf_put_varint(metadata, 2, index);
	gbe_protobuf_put_varint(metadata, 3, term);
	gbe_protobuf_put_string(snapshot, 1, "{\"Root\":{\"Path\":\"/\"}}");
	gbe_protobuf_put_bytes(snapshot, 2, metadata->data, metadata->len);
	gbe_protobuf_put_varint(file, 1, gbe_crc32c(0, snapshot->data, snapshot->len));
	gbe_protobuf_put_bytes(file, 2, snapshot->data, snapshot->len);
	return file;
}

/* "code code code", in the order found; newly allocated. */
static inline char *
codes_of(const GbeFindings *findings)
{
	GString *codes = g_string_new(NULL);

	for (guint i = 0; i < findings->items->len; i++)
		g_string_append_printf(codes, "%s%s", i > 0 ? " " : "",
				       ((GbeFinding *)findings->items->pdata[i])->code);
	return g_string_free(codes, false);
}
