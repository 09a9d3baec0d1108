/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a segment of etcd's write-ahead log is made of (etcd.md section 6), read from memory: frames, the
 * records in them, and what the records carry. Nothing is copied but numbers; no length is trusted.
 *
 * A record may be larger than the memory that its reader has. These functions then see its beginning,
 * where type, checksum and an entry's numbers stand, as etcd writes them; a record that has them
 * elsewhere is read only when it is there as a whole.
 */
#pragma once

#include "base/auto.h"

/* Bytes of a length field; of a record up to its data, of an entry up to its data: a tag and at most
 * ten bytes for each number. */
#define GBE_WAL_FRAME 8
#define GBE_WAL_HEAD 33
#define GBE_WAL_ENTRY_HEAD 44

typedef struct {
	guint64 length;	 /* of the record: not 0 */
	guint64 padding; /* zeros behind it, 0 to 7 */
} GbeWalFrame;

/* @at: GBE_WAL_FRAME bytes. False: zero, which is where a segment's records end. */
bool gbe_wal_frame_read(const guint8 *at, GbeWalFrame *ret_frame);
/* Does it, beginning at @offset, end within @size bytes? */
static inline bool
gbe_wal_frame_fits(const GbeWalFrame *frame, guint64 offset, guint64 size)
{
	return offset <= size && size - offset >= GBE_WAL_FRAME &&
	       frame->length + frame->padding <= size - offset - GBE_WAL_FRAME;
}

typedef enum {
	GBE_WAL_METADATA = 1,
	GBE_WAL_ENTRY = 2,
	GBE_WAL_STATE = 3,
	GBE_WAL_CRC = 4,
	GBE_WAL_SNAPSHOT = 5,
} GbeWalType;

typedef struct {
	guint64 type; /* GbeWalType, or any other number */
	guint32 crc;
	gsize head;   /* where the data begins in the record */
	guint64 size; /* of the data */
} GbeWalRecord;

/* @have of the record's @length bytes are at @at. False: it is no record. */
bool gbe_wal_record_read(const guint8 *at, gsize have, guint64 length, GbeWalRecord *ret_record);
/* How long it is by its own fields alone, where they stand as etcd writes them, whatever its frame says. */
bool gbe_wal_record_length(const guint8 *at, gsize have, guint64 *ret_length);
/* Its own checksum field alone, where it stands as etcd writes it. */
bool gbe_wal_record_crc(const guint8 *at, gsize have, guint32 *ret_crc);

/* A point in the log. */
typedef struct {
	guint64 index, term;
} GbeRaftPoint;

typedef enum {
	GBE_ENTRY_NORMAL = 0,
	GBE_ENTRY_CONF_CHANGE = 1,
	GBE_ENTRY_CONF_CHANGE_V2 = 2,
} GbeEntryType;

typedef struct {
	guint64 type; /* GbeEntryType, or any other number */
	guint64 term, index;
	gsize head;   /* where the data begins in the entry */
	guint64 size; /* of the data */
} GbeWalEntry;

typedef struct {
	guint64 term, vote, commit;
} GbeHardState;

typedef struct {
	guint64 member, cluster;
} GbeWalMetadata;

typedef enum {
	GBE_CONF_ADD = 0,
	GBE_CONF_REMOVE = 1,
	GBE_CONF_UPDATE = 2,
	GBE_CONF_ADD_LEARNER = 3,
} GbeConfType;

typedef struct {
	guint64 index; /* of the entry that makes it; the caller's to set */
	guint64 type;  /* GbeConfType */
	guint64 node;
} GbeConfChange;

/* False: it is none. As for the record, @have may be less than @size for an entry. */
bool gbe_wal_entry_read(const guint8 *at, gsize have, guint64 size, GbeWalEntry *ret_entry);
bool gbe_wal_state_read(const guint8 *at, gsize size, GbeHardState *ret_state);
bool gbe_wal_metadata_read(const guint8 *at, gsize size, GbeWalMetadata *ret_metadata);
bool gbe_wal_conf_change_read(const guint8 *at, gsize size, GbeConfChange *ret_change);
/* @ret_conf (may be NULL): where its raft configuration is, in @at's memory; size 0: none. */
typedef struct {
	const guint8 *at;
	gsize size;
} GbeBytes;
bool gbe_wal_snapshot_read(const guint8 *at, gsize size, GbeRaftPoint *ret_point,
			   GbeBytes *ret_conf);

/* Who votes. A joint configuration's outgoing voters count as well. */
typedef struct {
	GArray *voters; /* of guint64, each once */
} GbeConfState;

void gbe_conf_state_clear(GbeConfState *conf);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeConfState, gbe_conf_state_clear)
/* False: it is none, or has more than 1,024 voters; @ret_conf is untouched then. */
bool gbe_conf_state_read(const guint8 *at, gsize size, GbeConfState *ret_conf);
void gbe_conf_state_apply(GbeConfState *conf, const GbeConfChange *change);
