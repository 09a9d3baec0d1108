/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses a segment of etcd's write-ahead log (etcd.md section 6) from memory: frames, the records in them, and what
 * the records carry. Copies only numbers and trusts no length. A record may be larger than the reader's memory:
 * then only its beginning is given, where etcd writes type, checksum and an entry's numbers. A record with these
 * elsewhere is read only when all of it is there.
 */
#pragma once

#include "base/auto.h"

/* Bytes of a length field; of a record up to its data; of an entry up to its data. Each number takes a tag and at
 * most ten bytes. */
#define GBE_WAL_FRAME 8
#define GBE_WAL_HEAD 33
#define GBE_WAL_ENTRY_HEAD 44

typedef struct {
	guint64 length;	 /* of the record: not 0 */
	guint64 padding; /* zeros after the record, 0 to 7 */
} GbeWalFrame;

/* @at: GBE_WAL_FRAME bytes. False: the length is zero, which ends a segment's records. */
bool gbe_wal_frame_read(const guint8 *at, GbeWalFrame *ret_frame);
/* Does the frame's record, from @offset on, end within @size bytes? */
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

/* @have of the record's @length bytes are at @at. False: it is not a record. */
bool gbe_wal_record_read(const guint8 *at, gsize have, guint64 length, GbeWalRecord *ret_record);
/* The record's length by its own fields, where they stand as etcd writes them, whatever its frame says. */
bool gbe_wal_record_length(const guint8 *at, gsize have, guint64 *ret_length);
/* The record's checksum field, where it stands as etcd writes it. */
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

/* Fields of a normal entry's data, InternalRaftRequest (etcd's api/etcdserverpb/raft_internal.proto). */
enum {
	GBE_RAFT_FIELD_ID = 1,
	GBE_RAFT_FIELD_V2 = 2,
	GBE_RAFT_FIELD_RANGE = 3,
	GBE_RAFT_FIELD_PUT = 4,
	GBE_RAFT_FIELD_DELETE = 5,
	GBE_RAFT_FIELD_TXN = 6,
	GBE_RAFT_FIELD_COMPACTION = 7,
	GBE_RAFT_FIELD_LEASE_REVOKE = 9,
	GBE_RAFT_FIELD_ALARM = 10,
	GBE_RAFT_FIELD_LEASE_CHECKPOINT = 11,
	GBE_RAFT_FIELD_HEADER = 100,
	GBE_RAFT_FIELD_AUTH_ENABLE = 1000, /* also other fields about users, versions and members */
	GBE_RAFT_FIELD_AUTH_DISABLE = 1011,
	GBE_RAFT_FIELD_CLUSTER_VERSION = 1300,
	GBE_RAFT_FIELD_MEMBER_ATTRIBUTES = 1301,
	GBE_RAFT_FIELD_DOWNGRADE = 1302,
};

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
	guint64 index; /* of the entry that makes the change */
	guint64 type;  /* GbeConfType */
	guint64 node;
} GbeConfChange;

/* False: it is not an entry. As with a record, @have may be less than @size. */
bool gbe_wal_entry_read(const guint8 *at, gsize have, guint64 size, GbeWalEntry *ret_entry);
bool gbe_wal_state_read(const guint8 *at, gsize size, GbeHardState *ret_state);
/* @ret_conf (may be NULL): the raft configuration, in @at's memory; size 0: none. */
typedef struct {
	const guint8 *at;
	gsize size;
} GbeBytes;
bool gbe_wal_snapshot_read(const guint8 *at, gsize size, GbeRaftPoint *ret_point,
			   GbeBytes *ret_conf);

/* The voters, with the outgoing ones of a joint configuration, and the learners, with the future ones. */
typedef struct {
	GArray *voters, *learners; /* of guint64, each once */
} GbeConfState;

void gbe_conf_state_init(GbeConfState *conf);
void gbe_conf_state_clear(GbeConfState *conf);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeConfState, gbe_conf_state_clear)
/* False: it is not a configuration, or has more than 1,024 of a kind; @ret_conf is then untouched. */
bool gbe_conf_state_read(const guint8 *at, gsize size, GbeConfState *ret_conf);
void gbe_conf_state_apply(GbeConfState *conf, const GbeConfChange *change);
