/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The messages of etcd's API that are used here (etcd's api/etcdserverpb/rpc.proto), each read from protocol
 * buffers by a table of fields. The bytes may come from anybody. Unknown fields are skipped, so that a later etcd's
 * answers can also be read.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Elements of a list, bytes of a text: more than etcd ever sends. */
#define GBE_MESSAGE_LIST_MAX 256
#define GBE_MESSAGE_TEXT_MAX 2048

typedef enum {
	GBE_MESSAGE_STATUS,	    /* GbeEtcdStatus */
	GBE_MESSAGE_ALARMS,	    /* GbeEtcdAlarms */
	GBE_MESSAGE_MEMBERS,	    /* GbeEtcdMembers */
	GBE_MESSAGE_HASH_KV,	    /* GbeEtcdHashKv */
	GBE_MESSAGE_RANGE,	    /* GbeEtcdRange */
	GBE_MESSAGE_DEFRAGMENT,	    /* GbeEtcdHeader */
	GBE_MESSAGE_COMPACTION,	    /* GbeEtcdHeader */
	GBE_MESSAGE_KEYS,	    /* GbeEtcdKeys */
	GBE_MESSAGE_TXN,	    /* GbeEtcdTxn */
	GBE_MESSAGE_LEASE_GRANT,    /* GbeEtcdLease */
	GBE_MESSAGE_LEASE_KEEP,	    /* GbeEtcdLease */
	GBE_MESSAGE_LEASE_LOOK,	    /* GbeEtcdLease */
	GBE_MESSAGE_LEASE_REVOKE,   /* GbeEtcdHeader */
	GBE_MESSAGE_MEMBER_ADD,	    /* GbeEtcdMembers */
	GBE_MESSAGE_MEMBER_REMOVE,  /* GbeEtcdMembers */
	GBE_MESSAGE_MEMBER_UPDATE,  /* GbeEtcdMembers */
	GBE_MESSAGE_MEMBER_PROMOTE, /* GbeEtcdMembers */
	GBE_MESSAGE_MOVE_LEADER,    /* GbeEtcdHeader */
	GBE_MESSAGE_AUTHENTICATE,   /* GbeEtcdToken */
	GBE_N_MESSAGES,
} GbeMessage;

/* Part of every answer. */
typedef struct {
	guint64 cluster_id, member_id;
	gint64 revision;
	guint64 raft_term;
} GbeEtcdHeader;

/* A value that this version of etcd does not send is 0 or NULL. Sizes are in bytes. */
typedef struct {
	GbeEtcdHeader header;
	char *version;	       /* of the program, "3.5.16" */
	char *storage_version; /* from 3.6 on */
	gint64 db_size, db_in_use;
	gint64 quota;	/* from 3.6 on */
	guint64 leader; /* 0: no leader */
	guint64 raft_index, raft_applied, raft_term;
	bool learner;
	GPtrArray *errors; /* of char *: its complaints; NULL: none */
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
	char *name; /* "" until the member has started */
	bool learner;
	GPtrArray *peer_urls, *client_urls; /* of char *; NULL: none */
} GbeEtcdMember;

typedef struct {
	GbeEtcdHeader header;
	GbeEtcdMember added; /* of MEMBER_ADD */
	GArray *list;	     /* of GbeEtcdMember; NULL: none */
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

typedef struct {
	gint64 mod_revision;
	char *value; /* a text */
} GbeEtcdKey;

typedef struct {
	GbeEtcdHeader header;
	GArray *list; /* of GbeEtcdKey; NULL: none */
} GbeEtcdKeys;

typedef struct {
	GbeEtcdHeader header;
	bool succeeded; /* the comparison was true */
} GbeEtcdTxn;

typedef struct {
	GbeEtcdHeader header;
	gint64 ttl; /* seconds that it has left; 0 and below: there is no such lease */
} GbeEtcdLease;

typedef struct {
	GbeEtcdHeader header;
	char *token;
} GbeEtcdToken;

/* @ret_message: the struct of that message; clear it with gbe_message_clear(). GBE_ERROR_CORRUPT. */
bool gbe_message_from_protobuf(GbeMessage message, const void *bytes, gsize size,
			       gpointer ret_message, GError **error) GBE_CHECKED;
/* Frees the struct's contents, and zeroes it. */
void gbe_message_clear(GbeMessage message, gpointer data);

/* The first alarm of that kind, of any member; NULL: none. */
const GbeEtcdAlarm *gbe_etcd_alarms_find(const GbeEtcdAlarms *alarms, guint64 alarm);
const char *gbe_etcd_alarm_to_string(guint64 alarm); /* NOSPACE CORRUPT; UNKNOWN */
/* The number of voting members. */
guint gbe_etcd_members_voters(const GbeEtcdMembers *members);
