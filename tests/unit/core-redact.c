/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/redact.h"

#include "lib/unit.h"

#include "base/auto.h"

#define L GBE_REDACTED

static const struct {
	const char *text, *redacted;
} cases[] = {
    {"", ""},
    {"no room in /var/lib/etcd: 12 KiB free", "no room in /var/lib/etcd: 12 KiB free"},
    {"http://127.0.0.1:2379/health", "http://127.0.0.1:2379/health"},
    {"mail me@example.org", "mail me@example.org"},
    {"https://root:pw@h:2379,https://u@i", "https://" L "@h:2379,https://" L "@i"},
    {"https://root:p@w@h/a@b", "https://" L "@h/a@b"},
    {"https://h/a@b", "https://h/a@b"},
    {"password=hunter2", "password=" L},
    {"Password: hunter2 and more", "Password: " L " and more"},
    {"ETCD_ROOT_PASSWORD=\"two words\" x", "ETCD_ROOT_PASSWORD=" L " x"},
    {"{\"client.secret\": \"s\", \"n\": 1}", "{\"client.secret\": " L ", \"n\": 1}"},
    {"--user root:pw get k", "--user " L " get k"},
    {"--password=pw,--x", "--password=" L ",--x"},
    {"rehearse-command=/usr/bin/x --pass=pw --user-pass pw",
     "rehearse-command=/usr/bin/x --pass=" L " --user-pass " L},
    {"DB_PWD=pw secret_key: pw", "DB_PWD=" L " secret_key: " L},
    {"the tests pass", "the tests pass"},
    {"--auth-token pw", "--auth-token " L},
    {"curl -H 'Authorization: Basic Zm9v YmFy' u", "curl -H 'Authorization: " L "' u"},
    {"with Bearer abc.def-ghi.", "with Bearer " L},
    {"the user is etcd", "the user is etcd"},
    {"a token is missing", "a token is missing"},
    {"a token=", "a token="},
    {"aws_secret_access_key = x/y+z a", "aws_secret_access_key = " L " a"},
    {"/etc/greenboot-etcd/access-key: it is not root's",
     "/etc/greenboot-etcd/access-key: it is not root's"},
    {"api_key:x;y", "api_key:" L ";y"},
    {"k\n-----BEGIN EC PRIVATE KEY-----\nAAA\n-----END EC PRIVATE KEY-----\nl", "k\n" L "\nl"},
    {"k -----BEGIN EC PRIVATE KEY-----\nAAA", "k " L},
    {"k -----BEGIN X\nAAA-----END X", "k " L},
    {"Gr\xc3\xb6\xc3\x9f"
     "e://\xff",
     "Gr\xc3\xb6\xc3\x9f"
     "e://\xff"},
};

START_TEST(texts)
{
	g_autofree char *once = gbe_redact(cases[_i].text);
	g_autofree char *twice = gbe_redact(once);

	ck_assert_str_eq(once, cases[_i].redacted);
	ck_assert_str_eq(twice, once);
}
END_TEST

/* Every prefix of every text: no read beyond the end (valgrind, sanitizers), and a redacted text stays as it is. */
START_TEST(beginnings)
{
	for (gsize n = strlen(cases[_i].text); n > 0; n--) {
		g_autofree char *part = g_strndup(cases[_i].text, n);
		g_autofree char *once = gbe_redact(part);
		g_autofree char *twice = gbe_redact(once);

		ck_assert_str_eq(twice, once);
	}
}
END_TEST

/* The message that rejects a wrong address also shows it. */
START_TEST(endpoints)
{
	static const struct {
		const char *url, *shown;
	} urls[] = {
	    {"http://127.0.0.1:2379", "http://127.0.0.1:2379"},
	    {"https://user:pw@h:2379", "https://" L "@h:2379"},
	    {"https://user:p w/#?@x@h", "https://" L "@h"},
	    {"user:pw@h:2379", L "@h:2379"},
	    {"user:p://w@h", L "@h"},
	    {"unix:///run/etcd@1.sock", "unix:///run/etcd@1.sock"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(urls); i++) {
		g_autofree char *shown = gbe_redact_endpoint(urls[i].url);

		ck_assert_str_eq(shown, urls[i].shown);
	}
	ck_assert_ptr_null(gbe_redact_endpoint(NULL));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-redact");
	TCase *tcase = tcase_create("redact");

	tcase_add_loop_test(tcase, texts, 0, G_N_ELEMENTS(cases));
	tcase_add_loop_test(tcase, beginnings, 0, G_N_ELEMENTS(cases));
	tcase_add_test(tcase, endpoints);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
