/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every call against a real etcd, plain, over TLS and over a socket. */
#include "etcd-real.h"

#include "etcd/api/client.h"
#include "lib/certificates.h"

#define SECOND ((gint64)G_USEC_PER_SEC)

static gint64
soon(void)
{
	return g_get_monotonic_time() + 5 * SECOND;
}

static GbeClient *
open_client(const GbeEndpoint *endpoint)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeClient *client = NULL;

	if (!gbe_client_open(endpoint, &client, &failure))
		ck_abort_msg("%s: %s", endpoint->endpoint, failure.why);
	return client;
}

static void
expect_status(GbeClient *client, GbeEtcdStatus *ret_status)
{
	g_auto(GbeCallFailure) failure = {0};

	if (!gbe_client_status(client, soon(), ret_status, &failure))
		ck_abort_msg("%d: %s", (int)failure.reach, failure.why);
	ck_assert_uint_ne(ret_status->header.cluster_id, 0);
	ck_assert_uint_ne(ret_status->header.member_id, 0);
	ck_assert_uint_eq(ret_status->leader, ret_status->header.member_id);
	ck_assert_int_gt(ret_status->db_size, 0);
	ck_assert_int_gt(ret_status->db_in_use, 0);
	ck_assert_uint_gt(ret_status->raft_index, 0);
	ck_assert_uint_ge(ret_status->raft_index, ret_status->raft_applied);
	ck_assert(g_str_has_prefix(ret_status->version, "3."));
	ck_assert(!ret_status->learner);
}

static void
ask_all(const GbeEndpoint *endpoint)
{
	g_autoptr(GbeClient) client = open_client(endpoint);
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	GbeEtcdHashKv hash = {{0}};
	GbeEtcdAlarms alarms = {0};
	GbeEtcdMembers members = {0};
	GbeEtcdRange range = {0};

	expect_status(client, &status);
	if (!gbe_client_alarms(client, soon(), &alarms, &failure) ||
	    !gbe_client_members(client, soon(), &members, &failure) ||
	    !gbe_client_count(client, "k", soon(), &range, &failure) ||
	    !gbe_client_hash_kv(client, 0, soon(), &hash, &failure))
		ck_abort_msg("%d: %s", (int)failure.reach, failure.why);
	ck_assert_ptr_null(alarms.list);
	ck_assert_uint_eq(gbe_etcd_members_voters(&members), 1);
	ck_assert_str_eq(g_array_index(members.list, GbeEtcdMember, 0).name, "default");
	ck_assert_uint_eq(g_array_index(members.list, GbeEtcdMember, 0).peer_urls->len, 1);
	ck_assert_uint_eq(g_array_index(members.list, GbeEtcdMember, 0).client_urls->len, 1);
	ck_assert_uint_eq(g_array_index(members.list, GbeEtcdMember, 0).id,
			  status.header.member_id);
	ck_assert_int_eq(range.count, 1);
	ck_assert_int_eq(range.header.revision, status.header.revision);
	ck_assert_uint_ne(hash.hash, 0);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
}

START_TEST(plain)
{
	g_autofree char *data = root_path("data");
	GbeEndpoint endpoint = {0};
	Etcd etcd;

	if (!have_etcd_of("plain", _i))
		return;
	etcd_start(&etcd, data);
	etcd_put(&etcd, "k", "v");
	endpoint.endpoint = etcd.endpoint;
	ask_all(&endpoint);
	/* A proxy in the environment is not used. */
	ck_assert(g_setenv("http_proxy", "http://127.0.0.1:9", true));
	ck_assert(g_setenv("ALL_PROXY", "http://127.0.0.1:9", true));
	ask_all(&endpoint);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(over_tls)
{
	g_autofree char *data = root_path("data");
	g_autofree char *ca = root_path("ca.crt");
	g_autofree char *cert = root_path("client.crt");
	g_autofree char *key = root_path("client.key");
	GbeEndpoint endpoint = {.cacert = ca, .cert = cert, .key = key};
	Etcd etcd;

	if (!have_etcd_of("over-tls", _i))
		return;
	make_certificates(root);
	etcd_spawn_tls(&etcd, data, root);
	endpoint.endpoint = etcd.endpoint;
	tls_put(&etcd, root, "k", "v");
	ask_all(&endpoint);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(over_a_socket)
{
	g_autofree char *data = root_path("data");
	g_autofree char *url = NULL;
	GbeEndpoint endpoint = {0};
	Etcd etcd;

	if (!have_etcd_of("over-a-socket", _i))
		return;
	/* etcd takes the host part as the file's name in its working directory. */
	ck_assert_int_eq(chdir(root), 0);
	etcd_spawn(&etcd, data, "unix://etcd.sock:0", NULL);
	etcd_wait_until_healthy(&etcd);
	etcd_put(&etcd, "k", "v");
	url = g_strdup_printf("unix://%s/etcd.sock:0", root);
	endpoint.endpoint = url;
	ask_all(&endpoint);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

typedef struct {
	guint pieces;
	guint64 bytes;
	guint64 remaining;
	guint stop_at;
} Pieces;

static bool
count_pieces(const guint8 *bytes, gsize size, guint64 remaining, gpointer data)
{
	Pieces *pieces = data;

	pieces->bytes += size;
	pieces->remaining = remaining;
	return ++pieces->pieces != pieces->stop_at;
}

/* Calls that change etcd: compaction, defragmentation, disarming; and the snapshot as a stream. */
START_TEST(maintenance)
{
	g_autofree char *data = root_path("data");
	g_autoptr(GbeClient) client = NULL;
	g_auto(GbeCallFailure) failure = {0};
	GbeEndpoint endpoint = {0};
	GbeEtcdAlarm alarm = {0, GBE_ALARM_NOSPACE};
	GbeEtcdStatus status = {{0}};
	GbeEtcdHashKv hash = {{0}};
	Pieces pieces = {0};
	Pieces cut = {.stop_at = 1};
	Etcd etcd;

	if (!have_etcd_of("maintenance", _i))
		return;
	etcd_start(&etcd, data);
	for (guint i = 0; i < 5; i++)
		etcd_put(&etcd, "k", "v");
	endpoint.endpoint = etcd.endpoint;
	client = open_client(&endpoint);
	expect_status(client, &status);
	ck_assert_int_eq(status.header.revision, 6);
	if (!gbe_client_compact(client, 4, soon(), &failure) ||
	    !gbe_client_change(client, GBE_MESSAGE_DEFRAGMENT, 0, soon(), &failure) ||
	    !gbe_client_hash_kv(client, 0, soon(), &hash, &failure))
		ck_abort_msg("%d: %s", (int)failure.reach, failure.why);
	ck_assert_int_eq(hash.compact_revision, 4);
	/* This write leaves no trace. */
	if (!gbe_client_write_nothing(client, soon(), &failure))
		ck_abort_msg("%d: %s", (int)failure.reach, failure.why);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	expect_status(client, &status);
	ck_assert_int_eq(status.header.revision, 6);
	/* A compacted revision has no hash. */
	ck_assert(!gbe_client_hash_kv(client, 2, soon(), &hash, &failure));
	ck_assert_int_eq(failure.reach, GBE_REACH_DENIED);
	ck_assert_msg(strstr(failure.why, "compacted") != NULL, "%s", failure.why);
	alarm.member_id = status.header.member_id;
	ck_assert(gbe_client_disarm(client, &alarm, soon(), &failure));
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	expect_status(client, &status);
	if (!gbe_client_snapshot(client, 0, 5, count_pieces, &pieces, &failure))
		ck_abort_msg("%d: %s", (int)failure.reach, failure.why);
	/* The database and its digest, and nothing more. */
	ck_assert_uint_eq(pieces.bytes, (guint64)status.db_size + 32);
	ck_assert_uint_eq(pieces.remaining, 0);
	ck_assert_uint_ge(pieces.pieces, 2);
	ck_assert(!gbe_client_snapshot(client, 0, 5, count_pieces, &cut, &failure));
	ck_assert_int_eq(failure.reach, GBE_REACH_LOCAL);
	ck_assert_uint_eq(cut.pieces, 1);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

/* ---- an etcd with users ---- */

static void
etcdctl(const Etcd *etcd, const char *const *words)
{
	g_autofree char *endpoints = g_strconcat("--endpoints=", etcd->endpoint, NULL);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();

	g_ptr_array_add(argv, (gpointer) "etcdctl");
	g_ptr_array_add(argv, endpoints);
	for (guint i = 0; words[i] != NULL; i++)
		g_ptr_array_add(argv, (gpointer)words[i]);
	g_ptr_array_add(argv, NULL);
	ck_assert_int_eq(run_program((const char *const *)argv->pdata, NULL), 0);
}
#define CTL(etcd, ...) etcdctl(etcd, (const char *const[]){__VA_ARGS__, NULL})

static void
expect_denied(const GbeEndpoint *endpoint, const char *why)
{
	g_autoptr(GbeClient) client = open_client(endpoint);
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdRange range = {{0}};
	Pieces pieces = {0};

	ck_assert(!gbe_client_count(client, "k", soon(), &range, &failure));
	ck_assert_int_eq(failure.reach, GBE_REACH_NO_USER);
	ck_assert_msg(strstr(failure.why, why) != NULL, "%s", failure.why);
	ck_assert(!gbe_client_is_root(client, soon(), &failure));
	ck_assert_int_eq(failure.reach, GBE_REACH_NO_USER);
	ck_assert(!gbe_client_snapshot(client, 0, 5, count_pieces, &pieces, &failure));
	ck_assert_int_eq(failure.reach, GBE_REACH_NO_USER);
	ck_assert_msg(g_str_has_prefix(failure.why, "refused: etcd asks for a user"), "%s",
		      failure.why);
	ck_assert_int_eq(gbe_call_code(&failure, GBE_ERROR_FAILED), GBE_ERROR_NO_USER);
	ck_assert_uint_eq(pieces.pieces, 0);
}

/* One connection, from before the users to after etcd has forgotten its token twice. */
START_TEST(users)
{
	g_autofree char *data = root_path("data");
	GbeEndpoint endpoint = {.user = "root", .password = "a b:c"};
	g_autoptr(GbeClient) client = NULL;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdRange range = {{0}};
	Pieces pieces = {0};
	Etcd etcd;

	if (!have_etcd_of("users", _i))
		return;
	etcd_start(&etcd, data);
	etcd_put(&etcd, "k", "v");
	endpoint.endpoint = etcd.endpoint;
	client = open_client(&endpoint);
	ck_assert(gbe_client_is_root(client, soon(), &failure));
	CTL(&etcd, "user", "add", "root:a b:c");
	CTL(&etcd, "role", "add", "root");
	CTL(&etcd, "user", "grant-role", "root", "root");
	for (guint round = 0; round < 3; round++) {
		CTL(&etcd, "auth", "enable");
		if (!gbe_client_snapshot(client, 0, 5, count_pieces, &pieces, &failure) ||
		    !gbe_client_count(client, "k", soon(), &range, &failure))
			ck_abort_msg("%u: %d: %s", round, (int)failure.reach, failure.why);
		ck_assert_int_eq(range.count, 1);
		ck_assert(gbe_client_is_root(client, soon(), &failure));
		if (round < 2)
			CTL(&etcd, "--user=root:a b:c", "auth", "disable");
	}
	endpoint.user = endpoint.password = NULL;
	expect_denied(&endpoint, "set user= and password-file= of [etcd]");
	endpoint.user = "root";
	endpoint.no_password = "/file: is a link";
	expect_denied(&endpoint, "the password of root cannot be read: /file: is a link");
	endpoint.password = "wrong";
	expect_denied(&endpoint, "does not accept root (");
	etcd_end(&etcd, SIGTERM);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-client");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_loop_test(files, plain, 0, N_ETCDS);
	tcase_add_loop_test(files, over_tls, 0, N_ETCDS);
	tcase_add_loop_test(files, over_a_socket, 0, N_ETCDS);
	tcase_add_loop_test(files, maintenance, 0, N_ETCDS);
	tcase_add_loop_test(files, users, 0, N_ETCDS);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
