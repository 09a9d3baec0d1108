/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/client.h"

#include <math.h>
#include <string.h>

#include "etcd/api/grpc.h"
#include "etcd/protobuf.h"

/* Limit of one answer, except a snapshot's. A list of 256 members takes a tenth of it. */
#define ANSWER_MAX (256 * 1024)
/* etcd sends pieces of 32 KiB. */
#define PIECE_MAX (1024 * 1024)
/* This key need not exist, and is never made. */
#define PROBE_KEY "greenboot-etcd/probe"
#define AUTHENTICATE "/etcdserverpb.Auth/Authenticate"

struct GbeClient {
	GbeConnection *connection;
	GbeEndpoint endpoint;
	char *token; /* NULL: etcd has not asked for a user yet */
};

/* A field of a request: a number, a text, texts (a field each) or a message. */
typedef struct Field Field;
struct Field {
	guint32 at; /* its number; 0 ends a list */
	guint64 number;
	const char *text;
	char *const *texts;
	const Field *fields;
};
#define REQUEST(...) ((const Field[]){__VA_ARGS__, {0}})

static const struct {
	const char *path;
	bool needs_leader;
} rpcs[GBE_N_MESSAGES] = {
    [GBE_MESSAGE_STATUS] = {"/etcdserverpb.Maintenance/Status"},
    [GBE_MESSAGE_ALARMS] = {"/etcdserverpb.Maintenance/Alarm", true},
    [GBE_MESSAGE_MEMBERS] = {"/etcdserverpb.Cluster/MemberList"},
    [GBE_MESSAGE_HASH_KV] = {"/etcdserverpb.Maintenance/HashKV"},
    [GBE_MESSAGE_RANGE] = {"/etcdserverpb.KV/Range", true},
    [GBE_MESSAGE_DEFRAGMENT] = {"/etcdserverpb.Maintenance/Defragment"},
    [GBE_MESSAGE_COMPACTION] = {"/etcdserverpb.KV/Compact", true},
    [GBE_MESSAGE_KEYS] = {"/etcdserverpb.KV/Range", true},
    [GBE_MESSAGE_TXN] = {"/etcdserverpb.KV/Txn", true},
    [GBE_MESSAGE_LEASE_GRANT] = {"/etcdserverpb.Lease/LeaseGrant", true},
    [GBE_MESSAGE_LEASE_KEEP] = {"/etcdserverpb.Lease/LeaseKeepAlive", true},
    [GBE_MESSAGE_LEASE_LOOK] = {"/etcdserverpb.Lease/LeaseTimeToLive", true},
    [GBE_MESSAGE_LEASE_REVOKE] = {"/etcdserverpb.Lease/LeaseRevoke", true},
    [GBE_MESSAGE_MEMBER_ADD] = {"/etcdserverpb.Cluster/MemberAdd", true},
    [GBE_MESSAGE_MEMBER_REMOVE] = {"/etcdserverpb.Cluster/MemberRemove", true},
    [GBE_MESSAGE_MEMBER_UPDATE] = {"/etcdserverpb.Cluster/MemberUpdate", true},
    [GBE_MESSAGE_MEMBER_PROMOTE] = {"/etcdserverpb.Cluster/MemberPromote", true},
    [GBE_MESSAGE_MOVE_LEADER] = {"/etcdserverpb.Maintenance/MoveLeader", true},
    [GBE_MESSAGE_AUTHENTICATE] = {AUTHENTICATE, true},
};

bool
gbe_client_open(const GbeEndpoint *endpoint, GbeClient **ret_client, GbeCallFailure *ret_failure)
{
	g_autoptr(GbeClient) client = g_new0(GbeClient, 1);

	client->endpoint = *endpoint;
	if (!gbe_connection_open(&client->endpoint, GBE_HTTP_2, &client->connection, ret_failure))
		return false;
	*ret_client = g_steal_pointer(&client);
	return true;
}

void
gbe_client_close(GbeClient *client)
{
	if (client == NULL)
		return;
	gbe_connection_close(client->connection);
	g_free(client->token);
	g_free(client);
}

/* ---- a figure of the metrics ---- */

/* The figures that we look for have shorter lines. */
#define LONGEST_LINE 128

/* ->used LONGEST_LINE: the line is too long and is skipped to its end. */
typedef struct {
	const char *name;
	char line[LONGEST_LINE];
	gsize used;
	bool found;
	double value;
} Gauge;

bool
gbe_gauge_line(const char *name, const char *line, gsize size, double *ret_value)
{
	g_autofree char *number = NULL;
	gsize head = strlen(name);
	char *end = NULL;
	double value;

	if (size < head + 2 || memcmp(line, name, head) != 0 || line[head] != ' ' ||
	    !g_ascii_isdigit(line[head + 1]))
		return false;
	number = g_strndup(line + head + 1, size - head - 1);
	value = g_ascii_strtod(number, &end);
	if (*end != '\0' || !isfinite(value))
		return false;
	*ret_value = value;
	return true;
}

static bool
take_metrics(const guint8 *bytes, gsize size, gpointer data)
{
	Gauge *gauge = data;

	for (gsize i = 0; i < size; i++) {
		if (bytes[i] != '\n') {
			if (gauge->used < LONGEST_LINE)
				gauge->line[gauge->used++] = (char)bytes[i];
			continue;
		}
		gauge->found = gauge->used < LONGEST_LINE &&
			       gbe_gauge_line(gauge->name, gauge->line, gauge->used, &gauge->value);
		gauge->used = 0;
		if (gauge->found)
			return false;
	}
	return true;
}

/* A figure of etcd's metrics that the API does not have (reference etcd.md, section 1). False: the metrics lack the
 * figure, or etcd does not answer. @connection NULL: on one of its own to @endpoint. Over TLS, etcd answers gRPC and
 * HTTP on one connection, and the handshake is the larger part of the question. */
static bool
ask_gauge(GbeConnection *connection, const GbeEndpoint *endpoint, const char *name, gint64 deadline,
	  double *ret_value)
{
	g_autoptr(GbeConnection) apart = NULL;
	g_auto(GbeCallFailure) failure = {0};
	Gauge gauge = {.name = name};
	GbeExchange exchange = {.path = "/metrics",
				.deadline = deadline,
				.take = take_metrics,
				.data = &gauge};
	long status = 0;
	bool cut = false;

	if (connection == NULL && !gbe_connection_open(endpoint, GBE_HTTP_1, &apart, &failure))
		return false;
	if (!gbe_connection_ask(connection != NULL ? connection : apart, &exchange, &status, &cut,
				&failure) ||
	    status != 200 || !gauge.found)
		return false;
	*ret_value = gauge.value;
	return true;
}

GbeTri
gbe_gauge_defragments(const GbeEndpoint *endpoint, gint64 deadline)
{
	double value = 0;

	if (!ask_gauge(NULL, endpoint, GBE_GAUGE_DEFRAG, deadline, &value))
		return GBE_UNKNOWN;
	return gbe_tri(value > 0);
}

/* ---- a user ---- */

#define WAY_ON "set user= and password-file= of [etcd], or cert= and key= of a client with CN=root"

static bool ask_etcd(GbeClient *client, GbeMessage message, const Field *request, gint64 deadline,
		     gpointer ret_message, GbeCallFailure *ret_failure);

/* AuthenticateRequest {1 name, 2 password}. */
static bool
authenticate(GbeClient *client, gint64 deadline, GbeCallFailure *ret_failure)
{
	const GbeEndpoint *endpoint = &client->endpoint;
	GbeEtcdToken answer = {{0}};
	gsize printable = 0;
	bool ok;

	g_clear_pointer(&client->token, g_free);
	ok = ask_etcd(client, GBE_MESSAGE_AUTHENTICATE,
		      REQUEST({1, .text = endpoint->user}, {2, .text = endpoint->password}),
		      deadline, &answer, ret_failure);
	if (!ok && ret_failure->reach == GBE_REACH_NO_USER) {
		g_autofree char *why = g_steal_pointer(&ret_failure->why);

		return gbe_call_fail(ret_failure, GBE_REACH_NO_USER,
				     "refused: etcd asks for a user, and does not accept %s (%s); "
				     "check user= and password-file= of [etcd]",
				     endpoint->user, why);
	}
	/* The token becomes a line of a header. */
	while (answer.token != NULL && g_ascii_isgraph(answer.token[printable]))
		printable++;
	if (ok && printable > 0 && answer.token[printable] == '\0')
		client->token = g_steal_pointer(&answer.token);
	else if (ok)
		ok = gbe_call_fail(ret_failure, GBE_REACH_FOREIGN, "it sent no token of etcd's");
	gbe_message_clear(GBE_MESSAGE_AUTHENTICATE, &answer);
	return ok;
}

static bool
refuse_user(const GbeClient *client, GbeCallFailure *ret_failure)
{
	const GbeEndpoint *endpoint = &client->endpoint;
	g_autofree char *why = g_steal_pointer(&ret_failure->why);

	if (client->token != NULL)
		return gbe_call_fail(ret_failure, GBE_REACH_NO_USER,
				     "refused: etcd asks for a user with more rights than %s (%s); "
				     "grant it the role root",
				     endpoint->user, why);
	if (endpoint->user != NULL)
		return gbe_call_fail(ret_failure, GBE_REACH_NO_USER,
				     "refused: etcd asks for a user (%s), and the password of %s "
				     "cannot be read: %s",
				     why, endpoint->user, endpoint->no_password);
	return gbe_call_fail(ret_failure, GBE_REACH_NO_USER,
			     "refused: etcd asks for a user (%s); " WAY_ON, why);
}

/* etcd refuses before it does anything, so the call can be made again. */
static bool
make_call(GbeClient *client, GbeGrpcCall *call, GbeCallFailure *ret_failure)
{
	gint64 deadline = call->deadline;

	call->token = client->token;
	if (gbe_grpc_call(client->connection, call, ret_failure))
		return true;
	if (ret_failure->reach != GBE_REACH_NO_USER || g_str_equal(call->path, AUTHENTICATE))
		return false;
	if (client->endpoint.password == NULL)
		return refuse_user(client, ret_failure);
	if (deadline == 0)
		deadline = g_get_monotonic_time() + call->idle_seconds * G_USEC_PER_SEC;
	if (!authenticate(client, deadline, ret_failure))
		return false;
	call->token = client->token;
	return gbe_grpc_call(client->connection, call, ret_failure) ||
	       (ret_failure->reach == GBE_REACH_NO_USER && refuse_user(client, ret_failure));
}

typedef struct {
	GbeMessage message;
	gpointer ret;
	guint count;
	char *why; /* why the bytes are not such a message */
} Answer;

static bool
take_answer(const guint8 *bytes, gsize size, gpointer data)
{
	Answer *answer = data;
	g_autoptr(GError) error = NULL;

	if (answer->count++ > 0)
		answer->why = g_strdup("several answers to one question");
	else if (!gbe_message_from_protobuf(answer->message, bytes, size, answer->ret, &error))
		answer->why = g_strdup(error->message);
	return answer->why == NULL;
}

/* Encodes @fields, NULL: none. */
static GByteArray *
encode_fields(const Field *fields)
{
	GByteArray *bytes = g_byte_array_new();

	for (const Field *field = fields; field != NULL && field->at != 0; field++) {
		if (field->fields != NULL) {
			g_autoptr(GByteArray) inner = encode_fields(field->fields);

			gbe_protobuf_put_bytes(bytes, field->at, inner->data, inner->len);
		} else if (field->texts != NULL) {
			for (guint i = 0; field->texts[i] != NULL; i++)
				gbe_protobuf_put_string(bytes, field->at, field->texts[i]);
		} else if (field->text != NULL) {
			gbe_protobuf_put_string(bytes, field->at, field->text);
		} else {
			gbe_protobuf_put_varint(bytes, field->at, field->number);
		}
	}
	return bytes;
}

/* @request NULL: an empty one. @ret_message NULL: the answer is one of those in the union, and is dropped. */
static bool
ask_etcd(GbeClient *client, GbeMessage message, const Field *request, gint64 deadline,
	 gpointer ret_message, GbeCallFailure *ret_failure)
{
	union {
		GbeEtcdHeader header;
		GbeEtcdAlarms alarms;
		GbeEtcdMembers members;
		GbeEtcdTxn txn;
	} ignored;
	Answer answer = {.message = message,
			 .ret = ret_message != NULL ? (gpointer)ret_message : &ignored};
	g_autoptr(GByteArray) bytes = encode_fields(request);
	GbeGrpcCall call = {.path = rpcs[message].path,
			    .request = bytes,
			    .needs_leader = rpcs[message].needs_leader,
			    .deadline = deadline,
			    .limit = ANSWER_MAX,
			    .take = take_answer,
			    .data = &answer};
	bool ok = make_call(client, &call, ret_failure);

	if (answer.why != NULL)
		ok = gbe_call_fail(ret_failure, GBE_REACH_FOREIGN, "it sent %s", answer.why);
	else if (ok && answer.count == 0)
		ok = gbe_call_fail(ret_failure, GBE_REACH_DROPPED, "no answer came");
	/* Only the first of several answers was read, and only a whole message. */
	if (answer.count > 0 && (answer.why == NULL || answer.count > 1) &&
	    (!ok || ret_message == NULL))
		gbe_message_clear(message, answer.ret);
	g_free(answer.why);
	return ok;
}

bool
gbe_client_status(GbeClient *client, gint64 deadline, GbeEtcdStatus *ret_status,
		  GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_STATUS, NULL, deadline, ret_status, ret_failure);
}

/* Action GET is 0; 0 also means all members and all alarms. */
bool
gbe_client_alarms(GbeClient *client, gint64 deadline, GbeEtcdAlarms *ret_alarms,
		  GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_ALARMS, NULL, deadline, ret_alarms, ret_failure);
}

bool
gbe_client_members(GbeClient *client, gint64 deadline, GbeEtcdMembers *ret_members,
		   GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_MEMBERS, NULL, deadline, ret_members, ret_failure);
}

bool
gbe_client_count(GbeClient *client, const char *key, gint64 deadline, GbeEtcdRange *ret_range,
		 GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_RANGE, REQUEST({1, .text = key}, {9, .number = true}),
			deadline, ret_range, ret_failure);
}

bool
gbe_client_hash_kv(GbeClient *client, gint64 revision, gint64 deadline, GbeEtcdHashKv *ret_hash,
		   GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_HASH_KV, REQUEST({1, .number = (guint64)revision}),
			deadline, ret_hash, ret_failure);
}

bool
gbe_client_is_root(GbeClient *client, gint64 deadline, GbeCallFailure *ret_failure)
{
	GbeEtcdHashKv hash = {{0}};

	return gbe_client_hash_kv(client, G_MAXINT64, deadline, &hash, ret_failure) ||
	       (ret_failure->reach == GBE_REACH_DENIED &&
		ret_failure->status == GBE_GRPC_OUT_OF_RANGE);
}

bool
gbe_client_change(GbeClient *client, GbeMessage change, guint64 id, gint64 deadline,
		  GbeCallFailure *ret_failure)
{
	return ask_etcd(client, change, id != 0 ? REQUEST({1, .number = id}) : NULL, deadline, NULL,
			ret_failure);
}

bool
gbe_client_compact(GbeClient *client, gint64 revision, gint64 deadline, GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_COMPACTION,
			REQUEST({1, .number = (guint64)revision}, {2, .number = true}), deadline,
			NULL, ret_failure);
}

/* In protocol buffers (etcd's rpc.proto): TxnRequest {1 compare {2 target VERSION, 3 key, 4 version}, 2 success {3
 * request_delete_range {1 key}}}. With the delete, etcd does not treat the transaction as a read. A delete of
 * nothing makes no revision. */
bool
gbe_client_write_nothing(GbeClient *client, gint64 deadline, GbeCallFailure *ret_failure)
{
	const Field *compare = REQUEST({3, .text = PROBE_KEY}, {4, .number = 0});
	const Field *remove = REQUEST({1, .text = PROBE_KEY});

	return ask_etcd(
	    client, GBE_MESSAGE_TXN,
	    REQUEST({1, .fields = compare}, {2, .fields = REQUEST({3, .fields = remove})}),
	    deadline, NULL, ret_failure);
}

/* TxnRequest {1 compare, 2 success {2 request_put {1 key, 2 value}, or 3 request_delete_range {1 key}}}. @compare NULL:
 * no condition. */
static bool
ask_to_write(GbeClient *client, const Field *compare, const char *key, const char *value,
	     gint64 deadline, GbeEtcdTxn *ret_txn, GbeCallFailure *ret_failure)
{
	const Field *put = REQUEST({1, .text = key}, {2, .text = value});
	const Field *operation = value != NULL ? REQUEST({2, .fields = put})
					       : REQUEST({3, .fields = REQUEST({1, .text = key})});

	return ask_etcd(client, GBE_MESSAGE_TXN,
			compare != NULL ? REQUEST({1, .fields = compare}, {2, .fields = operation})
					: REQUEST({2, .fields = operation}),
			deadline, ret_txn, ret_failure);
}

bool
gbe_client_write(GbeClient *client, const char *key, const char *value, gint64 deadline,
		 GbeCallFailure *ret_failure)
{
	return ask_to_write(client, NULL, key, value, deadline, NULL, ret_failure);
}

/* RangeRequest {1 key}. */
bool
gbe_client_get(GbeClient *client, const char *key, gint64 deadline, GbeEtcdKeys *ret_keys,
	       GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_KEYS, REQUEST({1, .text = key}), deadline, ret_keys,
			ret_failure);
}

/* 1 compare {2 target MOD, 3 key, 6 mod_revision}: 0 is a key that is not there. */
bool
gbe_client_swap(GbeClient *client, const char *key, gint64 mod_revision, const char *value,
		gint64 deadline, bool *ret_swapped, GbeCallFailure *ret_failure)
{
	const Field *compare =
	    REQUEST({2, .number = 2}, {3, .text = key}, {6, .number = (guint64)mod_revision});
	GbeEtcdTxn txn;

	if (!ask_to_write(client, compare, key, value, deadline, &txn, ret_failure))
		return false;
	*ret_swapped = txn.succeeded;
	return true;
}

/* ---- leases ---- */

/* LeaseGrantRequest {1 TTL, 2 ID}, LeaseKeepAliveRequest {1 ID}: the stream ends after one. */
bool
gbe_client_lease_keep(GbeClient *client, guint64 lease, guint64 seconds, gint64 deadline,
		      GbeCallFailure *ret_failure)
{
	GbeEtcdLease answer;

	if (!ask_etcd(client, GBE_MESSAGE_LEASE_KEEP, REQUEST({1, .number = lease}), deadline,
		      &answer, ret_failure))
		return false;
	return answer.ttl > 0 || ask_etcd(client, GBE_MESSAGE_LEASE_GRANT,
					  REQUEST({1, .number = seconds}, {2, .number = lease}),
					  deadline, &answer, ret_failure);
}

/* LeaseTimeToLiveRequest {1 ID}. */
bool
gbe_client_lease_look(GbeClient *client, guint64 lease, gint64 deadline, bool *ret_alive,
		      GbeCallFailure *ret_failure)
{
	GbeEtcdLease answer;

	if (!ask_etcd(client, GBE_MESSAGE_LEASE_LOOK, REQUEST({1, .number = lease}), deadline,
		      &answer, ret_failure))
		return false;
	*ret_alive = answer.ttl > 0;
	return true;
}

bool
gbe_client_disarm(GbeClient *client, const GbeEtcdAlarm *alarm, gint64 deadline,
		  GbeCallFailure *ret_failure)
{
	return ask_etcd(
	    client, GBE_MESSAGE_ALARMS,
	    REQUEST({1, .number = 2}, {2, .number = alarm->member_id}, {3, .number = alarm->alarm}),
	    deadline, NULL, ret_failure);
}

/* ---- members ---- */

/* MemberAddRequest {1 peerURLs, 2 isLearner}. */
bool
gbe_client_member_add(GbeClient *client, char *const *peer_urls, bool learner, gint64 deadline,
		      GbeEtcdMembers *ret_members, GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_MEMBER_ADD,
			REQUEST({1, .texts = peer_urls}, {2, .number = learner}), deadline,
			ret_members, ret_failure);
}

/* MemberUpdateRequest {1 ID, 2 peerURLs}. */
bool
gbe_client_member_update(GbeClient *client, guint64 id, char *const *peer_urls, gint64 deadline,
			 GbeCallFailure *ret_failure)
{
	return ask_etcd(client, GBE_MESSAGE_MEMBER_UPDATE,
			REQUEST({1, .number = id}, {2, .texts = peer_urls}), deadline, NULL,
			ret_failure);
}

/* ---- a snapshot ---- */

typedef struct {
	GbeSnapshotTake take;
	gpointer data;
	bool bad;
} Snapshot;

/* Not read by the table, so that a piece is passed on from where it lies. */
static bool
take_piece(const guint8 *bytes, gsize size, gpointer data)
{
	Snapshot *snapshot = data;
	const guint8 *blob = NULL;
	gsize blob_size = 0;
	guint64 remaining = 0;
	GbeProtobuf pb = gbe_protobuf_begin(bytes, size);

	while (gbe_protobuf_next(&pb)) {
		if (gbe_protobuf_is(&pb, 2, GBE_WIRE_VARINT)) {
			remaining = pb.value;
		} else if (gbe_protobuf_is(&pb, 3, GBE_WIRE_BYTES)) {
			blob = pb.data;
			blob_size = pb.size;
		}
	}
	snapshot->bad = pb.bad;
	return !snapshot->bad && snapshot->take(blob, blob_size, remaining, snapshot->data);
}

bool
gbe_client_snapshot(GbeClient *client, gint64 deadline, guint idle_seconds, GbeSnapshotTake take,
		    gpointer data, GbeCallFailure *ret_failure)
{
	Snapshot snapshot = {.take = take, .data = data};
	GbeGrpcCall call = {.path = "/etcdserverpb.Maintenance/Snapshot",
			    .deadline = deadline,
			    .idle_seconds = idle_seconds,
			    .limit = PIECE_MAX,
			    .take = take_piece,
			    .data = &snapshot};
	bool ok = make_call(client, &call, ret_failure);

	if (snapshot.bad)
		(void)gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				    "it sent no SnapshotResponse of etcd's");
	return ok;
}

/* ---- health ---- */

/* The same key as etcdctl's; it need not exist. */
#define HEALTH_KEY "health"

/* Notes the answer to a question, or why it has none. Returns @answered. */
static bool
note_answer(GbeQuestion *question, bool answered, GbeCallFailure *failure)
{
	g_free(question->why);
	*question = (GbeQuestion){.reach = GBE_REACH_ANSWERED};
	if (!answered) {
		question->reach = failure->reach;
		question->status = failure->status;
		question->why = g_steal_pointer(&failure->why);
	}
	return answered;
}

static bool
ask_status(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};

	if (!note_answer(&facts->status, gbe_client_status(client, deadline, &status, &failure),
			 &failure))
		return false;
	facts->version = g_steal_pointer(&status.version);
	facts->storage_version = g_steal_pointer(&status.storage_version);
	facts->cluster_id = status.header.cluster_id;
	facts->member_id = status.header.member_id;
	facts->revision = status.header.revision;
	facts->db_size = status.db_size;
	facts->db_in_use = status.db_in_use;
	facts->quota = status.quota > 0 ? status.quota : facts->quota;
	facts->leader = status.leader;
	facts->raft_index = status.raft_index;
	facts->raft_applied = status.raft_applied;
	facts->learner = status.learner;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return true;
}

static void
ask_members(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdMembers members = {{0}};

	if (!note_answer(&facts->members, gbe_client_members(client, deadline, &members, &failure),
			 &failure))
		return;
	facts->member_count = members.list != NULL ? members.list->len : 0;
	facts->voters = gbe_etcd_members_voters(&members);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
}

/* The proposal; its answer is the list of alarms. */
static void
ask_write(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdAlarms alarms = {{0}};

	if (!note_answer(&facts->write, gbe_client_alarms(client, deadline, &alarms, &failure),
			 &failure))
		return;
	for (guint i = 0; alarms.list != NULL && i < alarms.list->len; i++) {
		guint64 alarm = g_array_index(alarms.list, GbeEtcdAlarm, i).alarm;

		facts->no_space = facts->no_space || alarm == GBE_ALARM_NOSPACE;
		facts->corrupt = facts->corrupt || alarm == GBE_ALARM_CORRUPT;
		facts->other_alarm = facts->other_alarm || alarm > GBE_ALARM_CORRUPT;
	}
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
}

static void
ask_read(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdRange range = {{0}};

	if (note_answer(&facts->read,
			gbe_client_count(client, HEALTH_KEY, deadline, &range, &failure), &failure))
		facts->revision = MAX(facts->revision, range.header.revision);
}

void
gbe_health_inquire(const GbeEndpoint *endpoint, gint64 deadline, GbeClient **client,
		   GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeConnection *connection;
	double quota = 0;

	if (*client == NULL && !gbe_client_open(endpoint, client, &failure)) {
		(void)note_answer(&facts->status, false, &failure);
		return;
	}
	connection = (*client)->connection;
	if (!ask_status(*client, deadline, facts))
		return;
	ask_members(*client, deadline, facts);
	/* A learner denies both, and no decision needs its answer. */
	if (!facts->learner) {
		ask_write(*client, deadline, facts);
		/* A server that was late once is not asked again. */
		if (facts->write.reach != GBE_REACH_LATE)
			ask_read(*client, deadline, facts);
	}
	/* etcd 3.6 has its quota in the status, an older one in its metrics only. */
	if (facts->quota <= 0 && facts->write.reach != GBE_REACH_LATE &&
	    facts->read.reach != GBE_REACH_LATE &&
	    ask_gauge(gbe_connection_is_tls(connection) ? connection : NULL, &(*client)->endpoint,
		      GBE_GAUGE_QUOTA, deadline, &quota) &&
	    quota < (double)G_MAXINT64)
		facts->quota = (gint64)quota;
}
