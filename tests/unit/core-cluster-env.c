/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The variables of a member: where etcd listens, what it advertises, and what no file of variables can have. */
#include "lib/unit.h"

#include "base/error.h"
#include "core/units/cluster-env.h"

#include <string.h>

static void
check_line(const GbeClusterEnv *env, const char *line)
{
	g_autofree char *text = gbe_cluster_env(env, NULL);
	g_auto(GStrv) lines = NULL;

	ck_assert_ptr_nonnull(text);
	lines = g_strsplit(text, "\n", -1);
	ck_assert_msg(g_strv_contains((const char *const *)lines, line), "%s is not in %s", line,
		      text);
}

START_TEST(addresses)
{
	GbeClusterEnv env = {.name = "south",
			     .peer_url = "https://192.0.2.7:2380",
			     .client_url = "https://192.0.2.7:2379",
			     .initial_cluster = "south=https://192.0.2.7:2380",
			     .token = "site"};

	check_line(&env, "ETCD_NAME=south");
	check_line(&env, "ETCD_LISTEN_PEER_URLS=https://192.0.2.7:2380");
	check_line(&env, "ETCD_INITIAL_ADVERTISE_PEER_URLS=https://192.0.2.7:2380");
	check_line(&env, "ETCD_LISTEN_CLIENT_URLS=https://127.0.0.1:2379,https://192.0.2.7:2379");
	check_line(&env, "ETCD_ADVERTISE_CLIENT_URLS=https://192.0.2.7:2379");
	check_line(&env, "ETCD_INITIAL_CLUSTER=south=https://192.0.2.7:2380");
	check_line(&env, "ETCD_INITIAL_CLUSTER_STATE=new");
	check_line(&env, "ETCD_INITIAL_CLUSTER_TOKEN=site");
	check_line(&env, "ETCD_CLIENT_CERT_AUTH=true");
	check_line(&env, "ETCD_PEER_CLIENT_CERT_AUTH=true");
	/* etcd binds to addresses only. */
	env.peer_url = "https://south.example:2380";
	env.client_url = "https://south.example:2379";
	env.token = NULL;
	check_line(&env, "ETCD_LISTEN_PEER_URLS=https://0.0.0.0:2380");
	check_line(&env, "ETCD_INITIAL_ADVERTISE_PEER_URLS=https://south.example:2380");
	check_line(&env, "ETCD_LISTEN_CLIENT_URLS=https://0.0.0.0:2379");
	check_line(&env, "ETCD_INITIAL_CLUSTER_STATE=existing");
	env.client_url = "https://[fd00::7]:2379";
	check_line(&env, "ETCD_LISTEN_CLIENT_URLS=https://127.0.0.1:2379,https://[fd00::7]:2379");
	env.client_url = "https://127.0.0.1:2379";
	check_line(&env, "ETCD_LISTEN_CLIENT_URLS=https://127.0.0.1:2379");
}
END_TEST

START_TEST(refused)
{
	static const char *const urls[] = {
	    "",
	    "192.0.2.7:2380",
	    "http://192.0.2.7:2380",
	    "https://192.0.2.7",
	    "https://192.0.2.7:2380/path",
	    "https://192.0.2.7:2380,https://192.0.2.8:2380",
	    "https://192.0.2.7:2380\nETCD_FORCE_NEW_CLUSTER=true",
	    "https://a b:2380",
	    "https://:2380",
	    "https://192.0.2.7:0",
	    "https://192.0.2.7:2380?a\nETCD_FORCE_NEW_CLUSTER=true",
	    "https://192.0.2.7:2380#a",
	    "https://user@192.0.2.7:2380",
	};
	static const char *const names[] = {"", "a b", "a,b", "a=b", "a\nb", "\"a\"", "$a"};
	GbeClusterEnv env = {.name = "south",
			     .peer_url = "https://192.0.2.7:2380",
			     .client_url = "https://192.0.2.7:2379",
			     .initial_cluster = ""};

	for (guint i = 0; i < G_N_ELEMENTS(urls); i++) {
		g_autoptr(GError) error = NULL;

		env.peer_url = urls[i];
		ck_assert_msg(gbe_cluster_env(&env, &error) == NULL, "taken: %s", urls[i]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
	}
	env.peer_url = "https://192.0.2.7:2380";
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		env.name = names[i];
		ck_assert_msg(gbe_cluster_env(&env, NULL) == NULL, "taken: %s", names[i]);
	}
}
END_TEST

/* Names from the cluster's list of members are checked like any untrusted input. */
START_TEST(other_members)
{
	static const char *const members[] = {
	    "x\nETCD_FORCE_NEW_CLUSTER=true,south=https://192.0.2.7:2380",
	    "north=https://192.0.2.8:2380\nETCD_FORCE_NEW_CLUSTER=true",
	    "north=http://192.0.2.8:2380",
	    "north=https://192.0.2.8:2380,",
	    "north",
	    "=https://192.0.2.8:2380",
	    "a b=https://192.0.2.8:2380",
	};
	GbeClusterEnv env = {.name = "south",
			     .peer_url = "https://192.0.2.7:2380",
			     .client_url = "https://192.0.2.7:2379"};

	for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
		g_autoptr(GError) error = NULL;

		env.initial_cluster = members[i];
		ck_assert_msg(gbe_cluster_env(&env, &error) == NULL, "taken: %s", members[i]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
		ck_assert_ptr_null(strchr(error->message, '\n'));
	}
	{
		g_autoptr(GError) error = NULL;

		env.initial_cluster = "south=https://192.0.2.7:2380,a\nb=https://192.0.2.8:2380";
		ck_assert_ptr_null(gbe_cluster_env(&env, &error));
		ck_assert_ptr_nonnull(strstr(error->message, "\"a\\nb=https://192.0.2.8:2380\""));
	}
	env.initial_cluster = "north=https://192.0.2.8:2380,south=https://192.0.2.7:2380";
	check_line(&env, "ETCD_INITIAL_CLUSTER=north=https://192.0.2.8:2380,"
			 "south=https://192.0.2.7:2380");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-cluster-env");
	TCase *tcase = tcase_create("cluster-env");

	tcase_add_test(tcase, addresses);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, other_members);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
