/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Against a real etcd, plain, over TLS and over a socket; what a real one does not do is done by a small
 * server of the test's own. */
#include "etcd-real.h"

#include "etcd/health.h"

static GbeProbe
probe_with(const char *url, const char *cacert, const char *cert, const char *key, guint timeout_ms)
{
	GbeEndpoint endpoint = {.endpoint = url,
				.cacert = cacert,
				.cert = cert,
				.key = key,
				.timeout_ms = timeout_ms};
	GbeProbe probe = {0};

	gbe_health_probe(&endpoint, &probe);
	ck_assert_ptr_nonnull(probe.reason);
	ck_assert_msg(strchr(probe.reason, '\n') == NULL, "%s", probe.reason);
	return probe;
}

static GbeProbe
probe_of(const char *url)
{
	return probe_with(url, NULL, "", NULL, 5000);
}

static void
expect(const GbeProbe *probe, GbeHealth health, GbeTri reached, const char *says)
{
	ck_assert_msg(probe->health == health, "%d: %s", (int)probe->health, probe->reason);
	ck_assert_msg(probe->reached == reached, "%d: %s", (int)probe->reached, probe->reason);
	ck_assert_msg(strstr(probe->reason, says) != NULL, "%s", probe->reason);
}

static char *
installed_version(void)
{
	g_autofree char *output = NULL;
	g_auto(GStrv) lines = NULL;

	ck_assert_int_eq(run_program((const char *[]){"etcd", "--version", NULL}, &output), 0);
	lines = g_strsplit(output, "\n", 2);
	return g_strdup(lines[0] + strlen("etcd Version: "));
}

START_TEST(healthy)
{
	g_autofree char *data = root_path("data");
	g_autofree char *version = NULL;
	g_autofree char *slash = NULL;
	GbeProbe probe;
	Etcd etcd;

	if (!have_etcd("healthy"))
		return;
	version = installed_version();
	etcd_start(&etcd, data);
	probe = probe_of(etcd.endpoint);
	expect(&probe, GBE_HEALTH_HEALTHY, GBE_YES, "healthy");
	ck_assert_str_eq(probe.version, version);
	ck_assert(!probe.no_space);
	gbe_probe_clear(&probe);
	ck_assert_ptr_null(probe.reason);
	slash = g_strconcat(etcd.endpoint, "/", NULL);
	probe = probe_of(slash);
	expect(&probe, GBE_HEALTH_HEALTHY, GBE_YES, "healthy");
	gbe_probe_clear(&probe);
	/* Somebody's proxy is not asked. */
	ck_assert(g_setenv("http_proxy", "http://127.0.0.1:9", TRUE));
	probe = probe_of(etcd.endpoint);
	expect(&probe, GBE_HEALTH_HEALTHY, GBE_YES, "healthy");
	gbe_probe_clear(&probe);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(nobody_listens)
{
	g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u", free_port());
	g_autofree char *unix_url = g_strdup_printf("unix://%s/none.sock", root);
	GbeProbe probe = probe_of(url);

	expect(&probe, GBE_HEALTH_UNHEALTHY, GBE_NO, url);
	ck_assert_ptr_null(probe.version);
	gbe_probe_clear(&probe);
	probe = probe_of(unix_url);
	expect(&probe, GBE_HEALTH_UNHEALTHY, GBE_NO, unix_url);
	gbe_probe_clear(&probe);
}
END_TEST

START_TEST(endpoints_that_cannot_be)
{
	static const char *const bad[] = {"",
					  "nonsense://x",
					  "ftp://127.0.0.1/",
					  "http://",
					  "unix://etcd:0",
					  "file:///etc/passwd",
					  "http://no-such-host.invalid:2379"};

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		GbeProbe probe = probe_of(bad[i]);

		expect(&probe, GBE_HEALTH_CANNOT_TELL, GBE_UNKNOWN, "cannot ask etcd");
		gbe_probe_clear(&probe);
	}
}
END_TEST

/* Two of three members that never come: it runs, and has no leader. */
START_TEST(no_leader)
{
	g_autofree char *data = root_path("data");
	GbeProbe probe = {0};
	Etcd etcd;

	if (!have_etcd("no-leader"))
		return;
	etcd_spawn(&etcd, data, NULL, NULL);
	etcd_end(&etcd, SIGKILL);
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
	{
		guint peer = free_port();
		g_autofree char *cluster = g_strdup_printf(
		    "--initial-cluster=default=http://127.0.0.1:%u,b=http://127.0.0.1:1,"
		    "c=http://127.0.0.1:2",
		    peer);
		g_autofree char *listen =
		    g_strdup_printf("--listen-peer-urls=http://127.0.0.1:%u", peer);
		g_autofree char *advertise =
		    g_strdup_printf("--initial-advertise-peer-urls=http://127.0.0.1:%u", peer);
		g_autofree char *metrics_url = g_strdup_printf("http://127.0.0.1:%u", free_port());
		g_autofree char *metrics = g_strconcat("--listen-metrics-urls=", metrics_url, NULL);
		const char *const options[] = {cluster, listen, advertise, metrics, NULL};

		etcd_spawn(&etcd, data, NULL, options);
		for (guint try = 0; try < 100 && probe.reached != GBE_YES; try++) {
			gbe_probe_clear(&probe);
			g_usleep(50 * 1000);
			probe = probe_of(metrics_url);
		}
	}
	expect(&probe, GBE_HEALTH_UNHEALTHY, GBE_YES, "not healthy");
	ck_assert(!probe.no_space);
	gbe_probe_clear(&probe);
	etcd_end(&etcd, SIGKILL);
}
END_TEST

START_TEST(no_space_is_told_apart)
{
	g_autofree char *data = root_path("data");
	g_autofree char *filler = g_malloc0(60 * 1024 + 1);
	const char *const options[] = {"--quota-backend-bytes=65536", NULL};
	GbeProbe probe;
	Etcd etcd;

	if (!have_etcd("no-space-is-told-apart"))
		return;
	memset(filler, 'x', 60 * 1024);
	etcd_spawn(&etcd, data, NULL, options);
	etcd_wait_until_healthy(&etcd);
	for (guint i = 0; i < 3; i++) {
		g_autofree char *endpoints = g_strconcat("--endpoints=", etcd.endpoint, NULL);

		(void)RUN("etcdctl", endpoints, "put", "k", filler);
	}
	probe = probe_of(etcd.endpoint);
	expect(&probe, GBE_HEALTH_UNHEALTHY, GBE_YES, "NOSPACE");
	ck_assert(probe.no_space);
	ck_assert_ptr_nonnull(probe.version);
	gbe_probe_clear(&probe);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(over_a_socket)
{
	g_autofree char *socket_path = root_path("etcd.sock");
	g_autofree char *url = g_strconcat("unix://", socket_path, NULL);
	g_autofree char *data = root_path("data");
	GbeProbe probe = {0};
	Etcd etcd;

	if (!have_etcd("over-a-socket"))
		return;
	/* etcd takes the host part for the file's name, in its working directory. */
	ck_assert_int_eq(chdir(root), 0);
	etcd_spawn(&etcd, data, "unix://etcd.sock:0", NULL);
	socket_path = (g_free(socket_path), root_path("etcd.sock:0"));
	url = (g_free(url), g_strconcat("unix://", socket_path, NULL));
	for (guint try = 0; try < 100 && probe.health != GBE_HEALTH_HEALTHY; try++) {
		gbe_probe_clear(&probe);
		g_usleep(50 * 1000);
		probe = probe_of(url);
	}
	expect(&probe, GBE_HEALTH_HEALTHY, GBE_YES, "healthy");
	ck_assert_ptr_nonnull(probe.version);
	gbe_probe_clear(&probe);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

/* A CA with a server's and a client's certificate, and another CA that signed none of them. */
static const char make_certificates[] =
    "cd $0\n"
    "ca() { openssl req -x509 -newkey rsa:2048 -nodes -keyout $1.key -out $1.crt -days 2 \\\n"
    "	-subj /CN=$1 -addext basicConstraints=critical,CA:TRUE; }\n"
    "cert() { openssl req -newkey rsa:2048 -nodes -keyout $1.key -out $1.csr -subj /CN=$1\n"
    "	printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' >ext\n"
    "	openssl x509 -req -in $1.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \\\n"
    "		-extfile ext -out $1.crt; }\n"
    "{ ca ca; ca other; cert server; cert client; } 2>/dev/null\n";

START_TEST(over_tls)
{
	g_autofree char *data = root_path("data");
	g_autofree char *ca = root_path("ca.crt");
	g_autofree char *other = root_path("other.crt");
	g_autofree char *cert = root_path("client.crt");
	g_autofree char *key = root_path("client.key");
	g_autofree char *ca_option = g_strconcat("--trusted-ca-file=", ca, NULL);
	g_autofree char *cert_option = g_strdup_printf("--cert-file=%s/server.crt", root);
	g_autofree char *key_option = g_strdup_printf("--key-file=%s/server.key", root);
	g_autofree char *url = g_strdup_printf("https://127.0.0.1:%u", free_port());
	const char *const options[] = {ca_option, cert_option, key_option, "--client-cert-auth",
				       NULL};
	GbeProbe probe = {0};
	Etcd etcd;

	if (!have_etcd("over-tls"))
		return;
	ck_assert_int_eq(RUN("bash", "-euc", make_certificates, root), 0);
	etcd_spawn(&etcd, data, url, options);
	for (guint try = 0; try < 100 && probe.health != GBE_HEALTH_HEALTHY; try++) {
		gbe_probe_clear(&probe);
		g_usleep(50 * 1000);
		probe = probe_with(url, ca, cert, key, 5000);
	}
	expect(&probe, GBE_HEALTH_HEALTHY, GBE_YES, "healthy");
	ck_assert_ptr_nonnull(probe.version);
	gbe_probe_clear(&probe);

	/* No certificate of our own; one that is not trusted; the server's is not; none can be read. */
	probe = probe_with(url, ca, NULL, NULL, 5000);
	expect(&probe, GBE_HEALTH_CANNOT_TELL, GBE_YES, "cert=");
	gbe_probe_clear(&probe);
	probe = probe_with(url, other, cert, key, 5000);
	expect(&probe, GBE_HEALTH_CANNOT_TELL, GBE_YES, "cacert=");
	gbe_probe_clear(&probe);
	probe = probe_with(url, "/nonexistent/ca.crt", cert, key, 5000);
	expect(&probe, GBE_HEALTH_CANNOT_TELL, GBE_UNKNOWN, "/nonexistent/ca.crt");
	gbe_probe_clear(&probe);
	/* The right port with the wrong scheme. */
	{
		g_autofree char *plain = g_strconcat("http", url + strlen("https"), NULL);

		probe = probe_of(plain);
		expect(&probe, GBE_HEALTH_CANNOT_TELL, GBE_YES, "endpoint=");
		gbe_probe_clear(&probe);
	}
	etcd_end(&etcd, SIGTERM);
}
END_TEST

/* Answers every connection with the same bytes, and closes it; with none, keeps it open and says nothing. */
static pid_t
serve(const char *bytes, gsize size, char **ret_url)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	*ret_url = g_strdup_printf("http://127.0.0.1:%u", (guint)ntohs(address.sin_port));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_IGN);
		for (;;) {
			char request[4096];
			int fd = accept(listener, NULL, NULL);

			(void)!read(fd, request, sizeof(request));
			if (bytes == NULL)
				continue;
			for (gsize at = 0; at < size;) {
				ssize_t sent = write(fd, bytes + at, size - at);

				if (sent <= 0)
					break;
				at += (gsize)sent;
			}
			(void)shutdown(fd, SHUT_RDWR);
			(void)close(fd);
		}
	}
	(void)close(listener);
	return pid;
}

static void
stop_server(pid_t pid)
{
	int status = 0;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

static void
expect_answer(const char *answer, GbeHealth health, GbeTri reached, const char *says)
{
	g_autofree char *url = NULL;
	pid_t pid = serve(answer, strlen(answer), &url);
	GbeProbe probe = probe_of(url);

	stop_server(pid);
	expect(&probe, health, reached, says);
	gbe_probe_clear(&probe);
}

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define NOT_OK "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n"

START_TEST(what_answers_mean)
{
	expect_answer(OK "{\"health\":\"true\",\"reason\":\"\"}", GBE_HEALTH_HEALTHY, GBE_YES, "");
	expect_answer(OK "{\"health\":true}", GBE_HEALTH_HEALTHY, GBE_YES, "");
	expect_answer(NOT_OK "{\"health\":\"false\",\"reason\":\"RAFT NO LEADER\"}\n",
		      GBE_HEALTH_UNHEALTHY, GBE_YES, "RAFT NO LEADER");
	expect_answer(NOT_OK "{\"health\":false}", GBE_HEALTH_UNHEALTHY, GBE_YES, "not healthy");
	expect_answer(OK "{\"health\":\"false\"}", GBE_HEALTH_UNHEALTHY, GBE_YES, "not healthy");
	expect_answer(NOT_OK "{\"health\":\"false\",\"reason\":\"a\\nb\\u001b\"}",
		      GBE_HEALTH_UNHEALTHY, GBE_YES, "a b ");
	expect_answer(NOT_OK "{\"health\":\"true\"}", GBE_HEALTH_CANNOT_TELL, GBE_YES, "HTTP 503");
	expect_answer(OK "{\"health\":\"maybe\"}", GBE_HEALTH_CANNOT_TELL, GBE_YES, "HTTP 200");
	expect_answer(OK "{\"health\":1}", GBE_HEALTH_CANNOT_TELL, GBE_YES, "HTTP 200");
	expect_answer(OK "{\"health\":\"true\",\"health\":\"true\"}", GBE_HEALTH_CANNOT_TELL,
		      GBE_YES, "HTTP 200");
	expect_answer(OK "<html>hello</html>", GBE_HEALTH_CANNOT_TELL, GBE_YES, "endpoint=");
	expect_answer(OK "", GBE_HEALTH_CANNOT_TELL, GBE_YES, "endpoint=");
	expect_answer(OK "[]", GBE_HEALTH_CANNOT_TELL, GBE_YES, "endpoint=");
	expect_answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", GBE_HEALTH_CANNOT_TELL,
		      GBE_YES, "HTTP 404");
	expect_answer("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
		      GBE_HEALTH_CANNOT_TELL, GBE_YES, "refuses");
	/* Nobody is sent on to somewhere else. */
	expect_answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n"
		      "\r\n",
		      GBE_HEALTH_CANNOT_TELL, GBE_YES, "HTTP 302");
	expect_answer("", GBE_HEALTH_CANNOT_TELL, GBE_YES, "is it https?");
	expect_answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"health\"",
		      GBE_HEALTH_UNHEALTHY, GBE_YES, "broke the connection off");
}
END_TEST

START_TEST(an_answer_has_a_limit)
{
	gsize size = 1024 * 1024;
	g_autofree char *answer = g_malloc(size);
	g_autofree char *url = NULL;
	GbeProbe probe;
	pid_t pid;

	memset(answer, ' ', size);
	memcpy(answer, OK, strlen(OK));
	memcpy(answer + size - 17, "{\"health\":\"true\"}", 17);
	pid = serve(answer, size, &url);
	probe = probe_of(url);
	stop_server(pid);
	expect(&probe, GBE_HEALTH_CANNOT_TELL, GBE_UNKNOWN, "longer");
	gbe_probe_clear(&probe);
}
END_TEST

START_TEST(the_deadline_is_kept)
{
	g_autofree char *url = NULL;
	pid_t pid = serve(NULL, 0, &url);
	gint64 began = g_get_monotonic_time();
	GbeProbe probe = probe_with(url, NULL, NULL, NULL, 300);
	gint64 took = g_get_monotonic_time() - began;
	GbeProbe none = probe_with(url, NULL, NULL, NULL, 0);

	stop_server(pid);
	expect(&probe, GBE_HEALTH_UNHEALTHY, GBE_NO, "does not answer");
	ck_assert_int_ge(took, 290 * 1000);
	ck_assert_int_lt(took, 2000 * 1000);
	expect(&none, GBE_HEALTH_UNHEALTHY, GBE_NO, "no time");
	gbe_probe_clear(&probe);
	gbe_probe_clear(&none);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-health");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, healthy);
	tcase_add_test(files, nobody_listens);
	tcase_add_test(files, endpoints_that_cannot_be);
	tcase_add_test(files, no_leader);
	tcase_add_test(files, no_space_is_told_apart);
	tcase_add_test(files, over_a_socket);
	tcase_add_test(files, over_tls);
	tcase_add_test(files, what_answers_mean);
	tcase_add_test(files, an_answer_has_a_limit);
	tcase_add_test(files, the_deadline_is_kept);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
