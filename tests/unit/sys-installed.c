/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/installed.h"

#define UNITS "usr/lib/systemd/system/"
#define OWN "etc/systemd/system/"
#define SERVER "[Service]\nExecStart=/usr/bin/k3s server\n"

/* The names, in order; with several, "!" before those that are not enabled. "?" before those that were seen, and are
 * not protected without configuration. */
static void
ck_installed(const char *expected)
{
	GbeInstalled installed[GBE_SYSTEMS_MAX];
	guint count = gbe_installed_look(root_fd, installed);
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < count; i++)
		g_string_append_printf(names, "%s%s%s%s", i > 0 ? " " : "",
				       count > 1 && !installed[i].enabled ? "!" : "",
				       installed[i].why != NULL ? "?" : "",
				       installed[i].system->name);
	gbe_installed_clear(installed, count);
	ck_assert_str_eq(names->str, expected);
}

/* The one system that was seen is not protected, and @part is in the reason. */
static void
ck_why(const char *part)
{
	GbeInstalled installed[GBE_SYSTEMS_MAX];
	guint count = gbe_installed_look(root_fd, installed);

	ck_assert_uint_eq(count, 1);
	ck_assert_ptr_nonnull(installed[0].why);
	ck_assert_msg(strstr(installed[0].why, part) != NULL, "%s", installed[0].why);
	gbe_installed_clear(installed, count);
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

/* A k3s without an etcd to protect: its datastore is named, and an etcd that lost its option. */
START_TEST(k3s_without_etcd)
{
	const char *text = NULL, *hint = NULL;

	ck_assert(!gbe_installed_without_etcd(root_fd, &text, &hint));
	root_write(OWN "k3s.service", SERVER);
	ck_assert(gbe_installed_without_etcd(root_fd, &text, &hint));
	ck_assert_ptr_nonnull(strstr(text, "k3s.service keeps its data in SQLite"));
	ck_assert_ptr_nonnull(strstr(hint, "--cluster-init"));
	root_write("var/lib/rancher/k3s/server/db/etcd/member/snap/db", "");
	ck_assert(gbe_installed_without_etcd(root_fd, &text, &hint));
	ck_assert_ptr_nonnull(strstr(text, "cluster-init is not set any more"));
	ck_assert_ptr_nonnull(strstr(hint, "cluster-init: true"));
	root_write("etc/rancher/k3s/config.yaml", "datastore-endpoint: mysql://here\n");
	ck_assert(gbe_installed_without_etcd(root_fd, &text, &hint));
	ck_assert_ptr_nonnull(strstr(text, "datastore-endpoint"));
	root_write("etc/rancher/k3s/config.yaml", "disable-etcd: true\n");
	ck_assert(!gbe_installed_without_etcd(root_fd, &text, &hint));
	root_remove("etc/rancher/k3s/config.yaml");
	root_write(OWN "k3s.service", "[Service]\nExecStart=/usr/bin/k3s agent\n");
	ck_assert(!gbe_installed_without_etcd(root_fd, &text, &hint));
}
END_TEST

#define CONFIG "etc/rancher/k3s/config.yaml"

/* Of k3s's configuration, what people write for "begin a cluster with etcd". */
START_TEST(yaml_of_k3s)
{
	static const struct {
		const char *text, *expected;
	} files[] = {
	    {"cluster-init: true\n", "k3s"},
	    {"\"cluster-init\": true\n", "k3s"},
	    {"'cluster-init': 'true'\n", "k3s"},
	    {"cluster-init : true\n", "k3s"},
	    {"cluster-init:   yes # the first one\n", "k3s"},
	    {"{cluster-init: true, tls-san: [a, b]}\n", "k3s"},
	    {"---\n# the first one\ncluster-init: On\n", "k3s"},
	    {"? cluster-init\n: true\n", "k3s"},
	    {"x: &it true\ncluster-init: *it\n", "k3s"},
	    {"x: &all {cluster-init: true}\n<<: *all\n", "k3s"},
	    {"cluster-init: 1\n", "k3s"},
	    {"\xef\xbb\xbf"
	     "cluster-init: true\n",
	     "k3s"},
	    {"server: \"https://first:6443\"\n", "k3s"},
	    {"cluster-init: true\ndata-dir: /var/lib/rancher/k3s\n", "k3s"},
	    {"cluster-init: false\n", ""},
	    {"cluster-init: False\n", ""},
	    {"cluster-init: no\n", ""},
	    {"cluster-init: true\ncluster-init: off\n", ""},
	    {"#cluster-init: true\n", ""},
	    {"node-label:\n- cluster-init: true\n", ""},
	    {"node-name: |\n  x\n  cluster-init: true\n", ""},
	    {"token: 'a: b\n  cluster-init: true'\n", ""},
	    {"---\ntoken: x\n---\ncluster-init: true\n", ""},
	    {"cluster-init: true\ndatastore-endpoint: mysql://db\n", ""},
	    {"cluster-init: true\n\"disable-etcd\" : True\n", ""},
	    {"", ""},
	    {"cluster-init: true\n\"data-dir\": /data/k3s\n", "?k3s"},
	    {"cluster-init: true\nd: /data/k3s\n", "?k3s"},
	    {"cluster-init: maybe\n", "?k3s"},
	    {"cluster-init: true\n\tdata-dir: /data\n", "?k3s"},
	    {"cluster-init: true\n}\n", "?k3s"},
	    {"cluster-init: true\nx: *nowhere\n", "?k3s"},
	    {"cluster-init: true\nx: &x [*x]\n", "?k3s"},
	};

	root_write(OWN "k3s.service", SERVER);
	root_write(CONFIG, files[_i].text);
	ck_installed(files[_i].expected);
	/* In the directory it says the same. */
	root_remove(CONFIG);
	root_write(CONFIG ".d/10-etcd.YML", files[_i].text);
	ck_installed(files[_i].expected);
}
END_TEST

/* The last file has the last word, the command line is above all files, and other names are no files of k3s. */
START_TEST(order_of_k3s)
{
	root_write(OWN "k3s.service", SERVER);
	root_write(CONFIG ".d/20.yaml", "cluster-init: false\n");
	root_write(CONFIG ".d/10.yaml", "cluster-init: true\n");
	ck_installed("");
	root_write(CONFIG ".d/30.yaml~", "cluster-init: true\n");
	ck_installed("");
	root_write(CONFIG ".d/30.yaml", "cluster-init: true\n");
	ck_installed("k3s");
	root_write(OWN "k3s.service",
		   "[Service]\nExecStart=/usr/bin/k3s server --cluster-init=false\n");
	ck_installed("");
	root_write(OWN "k3s.service", "[Service]\nExecStart=/usr/bin/k3s server -c /etc/mine\n");
	ck_installed("");
	root_write("etc/mine", "cluster-init: true\n");
	ck_installed("k3s");
	root_write("etc/default/k3s", "K3S_CONFIG_FILE=https://host/config\n");
	root_write(OWN "k3s.service", SERVER);
	ck_why("https://host/config");
}
END_TEST

START_TEST(named)
{
	root_write(OWN "k3s.service", SERVER);
	root_write(CONFIG, "a: b\ncluster-init: [\n");
	ck_why(CONFIG ":");
	root_write(CONFIG, "cluster-init: true\ndata-dir: /data\n");
	ck_why("/data/server");
	root_write(OWN "k3s.service", "[Service]\nExecStart=/opt/start-k3s\n");
	ck_installed("?k3s");
	root_write(CONFIG, "{}\n");
	ck_why("does not start k3s itself");
	root_write(CONFIG, "cluster-init: true\n");
	ck_installed("k3s");
	root_write(OWN "k3s.service", "[Service]\nExecStart=/usr/bin/k3s agent\n");
	root_remove(CONFIG);
	ck_installed("");
}
END_TEST

#define WANTS OWN "multi-user.target.wants/"

/* Systems that are known, and not protected. */
START_TEST(unsupported)
{
	root_write(UNITS "rke2-server.service", "[Service]\nExecStart=/usr/bin/rke2 server\n");
	ck_installed("");
	root_link(WANTS "rke2-server.service", "/usr/lib/systemd/system/rke2-server.service");
	ck_why("not supported: its etcd is a static pod");
	root_write("etc/rancher/rke2/config.yaml", "\"datastore-endpoint\" : mysql://db\n");
	ck_installed("");
	root_remove(WANTS "rke2-server.service");

	root_write(UNITS "kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n");
	root_link(WANTS "kubelet.service", "/usr/lib/systemd/system/kubelet.service");
	ck_installed("");
	root_write("etc/kubernetes/manifests/etcd.yaml", "kind: Pod\n");
	ck_why("not supported: kubeadm's etcd");
	root_remove(WANTS "kubelet.service");

	root_write(OWN "k0scontroller.service",
		   "[Service]\nExecStart=/usr/bin/k0s controller --config=/etc/k0s/mine.yaml\n");
	root_link(WANTS "k0scontroller.service", "/etc/systemd/system/k0scontroller.service");
	ck_why("not supported:");
	root_write("etc/k0s/mine.yaml", "spec:\n  storage: {type: kine}\n");
	ck_installed("");
	root_write("etc/k0s/mine.yaml", "spec:\n  storage:\n    type: \"etcd\"\n");
	root_write(OWN "k0scontroller.service",
		   "[Service]\nExecStart=/usr/bin/k0s controller --single\n");
	ck_installed("");
}
END_TEST

/* etcd's own file: where there is one, it alone counts. */
START_TEST(yaml_of_etcd)
{
	root_write(UNITS "etcd.service",
		   "[Service]\nEnvironment=ETCD_DATA_DIR=/var/lib/etcd/default\n"
		   "ExecStart=/usr/bin/etcd --config-file /etc/etcd.yml\n");
	root_write("etc/etcd.yml", "name: 'x'\ndata-dir : /var/lib/etcd/mine\n");
	ck_installed("etcd");
	root_write("etc/etcd.yml", "{\"data-dir\": \"/var/lib/etcd/default\"}\n");
	ck_installed("Debian's etcd");
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
	tcase_add_test(tcase, k3s_without_etcd);
	tcase_add_loop_test(tcase, yaml_of_k3s, 0, 33);
	tcase_add_test(tcase, order_of_k3s);
	tcase_add_test(tcase, named);
	tcase_add_test(tcase, unsupported);
	tcase_add_test(tcase, yaml_of_etcd);
	tcase_add_test(tcase, hidden);
	tcase_add_test(tcase, several);
	tcase_add_test(tcase, stays_below);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
