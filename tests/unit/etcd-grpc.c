/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gRPC against a server that misbehaves as no real etcd does on demand, and its framing from memory. */
#include "etcd-real.h"

#include "etcd/api/client.h"
#include "etcd/api/grpc.h"
#include "lib/scripted.h"

/* header{1, 2, 3, 4}, version "3.6.1" */
#define STATUS                                                                                     \
	"\x0a\x08\x08\x01\x10\x02\x18\x03\x20\x04\x12\x05"                                         \
	"3.6.1"
#define STATUS_SIZE (sizeof(STATUS) - 1)

/* ---- from memory ---- */

typedef struct {
	GString *seen; /* messages, each followed by ';' */
	guint stop_at;
	guint count;
} Seen;

static bool
take(const guint8 *message, gsize size, gpointer data)
{
	Seen *seen = data;

	(void)g_string_append_len(seen->seen, (const char *)message, (gssize)size);
	(void)g_string_append_c(seen->seen, ';');
	return ++seen->count != seen->stop_at;
}

/* In pieces of @piece bytes each. */
static char *
messages_of(const char *bytes, gsize size, gsize piece, guint stop_at, const char *expect_bad)
{
	g_auto(GbeGrpcAnswer) answer = {0};
	Seen seen = {g_string_new(NULL), stop_at, 0};
	bool ok = true;

	gbe_grpc_answer_init(&answer, 16, take, &seen);
	for (gsize at = 0; ok && at < size; at += piece) {
		gsize part = MIN(piece, size - at);
		g_autofree guint8 *exact = g_memdup2(bytes + at, part);

		ok = gbe_grpc_answer_push(exact, part, &answer);
	}
	ck_assert(ok == (answer.bad == NULL && !answer.stopped));
	if (expect_bad == NULL) {
		ck_assert_ptr_null(answer.bad);
	} else {
		ck_assert_ptr_nonnull(answer.bad);
		ck_assert_msg(strstr(answer.bad, expect_bad) != NULL, "%s", answer.bad);
		ck_assert(!gbe_grpc_answer_push((const guint8 *)"", 0, &answer));
	}
	if (stop_at == 0 && ok && !gbe_grpc_answer_is_complete(&answer))
		(void)g_string_append(seen.seen, "...");
	return g_string_free(seen.seen, false);
}

#define HEAD(size) "\0\0\0\0" size

START_TEST(frames)
{
	static const struct {
		const char *bytes;
		gsize size;
		guint stop_at;
		const char *messages, *bad;
	} cases[] = {
	    {"", 0, 0, "", NULL},
	    {HEAD("\0"), 5, 0, ";", NULL},
	    {HEAD("\3") "abc", 8, 0, "abc;", NULL},
	    {HEAD("\3") "abc" HEAD("\0") HEAD("\1") "d", 19, 0, "abc;;d;", NULL},
	    {HEAD("\3") "ab", 7, 0, "...", NULL},
	    {HEAD("\3") "abc" HEAD("\0"), 12, 0, "abc;...", NULL},
	    {HEAD("\3") "abc" HEAD("\1") "d", 14, 1, "abc;", NULL},
	    {HEAD("\x10") "0123456789abcdef", 21, 0, "0123456789abcdef;", NULL},
	    {HEAD("\x11") "0123456789abcdefg", 22, 0, "", "longer"},
	    {"\0\xff\xff\xff\xff", 5, 0, "", "longer"},
	    {"\1\0\0\0\1x", 6, 0, "", "compressed"},
	    {HEAD("\1") "x<html>", 12, 0, "x;", "compressed"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		for (gsize piece = 1; piece <= 22; piece++) {
			g_autofree char *messages = messages_of(
			    cases[i].bytes, cases[i].size, piece, cases[i].stop_at, cases[i].bad);

			ck_assert_str_eq(messages, cases[i].messages);
		}
	}
}
END_TEST

START_TEST(headers)
{
	static const struct {
		const char *line;
		gint status;
		const char *message;
		bool is_grpc;
	} cases[] = {
	    {"grpc-status: 0\r\n", 0, NULL, false},
	    {"Grpc-Status:14", 14, NULL, false},
	    {"grpc-status: \r\n", G_MAXINT, NULL, false},
	    {"grpc-status: -1\r\n", G_MAXINT, NULL, false},
	    {"grpc-status: 4294967296\r\n", G_MAXINT, NULL, false},
	    {"grpc-status", -1, NULL, false},
	    {"grpc-status-details-bin: 0", -1, NULL, false},
	    {"grpc-message: no%20leader%0A%e2%82%ac\r\n", -1, "no leader\n\xe2\x82\xac", false},
	    {"grpc-message: 100%, %4, %zz %", -1, "100%, %4, %zz %", false},
	    {"grpc-message:", -1, "", false},
	    {"content-type: application/grpc+proto", -1, NULL, true},
	    {"Content-Type:Application/gRPC\r\n", -1, NULL, true},
	    {"content-type: application/json", -1, NULL, false},
	    {"content-type: app", -1, NULL, false},
	    {"", -1, NULL, false},
	    {"\r\n", -1, NULL, false},
	    {":", -1, NULL, false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GbeGrpcAnswer) answer = {0};
		gsize size = strlen(cases[i].line);
		g_autofree char *exact = g_memdup2(cases[i].line, size);

		gbe_grpc_answer_init(&answer, 16, take, NULL);
		gbe_grpc_answer_header(exact, size, &answer);
		ck_assert_msg(answer.status == cases[i].status, "%s: %d", cases[i].line,
			      answer.status);
		ck_assert_msg(g_strcmp0(answer.status_message, cases[i].message) == 0, "%s: %s",
			      cases[i].line, answer.status_message);
		ck_assert_msg(answer.is_grpc == cases[i].is_grpc, "%s", cases[i].line);
	}
}
END_TEST

/* ---- over a connection ---- */

static gint64 took_ms;

/* Asks for the status. took_ms gets the time that it took. */
static GbeReach
ask(const char *url, guint timeout_ms, GbeCallFailure *failure)
{
	GbeEndpoint endpoint = {.endpoint = url};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {{0}};
	gint64 began = g_get_monotonic_time();

	failure->reach = GBE_REACH_ANSWERED;
	if (gbe_client_open(&endpoint, &client, failure) &&
	    gbe_client_status(client, began + timeout_ms * 1000, &status, failure)) {
		ck_assert_str_eq(status.version, "3.6.1");
		ck_assert_int_eq(status.header.revision, 3);
		gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	}
	took_ms = (g_get_monotonic_time() - began) / 1000;
	ck_assert(failure->reach == GBE_REACH_ANSWERED || strchr(failure->why, '\n') == NULL);
	return failure->reach;
}

static void
expect(const Script *script, guint timeout_ms, GbeReach reach, const char *why)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autofree char *url = NULL;
	pid_t pid = scripted_start(script, 1, &url);
	GbeReach got = ask(url, timeout_ms, &failure);

	stop_server(pid);
	ck_assert_msg(got == reach, "%d: %s", (int)got, failure.why);
	ck_assert_msg(why == NULL || strstr(failure.why, why) != NULL, "%s", failure.why);
	ck_assert_int_lt(took_ms, timeout_ms + 1000);
}

#define ANSWER(act)                                                                                \
	&(const Script)                                                                            \
	{                                                                                          \
		act, STATUS, STATUS_SIZE, NULL, NULL                                               \
	}
#define DENY(status, text)                                                                         \
	&(const Script)                                                                            \
	{                                                                                          \
		SCRIPT_ANSWER, NULL, 0, status, text                                               \
	}
#define SAY(bytes)                                                                                 \
	&(const Script)                                                                            \
	{                                                                                          \
		SCRIPT_ANSWER, bytes, sizeof(bytes) - 1, NULL, NULL                                \
	}

START_TEST(answers)
{
	expect(ANSWER(SCRIPT_ANSWER), 5000, GBE_REACH_ANSWERED, NULL);
	expect(DENY("14", "etcdserver:%20no%20leader"), 5000, GBE_REACH_DENIED,
	       "etcdserver: no leader");
	expect(DENY("14", "etcdserver: request timed out"), 5000, GBE_REACH_LATE, "timed out");
	expect(DENY("2", "context deadline exceeded"), 5000, GBE_REACH_LATE, "deadline");
	expect(DENY("4", ""), 5000, GBE_REACH_LATE, "status 4");
	expect(DENY("12", "unknown%0Amethod%01"), 5000, GBE_REACH_DENIED, "unknown method");
	expect(DENY("nonsense", ""), 5000, GBE_REACH_DENIED, "status");
	expect(DENY("3", "etcdserver: user name is empty"), 5000, GBE_REACH_NO_USER,
	       "refused: etcd asks for a user (etcdserver: user name is empty); set user=");
	expect(DENY("2", "auth: user name is empty"), 5000, GBE_REACH_NO_USER, "refused: etcd");
	expect(DENY("7", ""), 5000, GBE_REACH_NO_USER, "refused: etcd asks for a user");
	expect(DENY("16", "etcdserver: invalid auth token"), 5000, GBE_REACH_NO_USER, "CN=root");
	expect(DENY("2", "open /var/db.tmp: permission denied"), 5000, GBE_REACH_DENIED, "/var/db");
	/* Success without a message. */
	expect(DENY(NULL, NULL), 5000, GBE_REACH_DROPPED, "no answer");
}
END_TEST

START_TEST(broken_answers)
{
	expect(ANSWER(SCRIPT_CUT), 5000, GBE_REACH_DROPPED, NULL);
	expect(ANSWER(SCRIPT_RESET), 5000, GBE_REACH_DROPPED, NULL);
	expect(ANSWER(SCRIPT_NO_STATUS), 5000, GBE_REACH_DROPPED, "no end");
	expect(ANSWER(SCRIPT_FLOOD), 5000, GBE_REACH_FOREIGN, "longer");
	ck_assert_int_lt(took_ms, 4000);
	expect(ANSWER(SCRIPT_TEXT), 5000, GBE_REACH_FOREIGN, "no gRPC");
	expect(ANSWER(SCRIPT_GARBAGE), 5000, GBE_REACH_FOREIGN, NULL);
	ck_assert_int_lt(took_ms, 4000);
	expect(SAY("\x0a\x7f"), 5000, GBE_REACH_FOREIGN, "StatusResponse");
	expect(SAY("\x12\x02\xff\xfe"), 5000, GBE_REACH_FOREIGN, "StatusResponse");
	expect(SAY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 5000, GBE_REACH_FOREIGN,
	       "StatusResponse");
}
END_TEST

START_TEST(the_deadline_is_kept)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autofree char *url = NULL;
	pid_t pid;

	expect(ANSWER(SCRIPT_SILENT), 300, GBE_REACH_LATE, NULL);
	ck_assert_int_ge(took_ms, 290);
	expect(ANSWER(SCRIPT_DRIP), 300, GBE_REACH_LATE, NULL);
	ck_assert_int_ge(took_ms, 290);
	expect(ANSWER(SCRIPT_EMPTY), 300, GBE_REACH_LATE, NULL);
	ck_assert_int_lt(took_ms, 2000);
	/* It accepts connections, but does not speak HTTP. */
	pid = serve(NULL, 0, &url);
	ck_assert_int_eq(ask(url, 300, &failure), GBE_REACH_LATE);
	ck_assert_int_ge(took_ms, 290);
	ck_assert_int_lt(took_ms, 2000);
	ck_assert_int_eq(ask(url, 0, &failure), GBE_REACH_LATE);
	stop_server(pid);
}
END_TEST

static void
expect_foreign(const char *answer)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autofree char *url = NULL;
	pid_t pid = serve(answer, strlen(answer), &url);
	GbeReach got = ask(url, 5000, &failure);

	stop_server(pid);
	ck_assert_msg(got == GBE_REACH_FOREIGN, "%s: %d: %s", answer, (int)got, failure.why);
	ck_assert_int_lt(took_ms, 4000);
}

START_TEST(another_server)
{
	expect_foreign("");
	expect_foreign("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
	expect_foreign("SSH-2.0-OpenSSH_9.2\r\n");
	expect_foreign("\x15\x03\x01\x00\x02\x02\x16");
}
END_TEST

START_TEST(endpoints_that_cannot_be)
{
	static const char *const bad[] = {"",
					  "nonsense://x",
					  "ftp://127.0.0.1/",
					  "http://",
					  "http://[::1",
					  "http://[not:an:address]:2379",
					  "unix://etcd:0",
					  "file:///etc/passwd",
					  "http://no-such-host.invalid:2379"};
	g_autofree char *name = g_strnfill(200, 's');
	g_autofree char *socket = g_strconcat("unix:///run/", name, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_auto(GbeCallFailure) failure = {0};
		GbeReach got = ask(bad[i], 5000, &failure);

		ck_assert_msg(got == GBE_REACH_LOCAL, "%s: %d: %s", bad[i], (int)got, failure.why);
	}
	{
		g_auto(GbeCallFailure) failure = {0};

		ck_assert_int_eq(ask(socket, 5000, &failure), GBE_REACH_LOCAL);
	}
}
END_TEST

START_TEST(no_listener)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u", free_port());
	g_autofree char *url6 = g_strdup_printf("http://[::1]:%u/", free_port());
	g_autofree char *socket = g_strdup_printf("unix://%s/none.sock", root);

	ck_assert_int_eq(ask(url, 5000, &failure), GBE_REACH_DOWN);
	ck_assert_int_eq(ask(url6, 5000, &failure), GBE_REACH_DOWN);
	ck_assert_int_eq(ask(socket, 5000, &failure), GBE_REACH_DOWN);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-grpc");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, frames);
	tcase_add_test(files, headers);
	tcase_add_test(files, answers);
	tcase_add_test(files, broken_answers);
	tcase_add_test(files, the_deadline_is_kept);
	tcase_add_test(files, another_server);
	tcase_add_test(files, endpoints_that_cannot_be);
	tcase_add_test(files, no_listener);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
