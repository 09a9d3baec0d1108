/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The health of a real etcd in its possible states. States that a real one does not reach on demand are scripted. */
#include "etcd-real.h"

#include "core/health/health.h"
#include "etcd/api/client.h"
#include "etcd/tls/pem.h"
#include "lib/certificates.h"
#include "lib/scripted.h"

typedef struct {
	GbeEndpoint endpoint;
	GbeHealthFacts *facts;
	GbeHealthReport *report;
	GbeClient *client;
	gint64 took_ms;
} Look;

static void
look_now(Look *look, guint timeout_ms)
{
	gint64 began = g_get_monotonic_time();

	if (look->facts == NULL) {
		g_autoptr(GbeConfig) config = gbe_config_new();

		look->facts = gbe_health_facts_new();
		gbe_health_facts_configure(look->facts, config);
		g_free(look->facts->endpoint);
		look->facts->endpoint = g_strdup(look->endpoint.endpoint);
	}
	gbe_health_facts_reset(look->facts);
	look->facts->now = g_get_real_time() / G_USEC_PER_SEC;
	gbe_certificates_look(look->endpoint.cacert, look->endpoint.cert, look->endpoint.key,
			      look->facts->tls);
	gbe_health_inquire(&look->endpoint, began + timeout_ms * 1000, &look->client, look->facts);
	gbe_health_report_free(look->report);
	look->report = gbe_health_judge(look->facts);
	look->took_ms = (g_get_monotonic_time() - began) / 1000;
	ck_assert_int_lt(look->took_ms, timeout_ms + 1000);
}

static void
look_end(Look *look)
{
	gbe_client_close(look->client);
	gbe_health_report_free(look->report);
	gbe_health_facts_free(look->facts);
	*look = (Look){0};
}

#define expect(look, word)                                                                         \
	ck_assert_msg(strcmp((look)->report->cause, word) == 0, "%s: %s", (look)->report->cause,   \
		      (look)->report->reason)

static Look
look_at(const char *url, const char *word)
{
	Look look = {.endpoint = {.endpoint = url}};

	look_now(&look, 2000);
	expect(&look, word);
	return look;
}

/* Repeats until the cause is as expected; etcd takes its time. */
static void
look_until(Look *look, const char *word)
{
	for (guint try = 0; try < 100; try++) {
		look_now(look, 2000);
		if (strcmp(look->report->cause, word) == 0)
			return;
		g_usleep(50 * 1000);
	}
	expect(look, word);
}

START_TEST(healthy)
{
	g_autofree char *data = root_path("data");
	Look look;
	Etcd etcd;

	if (!have_etcd_of("healthy", _i))
		return;
	etcd_start(&etcd, data);
	look = (Look){.endpoint = {.endpoint = etcd.endpoint}};
	/* The second time on the same connection, if it was kept. */
	for (guint again = 0; again < 2; again++) {
		etcd_put(&etcd, "k", "v");
		look_now(&look, 5000);
		expect(&look, "healthy");
		ck_assert_int_eq(look.facts->revision, 2 + again);
		ck_assert_uint_eq(look.facts->voters, 1);
	}
	look_end(&look);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

static void
put_until_full(const Etcd *etcd)
{
	g_autofree char *filler = g_strnfill(60 * 1024, 'x');
	g_autofree char *endpoints = g_strconcat("--endpoints=", etcd->endpoint, NULL);

	for (guint i = 0; i < 3; i++)
		(void)RUN("etcdctl", endpoints, "put", "k", filler);
}

START_TEST(no_space)
{
	g_autofree char *data = root_path("data");
	const char *const options[] = {"--quota-backend-bytes=65536", NULL};
	Look look;
	Etcd etcd;

	if (!have_etcd_of("no-space", _i))
		return;
	etcd_spawn(&etcd, data, NULL, options);
	etcd_wait_until_healthy(&etcd);
	put_until_full(&etcd);
	look = look_at(etcd.endpoint, "no-space");
	look.facts->on_nospace = GBE_NOSPACE_UNHEALTHY;
	look_now(&look, 2000);
	expect(&look, "no-space-unhealthy");
	ck_assert_int_eq(look.facts->quota, 65536);
	look.facts->on_nospace = GBE_NOSPACE_HEALTHY;
	look_now(&look, 2000);
	expect(&look, "healthy");
	ck_assert_int_eq((int)look.report->steps[GBE_CHECK_ALARMS].result, GBE_CHECK_WARNING);
	look_end(&look);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(corrupt)
{
	g_autofree char *data = root_path("data");
	g_autofree char *url = NULL;
	Look look;
	Etcd etcd;

	if (!have_etcd_of("corrupt", _i))
		return;
	etcd_start(&etcd, data);
	url = g_strconcat(etcd.endpoint, "/v3/maintenance/alarm", NULL);
	ck_assert_int_eq(RUN("curl", "-sf", "-d",
			     "{\"action\":\"ACTIVATE\",\"memberID\":\"7\",\"alarm\":\"CORRUPT\"}",
			     url),
			 0);
	look = look_at(etcd.endpoint, "corrupt");
	ck_assert_int_eq((int)look.report->health, (int)GBE_HEALTH_UNHEALTHY);
	look_end(&look);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

/* A database that is newer than its log: etcd starts, its /health is true, and no write ever ends (etcd.md,
 * sections 1 and 12). */
START_TEST(the_log_is_gone)
{
	g_autofree char *data = root_path("data");
	g_autofree char *wal = root_path("data/member/wal");
	g_autofree char *snap = root_path("data/member/snap");
	Look look = {0};
	Etcd etcd;

	if (!have_etcd_of("the-log-is-gone", _i))
		return;
	etcd_start(&etcd, data);
	for (guint i = 0; i < 20; i++)
		etcd_put(&etcd, "k", "v");
	etcd_end(&etcd, SIGTERM);
	ck_assert_int_eq(
	    RUN("bash", "-euc", "rm -- \"$0\"/*.wal; rm -f -- \"$1\"/*.snap", wal, snap), 0);
	etcd_spawn(&etcd, data, NULL, NULL);
	look.endpoint.endpoint = etcd.endpoint;
	look_until(&look, "no-writes");
	ck_assert_int_eq((int)look.facts->write.reach, (int)GBE_REACH_LATE);
	ck_assert_int_eq((int)look.report->health, (int)GBE_HEALTH_UNHEALTHY);
	ck_assert_int_eq((int)look.report->steps[GBE_CHECK_REACHED].result, GBE_CHECK_PASSED);
	look_end(&look);
	etcd_end(&etcd, SIGKILL);
}
END_TEST

/* The first of two members, after the other was added but never started: no quorum. */
START_TEST(no_quorum)
{
	g_autofree char *data = root_path("data");
	g_autofree char *endpoints = NULL;
	Look look;
	Etcd etcd;

	if (!have_etcd_of("no-quorum", _i))
		return;
	etcd_start(&etcd, data);
	endpoints = g_strconcat("--endpoints=", etcd.endpoint, NULL);
	ck_assert_int_eq(
	    RUN("etcdctl", endpoints, "member", "add", "b", "--peer-urls=http://127.0.0.1:1"), 0);
	look = (Look){.endpoint = {.endpoint = etcd.endpoint}};
	look_until(&look, "no-quorum");
	ck_assert_int_eq((int)look.report->health, (int)GBE_HEALTH_CANNOT_TELL);
	ck_assert_uint_eq(look.facts->voters, 2);
	look_end(&look);
	etcd_end(&etcd, SIGKILL);
}
END_TEST

START_TEST(other_data)
{
	g_autofree char *data = root_path("data");
	Look look = {0};
	Etcd etcd;

	if (!have_etcd_of("other-data", _i))
		return;
	etcd_start(&etcd, data);
	look = look_at(etcd.endpoint, "healthy");
	look.facts->expected_cluster_id =
	    g_strdup_printf("%016" G_GINT64_MODIFIER "x", look.facts->cluster_id);
	look.facts->expected_revision = look.facts->revision;
	look_now(&look, 2000);
	expect(&look, "healthy");
	look.facts->expected_member_id = g_strdup("0123456789abcdef");
	look_now(&look, 2000);
	expect(&look, "other-data");
	g_clear_pointer(&look.facts->expected_member_id, g_free);
	look.facts->expected_revision++;
	look_now(&look, 2000);
	expect(&look, "behind");
	look_end(&look);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

static void
expect_tls(const char *url, const char *ca, const char *cert, const char *key, const char *word,
	   const char *says)
{
	g_autofree char *ca_path = ca != NULL ? root_path(ca) : NULL;
	g_autofree char *cert_path = cert != NULL ? root_path(cert) : NULL;
	g_autofree char *key_path = key != NULL ? root_path(key) : NULL;
	Look look = {.endpoint = {url, ca_path, cert_path, key_path, false}};

	look_now(&look, 5000);
	ck_assert_msg(strcmp(look.report->cause, word) == 0, "%s %s %s: %s: %s", ca, cert, key,
		      look.report->cause, look.report->reason);
	ck_assert_msg(strstr(look.report->reason, says) != NULL, "%s", look.report->reason);
	look_end(&look);
}

START_TEST(over_tls)
{
	g_autofree char *data = root_path("data");
	g_autofree char *plain = NULL;
	Etcd etcd;

	if (!have_etcd_of("over-tls", _i))
		return;
	make_certificates(root);
	ck_assert_int_eq(RUN("bash", "-euc",
			     "cd $0; openssl rsa -aes256 -passout pass:secret -in client.key -out "
			     "locked.key 2>/dev/null; echo nonsense >nonsense; mkfifo fifo",
			     root),
			 0);
	etcd_spawn_tls(&etcd, data, root);
	expect_tls(etcd.endpoint, "ca.crt", "client.crt", "client.key", "healthy", "healthy");
	/* No certificate of our own; one that another CA signed; a server's that is not of our CA. */
	expect_tls(etcd.endpoint, "ca.crt", NULL, NULL, "no-trust", "cert=");
	expect_tls(etcd.endpoint, "ca.crt", "foreign.crt", "foreign.key", "no-trust", "cert=");
	expect_tls(etcd.endpoint, "other.crt", "client.crt", "client.key", "no-trust", "cacert=");
	/* Faults in the files. */
	expect_tls(etcd.endpoint, "none.crt", "client.crt", "client.key", "certificate",
		   "cacert of [etcd]");
	expect_tls(etcd.endpoint, "ca.crt", "none.crt", "client.key", "certificate",
		   "cannot be read");
	expect_tls(etcd.endpoint, "ca.crt", "nonsense", "client.key", "certificate",
		   "holds no certificate");
	expect_tls(etcd.endpoint, "ca.crt", "client.crt", "server.key", "certificate",
		   "is not the key of the certificate");
	expect_tls(etcd.endpoint, "ca.crt", "client.crt", "locked.key", "certificate",
		   "without a passphrase");
	expect_tls(etcd.endpoint, "ca.crt", "client.crt", "nonsense", "certificate",
		   "holds no private key");
	/* The right port with the wrong scheme, in both directions. */
	plain = g_strconcat("http", etcd.endpoint + strlen("https"), NULL);
	expect_tls(plain, NULL, NULL, NULL, "not-etcd", "is it https?");
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(certificates_that_expire)
{
	GbeTlsFile tls[3] = {{0}};
	g_autofree char *ca = root_path("ca.crt");
	g_autofree char *cert = root_path("client.crt");
	g_autofree char *key = root_path("client.key");
	g_autofree char *fifo = root_path("fifo");
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;

	make_certificates(root);
	ck_assert_int_eq(RUN("mkfifo", fifo), 0);
	gbe_certificates_look(ca, cert, key, tls);
	for (guint i = 0; i < 2; i++) {
		ck_assert_ptr_null(tls[i].problem);
		ck_assert_int_gt(tls[i].expires, now + 47 * 3600);
		ck_assert_int_lt(tls[i].expires, now + 49 * 3600);
	}
	ck_assert_ptr_null(tls[2].problem);
	ck_assert_int_eq(tls[2].expires, -1);
	gbe_certificates_look(root, fifo, "", tls);
	ck_assert_str_eq(tls[0].problem, "is no file");
	ck_assert_str_eq(tls[1].problem, "is no file");
	ck_assert_ptr_null(tls[2].key);
	gbe_certificates_look(NULL, NULL, NULL, tls);
	for (guint i = 0; i < 3; i++)
		ck_assert_ptr_null(tls[i].path);
}
END_TEST

/* ---- scripted ---- */

#define HEADER "\x0a\x08\x08\x01\x10\x02\x18\x03\x20\x04"
#define STATUS36                                                                                   \
	HEADER "\x12\x05"                                                                          \
	       "3.6.1"                                                                             \
	       "\x18\x80\x20\x20\x02\x28\x09\x30\x04\x38\x09\x48\x80\x10\x5a\x05"                  \
	       "3.6.0"                                                                             \
	       "\x60\x80\x80\x80\x80\x08"
#define MEMBERS HEADER "\x12\x04\x08\x02\x12\x00"
#define SAY(bytes)                                                                                 \
	{                                                                                          \
		SCRIPT_ANSWER, bytes, sizeof(bytes) - 1, NULL, NULL                                \
	}
#define DENY(status, text)                                                                         \
	{                                                                                          \
		SCRIPT_ANSWER, NULL, 0, status, text                                               \
	}

static void
expect_scripts(const Script *scripts, guint n, const char *word, const char *says)
{
	g_autofree char *url = NULL;
	pid_t pid = scripted_start(scripts, n, &url);
	Look look = {.endpoint = {.endpoint = url}};

	look_now(&look, 600);
	stop_server(pid);
	ck_assert_msg(strcmp(look.report->cause, word) == 0, "%s: %s", look.report->cause,
		      look.report->reason);
	ck_assert_msg(strstr(look.report->reason, says) != NULL, "%s", look.report->reason);
	look_end(&look);
}

#define EXPECT(word, says, ...)                                                                    \
	do {                                                                                       \
		static const Script scripts[] = {__VA_ARGS__};                                     \
		expect_scripts(scripts, G_N_ELEMENTS(scripts), word, says);                        \
	} while (0)

/* In the order of the questions: status, members, alarms (the write), count (the read). Answers of 3.6 are taken
 * from etcd.md; no 3.6 is available here. */
START_TEST(scripted)
{
	EXPECT("healthy", "3.6.1, one member, revision 3, 4 KiB of 2 GiB", SAY(STATUS36),
	       SAY(MEMBERS), SAY(HEADER), SAY(HEADER));
	/* An alarm of a later etcd; both alarms at once. */
	EXPECT("other-alarm", "does not know", SAY(STATUS36), SAY(MEMBERS),
	       SAY(HEADER "\x12\x04\x08\x02\x10\x03"), SAY(HEADER));
	EXPECT("corrupt", "CORRUPT", SAY(STATUS36), SAY(MEMBERS),
	       SAY(HEADER "\x12\x04\x08\x02\x10\x01\x12\x04\x08\x02\x10\x02"), SAY(HEADER));
	EXPECT("no-writes", "request timed out", SAY(STATUS36), SAY(MEMBERS),
	       DENY("14", "etcdserver: request timed out"), SAY(HEADER));
	EXPECT("no-writes", "cannot write", SAY(STATUS36), SAY(MEMBERS),
	       {SCRIPT_SILENT, NULL, 0, NULL, NULL});
	EXPECT("no-reads", "too many requests", SAY(STATUS36), SAY(MEMBERS), SAY(HEADER),
	       DENY("8", "etcdserver: too many requests"));
	EXPECT("healthy", "healthy", SAY(STATUS36), SAY(MEMBERS),
	       DENY("3", "etcdserver: user name is empty"),
	       DENY("3", "etcdserver: user name is empty"));
	EXPECT("not-allowed", "invalid auth token", DENY("16", "etcdserver: invalid auth token"));
	EXPECT("not-etcd", "unknown service",
	       DENY("12", "unknown service etcdserverpb.Maintenance"));
	EXPECT("no-leader", "no leader",
	       SAY(HEADER "\x12\x05"
			  "3.6.1"),
	       SAY(MEMBERS), DENY("14", "etcdserver: no leader"));
	EXPECT("mute", "in time", {SCRIPT_SILENT, NULL, 0, NULL, NULL});
	EXPECT("mute", "in time", {SCRIPT_DRIP, STATUS36, sizeof(STATUS36) - 1, NULL, NULL});
	EXPECT("broke-off", "to the end", {SCRIPT_CUT, STATUS36, sizeof(STATUS36) - 1, NULL, NULL});
	EXPECT("not-etcd", "longer", {SCRIPT_FLOOD, NULL, 0, NULL, NULL});
}
END_TEST

START_TEST(no_server)
{
	g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u", free_port());
	Look look = look_at(url, "down");

	/* The same text each time, without milliseconds. */
	ck_assert_msg(g_str_has_suffix(look.report->reason, ": Connection refused"), "%s",
		      look.report->reason);
	look_end(&look);
	look = look_at("http://no-such-host.invalid:2379", "bad-endpoint");
	look_end(&look);
	look = look_at("", "bad-endpoint");
	look_end(&look);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-health");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_loop_test(files, healthy, 0, N_ETCDS);
	tcase_add_loop_test(files, no_space, 0, N_ETCDS);
	tcase_add_loop_test(files, corrupt, 0, N_ETCDS);
	tcase_add_loop_test(files, the_log_is_gone, 0, N_ETCDS);
	tcase_add_loop_test(files, no_quorum, 0, N_ETCDS);
	tcase_add_loop_test(files, other_data, 0, N_ETCDS);
	tcase_add_loop_test(files, over_tls, 0, N_ETCDS);
	tcase_add_test(files, certificates_that_expire);
	tcase_add_test(files, scripted);
	tcase_add_test(files, no_server);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
