/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "core/config/lists.h"
#include "core/config/systems.h"

#include "lib/unit.h"

static const GbeSystem *
find(const char *name)
{
	for (const GbeSystem *system = gbe_systems; system->name != NULL; system++)
		if (g_str_equal(system->name, name))
			return system;
	ck_abort_msg("no system %s", name);
	return NULL;
}

static void
collect(const char *group, const char *key, const char *value, const char *origin, gpointer data)
{
	g_string_append_printf(data, "%s.%s=%s%s\n", group, key, value,
			       origin != NULL ? " set" : "");
}

static char *
print(const GbeConfig *config)
{
	GString *text = g_string_new(NULL);

	gbe_config_foreach(config, collect, text);
	return g_string_free(text, false);
}

static const struct {
	const char *system, *file;
} examples[] = {
    {"MicroShift", "microshift.conf"},
    {"k3s", "k3s.conf"},
    {"Debian's etcd", "debian.conf"},
    {"etcd in a container", "container.conf"},
    {"etcd", "plain.conf"},
};

/* Detected or copied from data/examples: the same keys have the same values. */
START_TEST(as_the_example)
{
	g_autoptr(GbeConfig) detected = gbe_config_new(), read = gbe_config_new();
	GbeInstalled installed = {.system = find(examples[_i].system)};
	g_autofree char *path = g_build_filename(g_getenv("GBE_TEST_DATA"), "../../data/examples",
						 examples[_i].file, NULL);
	g_autofree char *bytes = NULL, *one = NULL, *other = NULL;
	gsize size;

	gbe_config_detect(detected, &installed, 1);
	ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
	ck_assert(gbe_config_merge(read, path, bytes, size, true, NULL, NULL, NULL));
	one = print(detected);
	other = print(read);
	ck_assert_str_eq(one, other);
	ck_assert(gbe_config_check(detected, NULL));
	ck_assert(!gbe_config_wants_detection(detected));
}
END_TEST

#define K3S(arguments) "[Service]\nExecStart=/usr/local/bin/k3s \\\n    " arguments "\n"

/* @why: part of the reason why it is not protected without configuration; NULL: it is. */
static const struct {
	const char *unit, *variables;
	bool etcd;
	const char *why;
} servers[] = {
    {K3S("server"), "", false},
    {K3S("server \\\n\t'--cluster-init' \\\n"), "", true},
    {K3S("server \\\n# not this: --cluster-init\n"), "", false},
    {K3S("server --cluster-init=true --disable=traefik"), "", true},
    {K3S("server -cluster-init"), "", true},
    {K3S("server --cluster-init=false"), "", false},
    {K3S("server --cluster-init=F"), "", false},
    {K3S("server --cluster-init --cluster-init=false"), "", false},
    {K3S("server --cluster-init=maybe"), "", true, "cluster-init"},
    {K3S("agent --server https://first:6443"), "", false},
    {K3S("--debug agent -s https://first:6443"), "", false},
    {K3S("server --server https://first:6443"), "", true},
    {K3S("server -s https://first:6443"), "", true},
    {K3S("server --cluster-init --datastore-endpoint=mysql://db"), "", false},
    {K3S("server --cluster-init --datastore-endpoint="), "", true},
    {K3S("server --cluster-init --data-dir /data/k3s"), "", true, "/data/k3s/server"},
    {K3S("server --cluster-init --data-dir=/data/k3s"), "", true, "/data/k3s/server"},
    {K3S("server --cluster-init -d /data/k3s"), "", true, "/data/k3s/server"},
    {K3S("server -d=/data/k3s --cluster-init"), "", true, "/data/k3s/server"},
    {K3S("server --cluster-init -d /var/lib/rancher/k3s/"), "", true},
    {K3S("server --cluster-init"), "K3S_DATA_DIR=/data/k3s\n", true, "/data/k3s/server"},
    {K3S("server -d /data/k3s"), "", false},
    {"ExecStartPre=/bin/test -d /data\n" K3S("server --cluster-init"), "", true},
    {K3S("server --server=https://first:6443 --disable-etcd"), "", false},
    {K3S("server --server=https://first:6443 --disable-etcd=false"), "", true},
    {K3S("server --cluster-init-not"), "", false},
    {K3S("server --node-name --cluster-init"), "", true},
    {K3S("server"), "K3S_CLUSTER_INIT='true'\n", true},
    {K3S("server --cluster-init=false"), "K3S_CLUSTER_INIT=true\n", false},
    {K3S("server"), "# K3S_CLUSTER_INIT=true\n", false},
    {K3S("server"), "K3S_URL=https://first:6443\n", true},
    {K3S("agent"), "K3S_URL=https://first:6443\n", false},
    {K3S("server") "Environment=\"K3S_CLUSTER_INIT=1\"\n", "", true},
    {K3S("server") "Environment=A=b 'K3S_CLUSTER_INIT=1'\nEnvironment=\n", "", false},
    {K3S("server --cluster-init") "ExecStart=\nExecStart=/bin/k3s server\n", "", false},
    {"ExecStart = /usr/bin/nice -n 5 /bin/k3s server --cluster-init\n", "", true},
    {"ExecStart=/bin/sh -c 'exec /bin/k3s server --cluster-init'\n", "", true},
    {"ExecStart=-/bin/k3s server $K3S_ARGS\n", "K3S_ARGS='--cluster-init -d /k'\n", true, "/k"},
    {"ExecStart=/bin/k3s ${ROLE} --cluster-init\n", "ROLE=agent\n", false},
    {"", "", false},
};

START_TEST(k3s_with_etcd)
{
	g_auto(GbeTold) told = {NULL, NULL};
	g_autofree char *why = NULL;

	gbe_told_read(servers[_i].unit, servers[_i].variables, "k3s", &told);
	ck_assert_msg(find("k3s")->is_it(&told, &why) == servers[_i].etcd, "%s", servers[_i].unit);
	ck_assert_int_eq(why != NULL, servers[_i].why != NULL);
	if (why != NULL)
		ck_assert_msg(strstr(why, servers[_i].why) != NULL, "%s", why);
}
END_TEST

static const struct {
	const char *unit, *variables;
	bool debian;
} units[] = {
    {"[Service]\nEnvironment=ETCD_DATA_DIR=/var/lib/etcd/default\n", "", true},
    {"Environment=ETCD_DATA_DIR=/var/lib/etcd/default\n", "# ETCD_DATA_DIR=\"/data\"\n", true},
    {"Environment=ETCD_DATA_DIR=/var/lib/etcd/default\n", "ETCD_DATA_DIR=\"/var/lib/etcd/mine\"\n",
     false},
    {"Environment=ETCD_DATA_DIR=/var/lib/etcd/default\nExecStart=etcd --data-dir=/d\n", "", false},
    {"EnvironmentFile=-/etc/etcd/etcd.conf\nExecStart=/usr/bin/etcd\n", "", false},
};

START_TEST(of_debian)
{
	g_auto(GbeTold) told = {NULL, NULL};
	g_autofree char *why = NULL;

	gbe_told_read(units[_i].unit, units[_i].variables, "etcd", &told);
	ck_assert_msg(find("Debian's etcd")->is_it(&told, &why) == units[_i].debian, "%s",
		      units[_i].unit);
	ck_assert_ptr_null(why);
}
END_TEST

/* A system that was seen and not understood is not chosen, and no question. */
START_TEST(not_chosen)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	char why[] = "its data is in /data";
	const GbeInstalled installed[] = {{find("k3s"), true, why}, {find("etcd"), false, NULL}};

	gbe_config_detect(config, installed, 1);
	ck_assert_uint_eq(g_hash_table_size(config->origins), 0);
	gbe_config_detect(config, installed, 2);
	ck_assert_ptr_null(config->ambiguous);
	ck_assert_str_eq(config->etcd.service, "etcd.service");
}
END_TEST

/* Of @enabled, a digit a system, the chosen one; NULL: a person is asked, or nothing is there. */
static const struct {
	const char *enabled, *service;
} choices[] = {
    {"", NULL},	  {"0", "microshift.service"},	{"1", "microshift.service"},
    {"00", NULL}, {"10", "microshift.service"}, {"01", "k3s.service"},
    {"11", NULL}, {"010", "k3s.service"},	{"000", NULL},
};

START_TEST(chooses)
{
	static const char *const names[] = {"MicroShift", "k3s", "etcd"};
	g_autoptr(GbeConfig) config = gbe_config_new();
	GbeInstalled installed[G_N_ELEMENTS(names)] = {{NULL}};
	const char *enabled = choices[_i].enabled;
	guint count = (guint)strlen(enabled);

	for (guint i = 0; i < count; i++)
		installed[i] = (GbeInstalled){find(names[i]), enabled[i] == '1', NULL};
	gbe_config_detect(config, installed, count);
	ck_assert_int_eq(config->ambiguous != NULL, count > 1 && choices[_i].service == NULL);
	if (choices[_i].service != NULL)
		ck_assert_str_eq(config->etcd.service, choices[_i].service);
	else
		ck_assert_uint_eq(g_hash_table_size(config->origins), 0);
	for (guint i = 0; config->ambiguous != NULL && i < count; i++)
		ck_assert_msg(strstr(config->ambiguous, names[i]) != NULL, "%s", config->ambiguous);
}
END_TEST

/* Certificates of our own, and a cluster: below what files say, above what a system's settings say. */
START_TEST(of_our_own)
{
	static const char ours[] = "[etcd]\nendpoint=https://10.0.0.7:2379\ncacert=/etc/ca.crt\n";
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GbeConfig) configured = gbe_config_new();
	GbeInstalled installed[] = {{.enabled = true}};

	for (const GbeSystem *system = gbe_systems; system->name != NULL; system++)
		if (g_str_equal(system->name, "etcd"))
			installed[0].system = system;
	gbe_config_detect(config, installed, 1);
	ck_assert_str_eq(config->etcd.endpoint, "http://127.0.0.1:2379");
	gbe_config_detect_pki(config);
	ck_assert_ptr_null(config->etcd.cert);
	ck_assert_str_eq(config->certs.directories, GBE_PKI_LIVE);
	gbe_config_detect_cluster(config, "ETCD_NAME=south\n");
	gbe_config_detect_pki(config);
	ck_assert_str_eq(config->etcd.endpoint, "https://127.0.0.1:2379");
	ck_assert_str_eq(config->etcd.cert, GBE_PKI_LIVE "/client.crt");
	ck_assert_str_eq(g_hash_table_lookup(config->origins, "etcd.endpoint"),
			 "detected: cluster");
	gbe_config_detect_cluster(config, "ETCD_ADVERTISE_CLIENT_URLS=https://south:12379\n");
	ck_assert_str_eq(config->etcd.endpoint, "https://127.0.0.1:12379");

	ck_assert(gbe_config_merge(configured, "test", ours, strlen(ours), true, NULL, NULL, NULL));
	gbe_config_detect_cluster(configured, "");
	gbe_config_detect_pki(configured);
	ck_assert_str_eq(configured->etcd.endpoint, "https://10.0.0.7:2379");
	ck_assert_str_eq(configured->etcd.cacert, "/etc/ca.crt");
	ck_assert_ptr_null(configured->etcd.cert);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-systems");
	TCase *tcase = tcase_create("systems");

	tcase_add_loop_test(tcase, as_the_example, 0, G_N_ELEMENTS(examples));
	tcase_add_loop_test(tcase, k3s_with_etcd, 0, G_N_ELEMENTS(servers));
	tcase_add_loop_test(tcase, of_debian, 0, G_N_ELEMENTS(units));
	tcase_add_test(tcase, not_chosen);
	tcase_add_loop_test(tcase, chooses, 0, G_N_ELEMENTS(choices));
	tcase_add_test(tcase, of_our_own);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
