/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/client.h"

#include <string.h>

#include "etcd/gateway.h"
#include "etcd/grpc.h"
#include "etcd/protobuf.h"

/* Of one answer, but for a snapshot's: a list of 256 members is a tenth of it. */
#define ANSWER_MAX (256 * 1024)
/* etcd sends pieces of 32 KiB. */
#define PIECE_MAX (1024 * 1024)
/* Need not be there, and is never made. */
#define PROBE_KEY "greenboot-etcd/probe"

struct GbeClient {
	GbeConnection *connection;
};

typedef enum { RPC_ONCE, RPC_NEEDS_LEADER } RpcKind;

static const struct {
	const char *grpc, *json;
	RpcKind kind;
} rpcs[GBE_N_MESSAGES] = {
    [GBE_MESSAGE_STATUS] = {"/etcdserverpb.Maintenance/Status", "/v3/maintenance/status"},
    [GBE_MESSAGE_ALARMS] = {"/etcdserverpb.Maintenance/Alarm", "/v3/maintenance/alarm",
			    RPC_NEEDS_LEADER},
    [GBE_MESSAGE_MEMBERS] = {"/etcdserverpb.Cluster/MemberList", "/v3/cluster/member/list"},
    [GBE_MESSAGE_HASH_KV] = {"/etcdserverpb.Maintenance/HashKV", "/v3/maintenance/hashkv"},
    [GBE_MESSAGE_RANGE] = {"/etcdserverpb.KV/Range", "/v3/kv/range", RPC_NEEDS_LEADER},
    [GBE_MESSAGE_DEFRAGMENT] = {"/etcdserverpb.Maintenance/Defragment",
				"/v3/maintenance/defragment"},
    [GBE_MESSAGE_COMPACTION] = {"/etcdserverpb.KV/Compact", "/v3/kv/compaction", RPC_NEEDS_LEADER},
    [GBE_MESSAGE_TXN] = {"/etcdserverpb.KV/Txn", "/v3/kv/txn", RPC_NEEDS_LEADER},
};

bool
gbe_client_open(const GbeEndpoint *endpoint, GbeClient **ret_client, GbeCallFailure *ret_failure)
{
	g_autoptr(GbeClient) client = g_new0(GbeClient, 1);

	if (!gbe_connection_open(endpoint, &client->connection, ret_failure))
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
	g_free(client);
}

typedef struct {
	GbeMessage message;
	gpointer ret;
	guint count;
	char *why; /* it is not such a message */
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

static bool
ask_grpc(GbeClient *client, GbeMessage message, const GByteArray *request, gint64 deadline,
	 gpointer ret_message, GbeCallFailure *ret_failure)
{
	Answer answer = {.message = message, .ret = ret_message};
	GbeGrpcCall call = {.path = rpcs[message].grpc,
			    .request = request,
			    .needs_leader = rpcs[message].kind == RPC_NEEDS_LEADER,
			    .deadline = deadline,
			    .limit = ANSWER_MAX,
			    .take = take_answer,
			    .data = &answer};
	bool ok = gbe_grpc_call(client->connection, &call, ret_failure);

	if (answer.why != NULL)
		ok = gbe_call_fail(ret_failure, GBE_REACH_FOREIGN, "it sent %s", answer.why);
	else if (ok && answer.count == 0)
		ok = gbe_call_fail(ret_failure, GBE_REACH_DROPPED, "no answer came");
	if (!ok && answer.count > 0 && (answer.why == NULL || answer.count > 1))
		gbe_message_clear(message, ret_message);
	g_free(answer.why);
	return ok;
}

static bool
ask_json(GbeClient *client, GbeMessage message, const char *request, gint64 deadline,
	 gpointer ret_message, GbeCallFailure *ret_failure)
{
	g_autoptr(GError) error = NULL;
	GString *answer = NULL;
	bool ok;

	if (!gbe_gateway_call(client->connection, rpcs[message].json, request,
			      rpcs[message].kind == RPC_NEEDS_LEADER, deadline, &answer,
			      ret_failure))
		return false;
	ok = gbe_message_from_json(message, answer->str, answer->len, ret_message, &error);
	(void)g_string_free(answer, TRUE);
	if (!ok)
		(void)gbe_call_fail(ret_failure, GBE_REACH_FOREIGN, "it sent %s", error->message);
	return ok;
}

static bool
ask(GbeClient *client, GbeMessage message, const GByteArray *request, const char *json,
    gint64 deadline, gpointer ret_message, GbeCallFailure *ret_failure)
{
	if (gbe_connection_is_grpc(client->connection))
		return ask_grpc(client, message, request, deadline, ret_message, ret_failure);
	return ask_json(client, message, json, deadline, ret_message, ret_failure);
}

bool
gbe_client_status(GbeClient *client, gint64 deadline, GbeEtcdStatus *ret_status,
		  GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();

	return ask(client, GBE_MESSAGE_STATUS, request, "{}", deadline, ret_status, ret_failure);
}

bool
gbe_client_alarms(GbeClient *client, gint64 deadline, GbeEtcdAlarms *ret_alarms,
		  GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();

	/* Action GET is 0, and so are all members and all alarms. */
	return ask(client, GBE_MESSAGE_ALARMS, request, "{\"action\":\"GET\"}", deadline,
		   ret_alarms, ret_failure);
}

bool
gbe_client_members(GbeClient *client, gint64 deadline, GbeEtcdMembers *ret_members,
		   GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();

	return ask(client, GBE_MESSAGE_MEMBERS, request, "{}", deadline, ret_members, ret_failure);
}

bool
gbe_client_count(GbeClient *client, const char *key, gint64 deadline, GbeEtcdRange *ret_range,
		 GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autofree char *base64 = g_base64_encode((const guchar *)key, strlen(key));
	g_autofree char *json = g_strdup_printf("{\"key\":\"%s\",\"count_only\":true}", base64);

	gbe_protobuf_put_string(request, 1, key);
	gbe_protobuf_put_varint(request, 9, TRUE);
	return ask(client, GBE_MESSAGE_RANGE, request, json, deadline, ret_range, ret_failure);
}

bool
gbe_client_hash_kv(GbeClient *client, gint64 revision, gint64 deadline, GbeEtcdHashKv *ret_hash,
		   GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autofree char *json =
	    g_strdup_printf("{\"revision\":\"%" G_GINT64_FORMAT "\"}", revision);

	gbe_protobuf_put_varint(request, 1, (guint64)revision);
	return ask(client, GBE_MESSAGE_HASH_KV, request, json, deadline, ret_hash, ret_failure);
}

bool
gbe_client_defragment(GbeClient *client, gint64 deadline, GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	GbeEtcdHeader header;

	return ask(client, GBE_MESSAGE_DEFRAGMENT, request, "{}", deadline, &header, ret_failure);
}

bool
gbe_client_compact(GbeClient *client, gint64 revision, gint64 deadline, GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autofree char *json =
	    g_strdup_printf("{\"revision\":\"%" G_GINT64_FORMAT "\",\"physical\":true}", revision);
	GbeEtcdHeader header;

	gbe_protobuf_put_varint(request, 1, (guint64)revision);
	gbe_protobuf_put_varint(request, 2, TRUE);
	return ask(client, GBE_MESSAGE_COMPACTION, request, json, deadline, &header, ret_failure);
}

/* In protocol buffers, etcd's rpc.proto: TxnRequest {1 compare {2 target VERSION, 3 key, 4 version},
 * 2 success {3 request_delete_range {1 key}}}. etcd refuses to do it as a read, which a transaction of
 * nothing but reads would be, and a delete of nothing makes no revision. */
bool
gbe_client_write_nothing(GbeClient *client, gint64 deadline, GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autoptr(GByteArray) compare = g_byte_array_new();
	g_autoptr(GByteArray) remove = g_byte_array_new();
	g_autoptr(GByteArray) operation = g_byte_array_new();
	g_autofree char *key = g_base64_encode((const guchar *)PROBE_KEY, strlen(PROBE_KEY));
	g_autofree char *json = g_strdup_printf(
	    "{\"compare\":[{\"target\":\"VERSION\",\"key\":\"%s\",\"version\":\"0\"}],"
	    "\"success\":[{\"requestDeleteRange\":{\"key\":\"%s\"}}]}",
	    key, key);
	GbeEtcdHeader header;

	gbe_protobuf_put_string(compare, 3, PROBE_KEY);
	gbe_protobuf_put_varint(compare, 4, 0);
	gbe_protobuf_put_string(remove, 1, PROBE_KEY);
	gbe_protobuf_put_bytes(operation, 3, remove->data, remove->len);
	gbe_protobuf_put_bytes(request, 1, compare->data, compare->len);
	gbe_protobuf_put_bytes(request, 2, operation->data, operation->len);
	return ask(client, GBE_MESSAGE_TXN, request, json, deadline, &header, ret_failure);
}

bool
gbe_client_disarm(GbeClient *client, const GbeEtcdAlarm *alarm, gint64 deadline,
		  GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autofree char *json = g_strdup_printf(
	    "{\"action\":\"DEACTIVATE\",\"memberID\":\"%" G_GUINT64_FORMAT "\",\"alarm\":%u}",
	    alarm->member_id, (guint)alarm->alarm);
	GbeEtcdAlarms taken = {0};
	bool ok;

	gbe_protobuf_put_varint(request, 1, 2);
	gbe_protobuf_put_varint(request, 2, alarm->member_id);
	gbe_protobuf_put_varint(request, 3, alarm->alarm);
	ok = ask(client, GBE_MESSAGE_ALARMS, request, json, deadline, &taken, ret_failure);
	if (ok)
		gbe_message_clear(GBE_MESSAGE_ALARMS, &taken);
	return ok;
}

typedef struct {
	GbeSnapshotTake take;
	gpointer data;
	gboolean bad;
} Snapshot;

/* Not by the table: a piece goes on from where it lies. */
static bool
take_piece(const guint8 *bytes, gsize size, gpointer data)
{
	Snapshot *snapshot = data;
	const guint8 *blob = NULL;
	gsize blob_size = 0;
	guint64 remaining = 0;
	GbeFieldResult result;
	GbeProtobuf pb;
	GbeField field;

	gbe_protobuf_init(&pb, bytes, size);
	while ((result = gbe_protobuf_next(&pb, &field)) == GBE_FIELD_NEXT) {
		if (gbe_field_is(&field, 2, GBE_WIRE_VARINT)) {
			remaining = field.value;
		} else if (gbe_field_is(&field, 3, GBE_WIRE_BYTES)) {
			blob = field.data;
			blob_size = field.size;
		}
	}
	snapshot->bad = result == GBE_FIELD_BAD;
	return !snapshot->bad && snapshot->take(blob, blob_size, remaining, snapshot->data);
}

bool
gbe_client_snapshot(GbeClient *client, gint64 deadline, guint idle_seconds, GbeSnapshotTake take,
		    gpointer data, GbeCallFailure *ret_failure)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	Snapshot snapshot = {.take = take, .data = data};
	GbeGrpcCall call = {.path = "/etcdserverpb.Maintenance/Snapshot",
			    .request = request,
			    .deadline = deadline,
			    .idle_seconds = idle_seconds,
			    .limit = PIECE_MAX,
			    .take = take_piece,
			    .data = &snapshot};
	bool ok;

	if (!gbe_connection_is_grpc(client->connection))
		return gbe_call_fail(ret_failure, GBE_REACH_LOCAL,
				     "libcurl here has no HTTP/2, which a snapshot needs");
	ok = gbe_grpc_call(client->connection, &call, ret_failure);
	if (snapshot.bad)
		(void)gbe_call_fail(ret_failure, GBE_REACH_FOREIGN,
				    "it sent no SnapshotResponse of etcd's");
	return ok;
}
