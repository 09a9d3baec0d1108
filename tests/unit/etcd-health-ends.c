/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Unusual servers at the other end: other protocols, certificates that are no longer valid, and addresses in less
 * usual forms. */
#include "etcd-real.h"

#include "core/health/health.h"
#include "etcd/api/client.h"
#include "etcd/tls/pem.h"
#include "lib/certificates.h"
#include "lib/scripted.h"

#include <sys/un.h>

/* Asks once, with the client's certificate where @url is TLS. */
static void
expect(const char *url, const char *word, const char *says)
{
	g_autofree char *ca = root_path("ca.crt");
	g_autofree char *cert = root_path("client.crt");
	g_autofree char *key = root_path("client.key");
	bool tls = g_str_has_prefix(url, "https:");
	GbeEndpoint endpoint = {url, tls ? ca : NULL, tls ? cert : NULL, tls ? key : NULL, false};
	g_autoptr(GbeHealthFacts) facts = gbe_health_facts_new();
	g_autoptr(GbeHealthReport) report = NULL;
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GbeClient) client = NULL;
	gint64 began = g_get_monotonic_time();

	gbe_health_facts_configure(facts, config);
	g_free(facts->endpoint);
	facts->endpoint = g_strdup(url);
	gbe_health_inquire(&endpoint, began + 2 * G_USEC_PER_SEC, &client, facts);
	ck_assert_int_lt(g_get_monotonic_time() - began, 3 * G_USEC_PER_SEC);
	report = gbe_health_judge(facts);
	ck_assert_msg(strcmp(report->cause, word) == 0 && strstr(report->reason, says) != NULL,
		      "%s: %s: %s", url, report->cause, report->reason);
}

/* A web server that does not know gRPC and its requests, with @certificate of make_certificates(). @alpn is the
 * protocol that it chooses (NULL: no answer). */
static pid_t
web_server(const char *certificate, const char *alpn, char **ret_url)
{
	static const char program[] =
	    "import http.server, ssl, sys\n"
	    "port, path, alpn = int(sys.argv[1]), sys.argv[2], sys.argv[3:]\n"
	    "context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
	    "context.load_cert_chain(path + '.crt', path + '.key')\n"
	    "if alpn: context.set_alpn_protocols(alpn)\n"
	    "handler = http.server.BaseHTTPRequestHandler\n"
	    "handler.protocol_version = 'HTTP/1.1'\n"
	    "server = http.server.HTTPServer(('127.0.0.1', port), handler)\n"
	    "server.socket = context.wrap_socket(server.socket, server_side=True)\n"
	    "server.serve_forever()\n";
	g_autofree char *port = g_strdup_printf("%u", free_port());
	g_autofree char *path = root_path(certificate);
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int fd = 0; fd < 3; fd++)
			(void)dup2(null, fd);
		(void)execlp("python3", "python3", "-c", program, port, path, alpn, NULL);
		_exit(127);
	}
	*ret_url = g_strconcat("https://127.0.0.1:", port, NULL);
	for (guint try = 0;
	     RUN("bash", "-c", "exec 2>/dev/null 3<>/dev/tcp/127.0.0.1/$0", port) != 0; try++) {
		ck_assert_uint_lt(try, 250);
		g_usleep(20 * 1000);
	}
	return pid;
}

START_TEST(a_tls_server_without_etcd)
{
	static const char *const protocols[] = {"http/1.1", "spdy/3", NULL};

	make_certificates(root);
	for (guint i = 0; i < G_N_ELEMENTS(protocols); i++) {
		g_autofree char *url = NULL;
		pid_t pid = web_server("server", protocols[i], &url);

		expect(url, "not-etcd", "no gRPC");
		stop_server(pid);
	}
}
END_TEST

START_TEST(a_server_whose_certificate_has_expired)
{
	g_autofree char *url = NULL;
	pid_t pid;

	make_certificates(root);
	ck_assert_int_eq(
	    RUN("bash", "-euc",
		"cd $0; cp server.key late.key; openssl x509 -req -in server.csr -CA ca.crt "
		"-CAkey ca.key -CAcreateserial -days 0 -extfile ext -out late.crt 2>/dev/null; "
		"sleep 1.1",
		root),
	    0);
	pid = web_server("late", NULL, &url);
	expect(url, "no-trust", "expired");
	stop_server(pid);
}
END_TEST

START_TEST(an_ipv6_literal)
{
	g_autofree char *data = root_path("data");
	g_autofree char *url = g_strdup_printf("http://[::1]:%u", free_port());
	Etcd etcd;

	if (!have_etcd_of("an-ipv6-literal", _i))
		return;
	if (RUN("test", "-e", "/proc/sys/net/ipv6") != 0) {
		gbe_unit_skip("an-ipv6-literal", "optional: the kernel has no IPv6");
		return;
	}
	expect(url, "down", url);
	etcd_spawn(&etcd, data, url, NULL);
	etcd_wait_until_healthy(&etcd);
	expect(url, "healthy", "healthy");
	etcd_end(&etcd, SIGTERM);
	/* The bracket is not closed; the interface does not exist. */
	expect("http://[::1:2379", "bad-endpoint", "");
	expect("http://[fe80::1%25none]:2379", "down", "");
}
END_TEST

/* The kernel's limit is 107 bytes. The error says so, and no shorter path is used. */
START_TEST(a_socket_whose_path_is_long)
{
	g_autofree char *name = g_strnfill(sizeof(((struct sockaddr_un *)0)->sun_path), 's');
	g_autofree char *path = root_path(name);
	g_autofree char *url = g_strconcat("unix://", path, NULL);

	expect(url, "bad-endpoint", "too long");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-health-ends");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, a_tls_server_without_etcd);
	tcase_add_test(files, a_server_whose_certificate_has_expired);
	tcase_add_loop_test(files, an_ipv6_literal, 0, N_ETCDS);
	tcase_add_test(files, a_socket_whose_path_is_long);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
