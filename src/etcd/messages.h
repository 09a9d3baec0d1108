/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The messages of etcd's API that are asked for (etcd's api/etcdserverpb/rpc.proto), each read from
 * protocol buffers and from the JSON of its gateway by one table of fields. From memory of anybody's
 * making; what is not known is passed over, so that a later etcd's answers are read, too.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Elements of a list, bytes of a text: more than etcd ever says. */
#define GBE_MESSAGE_LIST_MAX 256
#define GBE_MESSAGE_TEXT_MAX 512

typedef enum {
	GBE_MESSAGE_STATUS,	/* GbeEtcdStatus */
	GBE_MESSAGE_ALARMS,	/* GbeEtcdAlarms */
	GBE_MESSAGE_MEMBERS,	/* GbeEtcdMembers */
	GBE_MESSAGE_HASH_KV,	/* GbeEtcdHashKv */
	GBE_MESSAGE_RANGE,	/* GbeEtcdRange */
	GBE_MESSAGE_DEFRAGMENT, /* GbeEtcdHeader */
	GBE_MESSAGE_COMPACTION, /* GbeEtcdHeader */
	GBE_MESSAGE_TXN,	/* GbeEtcdHeader */
	GBE_N_MESSAGES,
} GbeMessage;

/* What stands before every answer. */
typedef struct {
	guint64 cluster_id, member_id;
	gint64 revision;
	guint64 raft_term;
} GbeEtcdHeader;

/* 0 and NULL for what this version of etcd does not say. Sizes in bytes. */
typedef struct {
	GbeEtcdHeader header;
	char *version;	       /* of the program, "3.5.16" */
	char *storage_version; /* from 3.6 on */
	gint64 db_size, db_in_use;
	gint64 quota;	/* from 3.6 on */
	guint64 leader; /* 0: there is none */
	guint64 raft_index, raft_applied, raft_term;
	gboolean learner;
	GPtrArray *errors; /* of char *: what it complains of; NULL: nothing */
} GbeEtcdStatus;

enum { GBE_ALARM_NONE, GBE_ALARM_NOSPACE, GBE_ALARM_CORRUPT }; /* or a later etcd's */

typedef struct {
	guint64 member_id;
	guint64 alarm;
} GbeEtcdAlarm;

typedef struct {
	GbeEtcdHeader header;
	GArray *list; /* of GbeEtcdAlarm; NULL: none */
} GbeEtcdAlarms;

typedef struct {
	guint64 id;
	char *name; /* "" until it has started */
	gboolean learner;
	GPtrArray *peer_urls, *client_urls; /* of char *; NULL: none */
} GbeEtcdMember;

typedef struct {
	GbeEtcdHeader header;
	GArray *list; /* of GbeEtcdMember; NULL: none */
} GbeEtcdMembers;

typedef struct {
	GbeEtcdHeader header;
	guint64 hash;
	gint64 compact_revision; /* -1: never compacted */
} GbeEtcdHashKv;

typedef struct {
	GbeEtcdHeader header;
	gint64 count;
} GbeEtcdRange;

/* @ret_message: the struct of that message, to be given to gbe_message_clear(). GBE_ERROR_CORRUPT. */
bool gbe_message_from_protobuf(GbeMessage message, const void *bytes, gsize size,
			       gpointer ret_message, GError **error) GBE_CHECKED;
bool gbe_message_from_json(GbeMessage message, const char *bytes, gsize size, gpointer ret_message,
			   GError **error) GBE_CHECKED;
/* Frees what the struct holds, and zeroes it. */
void gbe_message_clear(GbeMessage message, gpointer data);

/* Which alarms are up, of any member; gbe_alarms_find() gives the first of that kind, or NULL. */
const GbeEtcdAlarm *gbe_etcd_alarms_find(const GbeEtcdAlarms *alarms, guint64 alarm);
const char *gbe_etcd_alarm_to_string(guint64 alarm); /* NOSPACE CORRUPT; UNKNOWN */
/* Members that vote. */
guint gbe_etcd_members_voters(const GbeEtcdMembers *members);
