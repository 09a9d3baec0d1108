/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/etcd-command.h"
#include "lib/unit.h"

#include <string.h>

#define MOST 8
#define DEFAULT_URLS "http://localhost:2379 http://localhost:2380"

static void
parse(const char *const *arguments, const char *const *environment, GbeEtcdCommand *ret_command)
{
	gbe_etcd_command_parse((char *const *)arguments, (char *const *)environment, "/here",
			       ret_command);
}

/* "data|wal|file|urls|quota" */
static char *
text(const char *const *arguments, const char *const *environment)
{
	g_auto(GbeEtcdCommand) command = {NULL};
	g_autofree char *urls = NULL;

	parse(arguments, environment, &command);
	urls = g_strjoinv(" ", command.listens);
	return g_strdup_printf("%s|%s|%s|%s|%s", command.data_dir,
			       command.wal_dir != NULL ? command.wal_dir : "",
			       command.config_file != NULL ? command.config_file : "", urls,
			       command.has_quota ? "quota" : "");
}

START_TEST(what_is_said)
{
	static const struct {
		const char *arguments[MOST], *environment[MOST], *expected;
	} cases[] = {
	    {{NULL}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    {{"--name=a"}, {NULL}, "/here/a.etcd|||" DEFAULT_URLS "|"},
	    {{NULL}, {"ETCD_NAME=b"}, "/here/b.etcd|||" DEFAULT_URLS "|"},
	    {{"--data-dir=/d"}, {NULL}, "/d|||" DEFAULT_URLS "|"},
	    {{"-data-dir=/d"}, {NULL}, "/d|||" DEFAULT_URLS "|"},
	    {{"--data-dir", "/d"}, {NULL}, "/d|||" DEFAULT_URLS "|"},
	    {{"--data-dir", "//d/../e/./f/"}, {NULL}, "/e/f|||" DEFAULT_URLS "|"},
	    {{"--data-dir=d"}, {NULL}, "/here/d|||" DEFAULT_URLS "|"},
	    {{"--data-dir=/a=b"}, {NULL}, "/a=b|||" DEFAULT_URLS "|"},
	    /* The last one counts, and an argument counts more than a variable. */
	    {{"--data-dir=/d", "--data-dir", "/e"}, {NULL}, "/e|||" DEFAULT_URLS "|"},
	    {{"--data-dir=/d"}, {"ETCD_DATA_DIR=/e"}, "/d|||" DEFAULT_URLS "|"},
	    {{NULL}, {"HOME=/x", "ETCD_DATA_DIR=/e"}, "/e|||" DEFAULT_URLS "|"},
	    {{NULL}, {"ETCD_DATA_DIR="}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    /* Switches have no value; the value of another flag is no flag. */
	    {{"--enable-v2", "--data-dir", "/d"}, {NULL}, "/d|||" DEFAULT_URLS "|"},
	    {{"--logger", "zap", "--data-dir=/d"}, {NULL}, "/d|||" DEFAULT_URLS "|"},
	    {{"--snapshot-count", "-1", "--data-dir=/d"}, {NULL}, "/d|||" DEFAULT_URLS "|"},
	    {{"--name", "--data-dir=/d"}, {NULL}, "/here/--data-dir=/d.etcd|||" DEFAULT_URLS "|"},
	    {{"--data-directory=/d"}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    {{"--data"}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    {{"--data-dir"}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    /* The first argument that is no flag ends the flags. */
	    {{"grpc-proxy", "--data-dir=/d"}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    {{"--", "--data-dir=/d"}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    {{"-", "--data-dir=/d"}, {NULL}, "/here/default.etcd|||" DEFAULT_URLS "|"},
	    {{"--data-dir=/d", "--wal-dir=/w"}, {NULL}, "/d|/w||" DEFAULT_URLS "|"},
	    {{"--config-file", "etcd.conf"},
	     {NULL},
	     "/here/default.etcd||/here/etcd.conf|" DEFAULT_URLS "|"},
	    {{"--data-dir=/d", "--quota-backend-bytes=1"}, {NULL}, "/d|||" DEFAULT_URLS "|quota"},
	    {{"--data-dir=/d"}, {"ETCD_QUOTA_BACKEND_BYTES=1"}, "/d|||" DEFAULT_URLS "|quota"},
	    /* URLs: in any order and spelling. */
	    {{"--data-dir=/d", "--listen-client-urls=https://B:1/,http://a:2, http://a:2"},
	     {"ETCD_LISTEN_PEER_URLS=http://c:3", "ETCD_LISTEN_METRICS_URLS=http://M:4"},
	     "/d|||http://a:2 http://c:3 http://m:4 https://b:1|"},
	    {{"--data-dir=/d", "--listen-client-urls=unix://X",
	      "--listen-peer-urls=", "--listen-client-http-urls=http://h:5"},
	     {NULL},
	     "/d|||http://h:5 unix://X|"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *seen = text(cases[i].arguments, cases[i].environment);

		ck_assert_msg(g_str_equal(seen, cases[i].expected), "case %u: %s", i, seen);
	}
}
END_TEST

START_TEST(the_same_or_another)
{
	static const struct {
		const char *a[MOST], *b[MOST];
		bool same;
	} cases[] = {
	    {{NULL}, {NULL}, true},
	    {{"--data-dir=/d"}, {"--data-dir", "/d/", "--logger=zap"}, true},
	    {{"--data-dir=/d"},
	     {"--data-dir=/d", "--listen-client-urls=http://localhost:2379"},
	     true},
	    {{"--data-dir=/d"}, {"--data-dir=/e"}, false},
	    {{"--data-dir=/d"}, {"--data-dir=/d", "--wal-dir=/w"}, false},
	    {{"--data-dir=/d"}, {"--data-dir=/d", "--listen-peer-urls=http://localhost:9"}, false},
	    {{"--data-dir=/d"}, {"--data-dir=/d", "--listen-metrics-urls=http://h:9"}, false},
	    /* The file may have been rewritten since. */
	    {{"--config-file=/c"}, {"--config-file=/c"}, false},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GbeEtcdCommand) a = {NULL};
		g_auto(GbeEtcdCommand) b = {NULL};

		parse(cases[i].a, NULL, &a);
		parse(cases[i].b, NULL, &b);
		ck_assert_msg(gbe_etcd_command_same(&a, &b) == cases[i].same, "case %u", i);
		ck_assert_msg(gbe_etcd_command_same(&b, &a) == cases[i].same, "case %u", i);
	}
}
END_TEST

START_TEST(what_is_protected)
{
	static const struct {
		const char *conf, *arguments[MOST];
		const char *complaint; /* NULL: no complaint */
	} cases[] = {
	    {"", {"--data-dir=/var/lib/etcd"}, NULL},
	    {"", {"--data-dir=/var/lib/etcd/default"}, NULL},
	    {"", {"--data-dir=/var/lib/etcd/a/b"}, "write to /var/lib/etcd/a/b"},
	    {"", {"--data-dir=/var/lib/etcd2"}, "protected is /var/lib/etcd:"},
	    {"", {"--data-dir=/var/lib"}, "write to /var/lib,"},
	    {"", {NULL}, "write to /here/default.etcd"},
	    {"data-dir=/m\nmember-dir=etcd\n", {"--data-dir=/m/etcd"}, NULL},
	    {"data-dir=/m\nmember-dir=etcd\n", {"--data-dir=/m"}, "protected is /m/etcd:"},
	    {"data-dir=/m\nmember-dir=etcd\n", {"--data-dir=/m/other"}, "protected is /m/etcd:"},
	    {"data-dir=/m\nmember-dir=.\n", {"--data-dir=/m"}, NULL},
	    {"data-dir=/m\nmember-dir=.\n", {"--data-dir=/m/x"}, "protected is /m:"},
	    {"", {"--data-dir=/var/lib/etcd", "--wal-dir=/w"}, "its log to /w"},
	    {"", {"--data-dir=/var/lib/etcd", "--wal-dir=/var/lib/etcd/wal"}, NULL},
	    {"wal-dir=/w\n", {"--data-dir=/var/lib/etcd", "--wal-dir=/w/"}, NULL},
	    {"wal-dir=/w\n", {"--data-dir=/var/lib/etcd", "--wal-dir=/v"}, "protected is /w:"},
	    {"wal-dir=/w\n", {"--data-dir=/var/lib/etcd"}, "protected is /w:"},
	    {"", {"--config-file=/c"}, NULL},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *conf = g_strconcat("[etcd]\n", cases[i].conf, NULL);
		g_autoptr(GbeConfig) config = gbe_config_new();
		g_auto(GbeEtcdCommand) command = {NULL};
		g_autoptr(GError) error = NULL;
		bool ok;

		ck_assert(
		    gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
		parse(cases[i].arguments, NULL, &command);
		ok = gbe_etcd_command_check(&command, config, &error);
		ck_assert_msg(ok == (cases[i].complaint == NULL), "case %u", i);
		if (ok)
			continue;
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED));
		ck_assert_msg(strstr(error->message, cases[i].complaint) != NULL, "case %u: %s", i,
			      error->message);
	}
}
END_TEST

START_TEST(variables)
{
	ck_assert(gbe_etcd_command_knows("ETCD_DATA_DIR"));
	ck_assert(gbe_etcd_command_knows("ETCD_LISTEN_PEER_URLS"));
	ck_assert(!gbe_etcd_command_knows("ETCD_INITIAL_CLUSTER"));
	ck_assert(!gbe_etcd_command_knows("DATA_DIR"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-etcd-command");
	TCase *tcase = tcase_create("etcd-command");

	tcase_add_test(tcase, what_is_said);
	tcase_add_test(tcase, the_same_or_another);
	tcase_add_test(tcase, what_is_protected);
	tcase_add_test(tcase, variables);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
