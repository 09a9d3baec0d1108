/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/installed.h"

#define UNITS "usr/lib/systemd/system/"
#define OWN "etc/systemd/system/"
#define SERVER "[Service]\nExecStart=/usr/bin/k3s server\n"

/* The names, in order; with several, "!" before those that are not enabled. */
static void
ck_installed(const char *expected)
{
	GbeInstalled installed[GBE_SYSTEMS_MAX];
	guint count = gbe_installed_look(root_fd, installed);
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < count; i++)
		g_string_append_printf(names, "%s%s%s", i > 0 ? " " : "",
				       count > 1 && !installed[i].enabled ? "!" : "",
				       installed[i].system->name);
	ck_assert_str_eq(names->str, expected);
}

START_TEST(each)
{
	ck_installed("");
	root_write(UNITS "microshift.service", "[Service]\n");
	ck_installed("MicroShift");
	root_remove(UNITS "microshift.service");
	root_write(UNITS "etcd.service", "[Service]\nEnvironmentFile=-/etc/etcd/etcd.conf\n");
	ck_installed("etcd");
	root_write(UNITS "etcd.service",
		   "[Service]\nEnvironment=ETCD_DATA_DIR=/var/lib/etcd/default\n");
	ck_installed("Debian's etcd");
	root_write("etc/default/etcd", "ETCD_DATA_DIR=/var/lib/etcd/mine\n");
	ck_installed("etcd");
	root_remove(UNITS "etcd.service");
	root_write("usr/local/lib/systemd/system/container-etcd.service", "[Service]\n");
	ck_installed("etcd in a container");
}
END_TEST

START_TEST(a_quadlet)
{
	root_write("usr/share/containers/systemd/etcd.container", "[Container]\n");
	ck_installed("etcd");
	root_link(OWN "etcd.service", "/dev/null");
	ck_installed("");
}
END_TEST

START_TEST(masked)
{
	root_write(UNITS "microshift.service", "[Service]\n");
	root_link(OWN "microshift.service", "/dev/null");
	ck_installed("");
	root_remove(OWN "microshift.service");
	root_write("run/systemd/system/microshift.service", "");
	ck_installed("");
	root_write(OWN "microshift.service", "[Service]\n");
	ck_installed("MicroShift");
}
END_TEST

/* Each place where k3s is told to have an etcd; the unit alone does not tell. */
START_TEST(of_k3s)
{
	static const struct {
		const char *path, *text;
	} places[] = {
	    {OWN "k3s.service.d/override.conf", "[Service]\nEnvironment=K3S_CLUSTER_INIT=true\n"},
	    {"run/systemd/system/k3s.service.d/a.conf", "ExecStart=/usr/bin/k3s --cluster-init\n"},
	    {OWN "k3s.service.env", "K3S_CLUSTER_INIT='true'\n"},
	    {"etc/default/k3s", "K3S_URL=https://first:6443\n"},
	    {"etc/sysconfig/k3s", "K3S_CLUSTER_INIT=1\n"},
	    {"etc/rancher/k3s/config.yaml", "cluster-init: true\n"},
	    {"etc/rancher/k3s/config.yaml.d/10-etcd.yaml", "cluster-init: true\n"},
	};

	root_write(OWN "k3s.service", SERVER);
	ck_installed("");
	for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
		root_write(places[i].path, places[i].text);
		ck_installed("k3s");
		root_remove(places[i].path);
	}
	/* An agent has a unit of its own, or is told so. */
	root_write("etc/rancher/k3s/config.yaml", "server: https://first:6443\n");
	ck_installed("k3s");
	root_write(OWN "k3s.service", "[Service]\nExecStart=/usr/bin/k3s agent\n");
	ck_installed("");
	root_remove(OWN "k3s.service");
	root_write(OWN "k3s-agent.service", SERVER);
	ck_installed("");
}
END_TEST

/* The upper unit hides what the lower one says. */
START_TEST(hidden)
{
	root_write(UNITS "k3s.service",
		   "[Service]\nExecStart=/usr/bin/k3s server --cluster-init\n");
	ck_installed("k3s");
	root_write(OWN "k3s.service", SERVER);
	ck_installed("");
}
END_TEST

START_TEST(several)
{
	root_write(UNITS "microshift.service", "[Service]\n");
	root_write(UNITS "etcd.service", "[Service]\n");
	ck_installed("!MicroShift !etcd");
	root_link(OWN "multi-user.target.wants/microshift.service", "../microshift.service");
	ck_installed("MicroShift !etcd");
	root_link(OWN "multi-user.target.wants/etcd.service", "../etcd.service");
	ck_installed("MicroShift etcd");
	/* A generator enables what it makes. */
	root_remove(UNITS "etcd.service");
	root_remove(OWN "multi-user.target.wants/etcd.service");
	root_write("etc/containers/systemd/etcd.container", "[Container]\n");
	ck_installed("MicroShift etcd");
}
END_TEST

/* No link leads out of the root: outside, there is such a file. */
START_TEST(stays_below)
{
	g_autofree char *outside = g_build_filename(scratch, "outside", NULL);

	ck_assert(g_file_set_contents(outside, "K3S_CLUSTER_INIT=true\n", -1, NULL));
	root_write(OWN "k3s.service", SERVER);
	root_link("etc/default/k3s", outside);
	root_link("etc/rancher/k3s/config.yaml", "../../../../../outside");
	ck_installed("");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-installed");
	TCase *tcase = tcase_create("installed");

	tcase_add_checked_fixture(tcase, root_setup, root_teardown);
	tcase_add_test(tcase, each);
	tcase_add_test(tcase, a_quadlet);
	tcase_add_test(tcase, masked);
	tcase_add_test(tcase, of_k3s);
	tcase_add_test(tcase, hidden);
	tcase_add_test(tcase, several);
	tcase_add_test(tcase, stays_below);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
