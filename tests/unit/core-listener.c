/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/listener.h"
#include "lib/unit.h"

#include <string.h>

START_TEST(urls)
{
	static const struct {
		const char *url, *host;
		guint16 port;
	} cases[] = {
	    {"http://127.0.0.1:2379", "127.0.0.1", 2379},
	    {"https://localhost:1", "localhost", 1},
	    {"https://[::1]:2379", "::1", 2379},
	    {"http://:65535", "", 65535},
	    {"http://127.0.0.1", NULL, 0},
	    {"http://127.0.0.1:0", NULL, 0},
	    {"http://127.0.0.1:65536", NULL, 0},
	    {"http://127.0.0.1:+1", NULL, 0},
	    {"127.0.0.1:2379", NULL, 0},
	    {"unix:///run/etcd:2379", NULL, 0},
	    {"unixs://localhost:2379", NULL, 0},
	    {"", NULL, 0},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *host = NULL;
		guint16 port = 0;

		ck_assert_msg(gbe_listen_url_parse(cases[i].url, &host, &port) ==
				  (cases[i].host != NULL),
			      "%s", cases[i].url);
		if (cases[i].host != NULL)
			ck_assert_str_eq(host, cases[i].host);
		ck_assert_uint_eq(port, cases[i].port);
	}
}
END_TEST

/* As this machine's kernel prints it. */
static char *
line(const char *address, const char *state, const char *rest)
{
	return g_strdup_printf("   0: %s 00000000:0000 %s 00000000:00000000 00:00000000 00000000 "
			       "    0        0 %s",
			       address, state, rest);
}

START_TEST(lines)
{
	static const guint8 loopback[] = {127, 0, 0, 1};
	guint32 word;
	g_autofree char *text = NULL;
	g_autofree char *all = NULL;
	g_autofree char *six = NULL;
	GbeListener listener = {.port = 9};

	memcpy(&word, loopback, sizeof(word));
	text = g_strdup_printf("%08X:094B", word);
	all = line(text, "0A", "4711 1 0000000000000000 100 0 0 10 0\n");
	ck_assert(gbe_listener_parse(all, FALSE, &listener));
	ck_assert_uint_eq(listener.port, 2379);
	ck_assert_uint_eq(listener.inode, 4711);
	ck_assert_int_eq(memcmp(listener.address, loopback, sizeof(loopback)), 0);
	ck_assert(!gbe_listener_is_wildcard(&listener));
	six = line("00000000000000000000000000000000:094B", "0A", "18446744073709551615 1\n");
	ck_assert(gbe_listener_parse(six, TRUE, &listener));
	ck_assert(listener.ipv6 && gbe_listener_is_wildcard(&listener));
	ck_assert_uint_eq(listener.inode, G_MAXUINT64);
	ck_assert(!gbe_listener_parse(six, FALSE, &listener));
	ck_assert(!gbe_listener_parse(all, TRUE, &listener));
}
END_TEST

START_TEST(what_is_no_listener)
{
	static const struct {
		const char *address, *state, *rest;
	} cases[] = {
	    {"0100007F:094B", "01", "4711 1"},	 {"0100007F:094B", "0A", "x 1"},
	    {"0100007F:094B", "0A", ""},	 {"0100007F:094G", "0A", "4711 1"},
	    {"0100007G:094B", "0A", "4711 1"},	 {"0100007F094B0", "0A", "4711 1"},
	    {"0100007F:094B", "", "4711 1"},	 {"0100007F:94B", "0A", "4711 1"},
	    {"0100007F:094B", "0A0A", "4711 1"}, {"0100007F:094B", "0A", "-1 1"},
	};
	GbeListener listener = {.port = 9};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = line(cases[i].address, cases[i].state, cases[i].rest);

		ck_assert_msg(!gbe_listener_parse(text, FALSE, &listener), "case %u", i);
	}
	ck_assert(!gbe_listener_parse("", FALSE, &listener));
	ck_assert(!gbe_listener_parse("  sl  local_address rem_address   st tx_queue rx_queue tr "
				      "tm->when retrnsmt   uid  timeout inode",
				      FALSE, &listener));
	ck_assert_uint_eq(listener.port, 9);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-listener");
	TCase *tcase = tcase_create("listener");

	tcase_add_test(tcase, urls);
	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, what_is_no_listener);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
