/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/messages-private.h"

static const GbeMessageField header_fields[] = {
    {1, "cluster_id", KIND_U64, offsetof(GbeEtcdHeader, cluster_id)},
    {2, "member_id", KIND_U64, offsetof(GbeEtcdHeader, member_id)},
    {3, "revision", KIND_U64, offsetof(GbeEtcdHeader, revision)},
    {4, "raft_term", KIND_U64, offsetof(GbeEtcdHeader, raft_term)},
    {0},
};

#define HEADER                                                                                     \
	{                                                                                          \
		1, "header", KIND_PART, 0, header_fields                                           \
	}

static const GbeMessageField status_fields[] = {
    HEADER,
    {2, "version", KIND_TEXT, offsetof(GbeEtcdStatus, version)},
    {3, "dbSize", KIND_U64, offsetof(GbeEtcdStatus, db_size)},
    {4, "leader", KIND_U64, offsetof(GbeEtcdStatus, leader)},
    {5, "raftIndex", KIND_U64, offsetof(GbeEtcdStatus, raft_index)},
    {6, "raftTerm", KIND_U64, offsetof(GbeEtcdStatus, raft_term)},
    {7, "raftAppliedIndex", KIND_U64, offsetof(GbeEtcdStatus, raft_applied)},
    {8, "errors", KIND_TEXTS, offsetof(GbeEtcdStatus, errors)},
    {9, "dbSizeInUse", KIND_U64, offsetof(GbeEtcdStatus, db_in_use)},
    {10, "isLearner", KIND_BOOL, offsetof(GbeEtcdStatus, learner)},
    {11, "storageVersion", KIND_TEXT, offsetof(GbeEtcdStatus, storage_version)},
    {12, "dbSizeQuota", KIND_U64, offsetof(GbeEtcdStatus, quota)},
    {0},
};

static const GbeMessageField alarm_fields[] = {
    {1, "memberID", KIND_U64, offsetof(GbeEtcdAlarm, member_id)},
    {2, "alarm", KIND_ALARM, offsetof(GbeEtcdAlarm, alarm)},
    {0},
};

static const GbeMessageField alarms_fields[] = {
    HEADER,
    {2, "alarms", KIND_LIST, offsetof(GbeEtcdAlarms, list), alarm_fields, sizeof(GbeEtcdAlarm)},
    {0},
};

static const GbeMessageField member_fields[] = {
    {1, "ID", KIND_U64, offsetof(GbeEtcdMember, id)},
    {2, "name", KIND_TEXT, offsetof(GbeEtcdMember, name)},
    {3, "peerURLs", KIND_TEXTS, offsetof(GbeEtcdMember, peer_urls)},
    {4, "clientURLs", KIND_TEXTS, offsetof(GbeEtcdMember, client_urls)},
    {5, "isLearner", KIND_BOOL, offsetof(GbeEtcdMember, learner)},
    {0},
};

static const GbeMessageField members_fields[] = {
    HEADER,
    {2, "members", KIND_LIST, offsetof(GbeEtcdMembers, list), member_fields, sizeof(GbeEtcdMember)},
    {0},
};

static const GbeMessageField hash_kv_fields[] = {
    HEADER,
    {2, "hash", KIND_U64, offsetof(GbeEtcdHashKv, hash)},
    {3, "compact_revision", KIND_U64, offsetof(GbeEtcdHashKv, compact_revision)},
    {0},
};

static const GbeMessageField range_fields[] = {
    HEADER,
    {4, "count", KIND_U64, offsetof(GbeEtcdRange, count)},
    {0},
};

static const GbeMessageField only_header_fields[] = {HEADER, {0}};

const GbeMessageTable gbe_message_tables[GBE_N_MESSAGES] = {
    [GBE_MESSAGE_STATUS] = {"StatusResponse", status_fields, sizeof(GbeEtcdStatus)},
    [GBE_MESSAGE_ALARMS] = {"AlarmResponse", alarms_fields, sizeof(GbeEtcdAlarms)},
    [GBE_MESSAGE_MEMBERS] = {"MemberListResponse", members_fields, sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_HASH_KV] = {"HashKVResponse", hash_kv_fields, sizeof(GbeEtcdHashKv)},
    [GBE_MESSAGE_RANGE] = {"RangeResponse", range_fields, sizeof(GbeEtcdRange)},
    [GBE_MESSAGE_DEFRAGMENT] = {"DefragmentResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_COMPACTION] = {"CompactionResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_TXN] = {"TxnResponse", only_header_fields, sizeof(GbeEtcdHeader)},
};
