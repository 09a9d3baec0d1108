/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/applied.h"

#include "base/crc32c.h"
#include "base/format.h"
#include "etcd/db/key-value.h"
#include "etcd/protobuf.h"

#include <string.h>

#define U64 "%" G_GUINT64_FORMAT
#define V2_VERSION "/0/version"

/* Fields of RequestOp, and how deeply transactions may nest. */
enum {
	OP_PUT = 2,
	OP_DELETE = 3,
	OP_TXN = 4,
	DEPTH_MAX = 8,
};

/* The possible and the certain effects of an entry. */
typedef struct {
	const GbeApplied *applied;
	bool makes;   /* it may have made the newest row */
	bool certain; /* it certainly makes a row */
	bool refuses; /* etcd may refuse entries before or after it */
	gint64 compaction;
} Effect;

static void
take_put(Effect *effect, const GbeProtobuf *field, bool *ret_certain)
{
	const GbeDbNewest *newest = &effect->applied->newest;
	bool same_value = newest->value == 0;
	bool same_key = false;
	bool plain = true;
	GbeProtobuf put = gbe_protobuf_inner(field);

	while (gbe_protobuf_next(&put))
		if (gbe_protobuf_is(&put, 1, GBE_WIRE_BYTES))
			same_key = gbe_key_hash(put.data, put.size) == newest->key;
		else if (gbe_protobuf_is(&put, 2, GBE_WIRE_BYTES))
			same_value = gbe_crc32c(0, put.data, put.size) == newest->value;
		else if (!gbe_protobuf_is(&put, 4, GBE_WIRE_VARINT))
			plain = false; /* a lease, or it keeps the present value */
	*ret_certain = plain && !put.bad;
	if (put.bad || (!newest->deleted && same_key && (same_value || !*ret_certain)))
		effect->makes = true;
}

static void take_txn(Effect *effect, const GbeProtobuf *field, guint depth, bool *ret_certain);

/* Takes one request of a transaction. *certain: all so far are certain, and one of them is a put. */
static void
take_op(Effect *effect, const GbeProtobuf *field, guint depth, bool *certain)
{
	GbeProtobuf op = gbe_protobuf_inner(field);

	while (gbe_protobuf_next(&op)) {
		if (gbe_protobuf_is(&op, OP_PUT, GBE_WIRE_BYTES))
			take_put(effect, &op, certain);
		else if (gbe_protobuf_is(&op, OP_TXN, GBE_WIRE_BYTES))
			take_txn(effect, &op, depth + 1, certain);
		else if (op.number == OP_DELETE)
			effect->makes = effect->makes || effect->applied->newest.deleted;
	}
	effect->makes = effect->makes || op.bad;
}

/* 1 compare, 2 success, 3 failure. Only a transaction that has nothing but puts is certain, because one refused
 * request undoes all. */
static void
take_txn(Effect *effect, const GbeProtobuf *field, guint depth, bool *ret_certain)
{
	GbeProtobuf txn = gbe_protobuf_inner(field);
	bool certain = true;
	guint puts = 0;

	*ret_certain = false;
	if (depth > DEPTH_MAX) {
		effect->makes = true;
		return;
	}
	while (gbe_protobuf_next(&txn)) {
		bool put = false;

		if ((txn.number == 2 || txn.number == 3) && txn.type == GBE_WIRE_BYTES)
			take_op(effect, &txn, depth, &put);
		puts += txn.number == 2;
		certain = certain && txn.number == 2 && put;
	}
	effect->makes = effect->makes || txn.bad;
	*ret_certain = certain && puts > 0 && !txn.bad;
}

/* False: the request is one of the v2 API, which the database does not hold. */
static bool
take_request(Effect *effect, const GbeProtobuf *request)
{
	bool known = request->number <= GBE_RAFT_FIELD_LEASE_CHECKPOINT ||
		     request->number == GBE_RAFT_FIELD_HEADER ||
		     (request->number >= GBE_RAFT_FIELD_AUTH_ENABLE &&
		      request->number <= GBE_RAFT_FIELD_DOWNGRADE);
	GbeProtobuf inner = gbe_protobuf_inner(request);

	if (request->number == GBE_RAFT_FIELD_V2 && request->type == GBE_WIRE_BYTES)
		return false;
	if (request->number == GBE_RAFT_FIELD_AUTH_ENABLE ||
	    request->number == GBE_RAFT_FIELD_AUTH_DISABLE)
		effect->refuses = true;
	/* The effect of a newer etcd's request is unknown. */
	effect->makes = effect->makes || !known;
	if (request->type != GBE_WIRE_BYTES)
		return true;
	switch (request->number) {
	case GBE_RAFT_FIELD_PUT:
		take_put(effect, request, &effect->certain);
		break;
	case GBE_RAFT_FIELD_TXN:
		take_txn(effect, request, 0, &effect->certain);
		break;
	case GBE_RAFT_FIELD_DELETE:
	case GBE_RAFT_FIELD_LEASE_REVOKE:
		effect->makes = effect->makes || effect->applied->newest.deleted;
		break;
	case GBE_RAFT_FIELD_COMPACTION:
	case GBE_RAFT_FIELD_ALARM:
		/* AlarmRequest: 1 action, absent in a mere query. CompactionRequest: 1 revision. */
		while (gbe_protobuf_next(&inner)) {
			if (!gbe_protobuf_is(&inner, 1, GBE_WIRE_VARINT))
				continue;
			if (request->number == GBE_RAFT_FIELD_COMPACTION)
				effect->compaction = (gint64)inner.value;
			else
				effect->refuses = true;
		}
		break;
	default:
		break;
	}
	return true;
}

static void
keep_version(const GbeProtobuf *field, char to[32])
{
	gsize size = MIN(field->size, 31);

	memcpy(to, field->data, size);
	to[size] = '\0';
}

/* ClusterVersionSet {1 ver}; up to etcd 3.4 a request of the v2 API {3 path, 4 value}. */
static void
take_version(GbeApplied *applied, guint64 index, const guint8 *at, gsize size)
{
	char version[32] = "";
	bool is_version = false;
	GbeProtobuf request = gbe_protobuf_begin(at, size), set;

	while (gbe_protobuf_next(&request)) {
		if (gbe_protobuf_is(&request, 3, GBE_WIRE_BYTES))
			is_version = request.size == strlen(V2_VERSION) &&
				     memcmp(request.data, V2_VERSION, request.size) == 0;
		else if (is_version && gbe_protobuf_is(&request, 4, GBE_WIRE_BYTES))
			keep_version(&request, version);
		if (!gbe_protobuf_is(&request, GBE_RAFT_FIELD_CLUSTER_VERSION, GBE_WIRE_BYTES))
			continue;
		set = gbe_protobuf_inner(&request);
		while (gbe_protobuf_next(&set))
			if (gbe_protobuf_is(&set, 1, GBE_WIRE_BYTES))
				keep_version(&set, version);
	}
	if (*version == '\0')
		return;
	if (index <= applied->index)
		memcpy(applied->version_set, version, sizeof(version));
	else if (g_strcmp0(version, applied->cluster_version) == 0)
		applied->version_later = true;
}

/* The entries between two records of the log are unknown: a snapshot was received, or entries were replaced. */
static void
take_leap(GbeApplied *applied, guint64 index)
{
	applied->begins = false;
	applied->put = 0;
	applied->made_later = 0;
	if (index <= applied->index)
		applied->made = index;
}

static void
take_entry(GbeApplied *applied, const GbeWalEntry *entry, const guint8 *at, gsize have)
{
	GbeProtobuf request = gbe_protobuf_begin(at, have);
	Effect effect = {.applied = applied};
	bool is_v2 = false;

	if (entry->index != applied->last + 1)
		take_leap(applied, entry->index);
	applied->last = entry->index;
	if (entry->type != GBE_ENTRY_NORMAL)
		return;
	applied->started = true;
	while (have >= entry->size && !is_v2 && gbe_protobuf_next(&request))
		is_v2 = !take_request(&effect, &request);
	if (have < entry->size || request.bad) {
		effect = (Effect){.applied = applied, .makes = true};
		if (have >= entry->size && applied->garbled == 0)
			applied->garbled = entry->index;
	}
	take_version(applied, entry->index, at, have);
	applied->refuses |= effect.refuses;
	applied->has_compaction |= effect.compaction == applied->compacting;
	if (entry->index > applied->index) {
		if (effect.makes && applied->made_later == 0)
			applied->made_later = entry->index;
		return;
	}
	if (effect.makes)
		applied->made = entry->index;
	if (effect.certain)
		applied->put = entry->index;
}

void
gbe_applied_init(GbeApplied *applied, const GbeDb *db)
{
	*applied = (GbeApplied){
	    .newest = db->newest,
	    .index = db->consistent_index,
	    .compacting = db->compacting > db->last_row ? db->compacting : 0,
	    .refuses = db->refuses,
	    .begins = true,
	    .cluster_version = db->cluster_version,
	};
}

void
gbe_applied_take(const GbeWalSegmentReader *reader, gpointer data)
{
	GbeApplied *applied = data;
	GbeRaftPoint point;
	GbeWalEntry entry;

	/* A restored cluster begins with one of these records, after the entries that add its members. */
	if (reader->record.type == GBE_WAL_SNAPSHOT &&
	    gbe_wal_snapshot_read(reader->data, reader->have, &point, NULL)) {
		if (point.index > applied->last) {
			take_leap(applied, point.index);
			applied->last = point.index;
		}
		applied->begins = applied->begins && (point.index == 0 || applied->started);
	}
	if (reader->record.type == GBE_WAL_ENTRY &&
	    gbe_wal_entry_read(reader->data, reader->have, reader->record.size, &entry))
		take_entry(applied, &entry, reader->data + entry.head,
			   (gsize)MIN(entry.size, (guint64)(reader->have - entry.head)));
}

bool
gbe_applied_version_differs(const GbeApplied *applied)
{
	return applied->version_set[0] != '\0' && applied->cluster_version != NULL &&
	       !applied->version_later &&
	       !g_str_equal(applied->version_set, applied->cluster_version);
}

static void G_GNUC_PRINTF(5, 6)
    report_damage(GbeFindings *findings, const char *code, const char *file, GbeTri loses,
		  const char *format, ...)
{
	g_autofree char *what = GBE_VFORMAT(format);

	gbe_findings_add(findings, GBE_FINDING_DAMAGE, code, file, GBE_PLACE_FILE, 0, GBE_NO, loses,
			 "%s", what);
}

void
gbe_applied_judge(const GbeApplied *applied, const char *file, GbeFindings *findings)
{
	bool lacks = applied->put > applied->made && !applied->refuses;
	bool foreign = applied->made == 0 && applied->begins && !applied->newest.none;

	if (!applied->newest.known)
		return;
	/* If no entry asks for the compaction, no other conclusion holds. */
	if (applied->compacting != 0 && !applied->has_compaction)
		report_damage(findings, "member-db-compaction", file, GBE_UNKNOWN,
			      "a compaction up to revision %" G_GINT64_FORMAT
			      " was begun, which is beyond every row and in no entry of the log; "
			      "etcd would continue from that revision",
			      applied->compacting);
	else if (applied->made_later != 0 && (lacks || foreign))
		report_damage(findings, "member-db-index", file, GBE_UNKNOWN,
			      "its newest row comes from entry " U64
			      " of the log, and it says that it holds the log up to " U64
			      " only: etcd would apply again the entries between",
			      applied->made_later, applied->index);
	else if (lacks)
		report_damage(findings, "member-db-lacks-entries", file, GBE_YES,
			      "it says that it holds the log up to entry " U64
			      ", and has no row of entry " U64 " or a later one",
			      applied->index, applied->put);
}
