/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/dropin.h"

#include "core/unit-name.h"
#include "lib/unit.h"

#include <string.h>

#define HEAD "# Written by greenboot-etcd-generator from the configuration.\n"
#define MOUNTS(name) "Wants=" name "\nAfter=" name "\n"

START_TEST(mount_units)
{
	/* The names that `systemd-escape --path --suffix=mount` prints. */
	static const struct {
		const char *path, *unit;
	} cases[] = {
	    {"/", "-.mount"},
	    {"//", "-.mount"},
	    {"/srv", "srv.mount"},
	    {"/srv/", "srv.mount"},
	    {"//srv//backups/", "srv-backups.mount"},
	    {"/srv/my data", "srv-my\\x20data.mount"},
	    {"/srv/a-b", "srv-a\\x2db.mount"},
	    {"/.hidden/.too", "\\x2ehidden-.too.mount"},
	    {"/a:b_c.d", "a:b_c.d.mount"},
	    {"/\xc3\xa4", "\\xc3\\xa4.mount"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *unit = gbe_mount_unit(cases[i].path);

		ck_assert_str_eq(unit, cases[i].unit);
	}
}
END_TEST

START_TEST(quotes)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
	    {"", "\"\""},	   {"/srv/a", "\"/srv/a\""},	   {"/my data", "\"/my data\""},
	    {"/50%", "\"/50%%\""}, {"a\"b\\c", "\"a\\\"b\\\\c\""},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *word = gbe_unit_quote(cases[i].text);

		ck_assert_str_eq(word, cases[i].word);
	}
}
END_TEST

static GbeConfig *
configured(const char *conf)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GError) error = NULL;

	ck_assert_msg(
	    gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, &error), "%s",
	    error != NULL ? error->message : "");
	return g_steal_pointer(&config);
}

typedef struct {
	const char *unit;
	char *text;
	guint count;
} Wanted;

static bool
keep(gpointer data, const char *unit, const char *text, GError **error G_GNUC_UNUSED)
{
	Wanted *wanted = data;

	if (g_str_equal(wanted->unit, unit)) {
		wanted->text = g_strdup(text);
		wanted->count++;
	}
	return true;
}

/* The drop-in of @unit without @follow's symlinks. NULL: the unit has no drop-in. */
static char *
dropin_through(const GbeConfig *config, const char *unit, GbeFollow *follow)
{
	Wanted wanted = {.unit = unit};

	ck_assert(gbe_dropins(config, follow, keep, &wanted, NULL));
	ck_assert_uint_le(wanted.count, 1);
	return wanted.text;
}

static char *
dropin(const GbeConfig *config, const char *unit)
{
	return dropin_through(config, unit, NULL);
}

static char *
paths(const char *conf)
{
	g_autoptr(GbeConfig) config = configured(conf);

	return dropin(config, "greenboot-etcd-prerun.service");
}

START_TEST(the_default)
{
	g_autofree char *text = paths("");

	ck_assert_str_eq(text, HEAD "[Unit]\n"
				    "RequiresMountsFor=\"/var/lib/etcd\"\n"
				    "[Service]\n"
				    "ReadWritePaths=\"-/var\"\n");
}
END_TEST

/* A grant is a mount. One at the data directory or its parent would prevent a rename between the data and the
 * directories next to it. */
START_TEST(grants_what_lies_below_the_root)
{
	static const struct {
		const char *data_dir, *grant;
	} cases[] = {
	    {"/var/lib/rancher/k3s/server", "\"-/var\""},
	    {"/data/etcd", "\"-/data\""},
	    {"/data/etcd/", "\"-/data\""},
	    {"//data//etcd", "\"-/data\""},
	    {"/etcd", "\"-/\""},
	    {"/etcd/", "\"-/\""},
	    {"/my data/etcd", "\"-/my data\""},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *conf = g_strdup_printf("[etcd]\ndata-dir=%s\n", cases[i].data_dir);
		g_autofree char *text = paths(conf);
		g_autofree char *line = g_strdup_printf("\nReadWritePaths=%s\n", cases[i].grant);

		ck_assert_msg(strstr(text, line) != NULL, "%s: %s", cases[i].data_dir, text);
	}
}
END_TEST

START_TEST(the_store_is_wished_for)
{
	g_autoptr(GbeConfig) config = configured("[backup]\ndirectory=/mnt/usb-1/etcd\n");
	g_autofree char *text = dropin(config, "greenboot-etcd-finalize.service");

	ck_assert_ptr_nonnull(strstr(text, "\nRequiresMountsFor=\"/var/lib/etcd\"\n"
					   "Wants=mnt-usb\\x2d1-etcd.mount\n"
					   "After=mnt-usb\\x2d1-etcd.mount\n"
					   "Wants=mnt-usb\\x2d1.mount\n"
					   "After=mnt-usb\\x2d1.mount\n"
					   "Wants=mnt.mount\n"
					   "After=mnt.mount\n"
					   "Before=etcd.service\n"
					   "[Service]\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nReadWritePaths=\"-/mnt\"\n"));
}
END_TEST

START_TEST(what_the_sandbox_hides)
{
	g_autofree char *home = paths("[etcd]\ndata-dir=/var/home/etcd/data\n");
	g_autofree char *tmp = paths("[etcd]\ndata-dir=/var/tmp/etcd\n");
	g_autofree char *like = paths("[etcd]\ndata-dir=/var/homes/etcd\n");

	ck_assert_ptr_nonnull(strstr(home, "\nProtectHome=no\n"));
	ck_assert_ptr_nonnull(strstr(tmp, "\nPrivateTmp=no\n"));
	ck_assert_ptr_null(strstr(like, "=no\n"));
}
END_TEST

/* A WAL elsewhere is also locked. */
START_TEST(the_wal)
{
	g_autofree char *text = paths("[etcd]\nwal-dir=/fast/wal\n");

	ck_assert_ptr_nonnull(strstr(text, "\nReadWritePaths=\"-/fast\"\n"));
}
END_TEST

/* No mount and no unit: it looks at what is there, and may write its file. */
START_TEST(the_monitor)
{
	const char *conf = "[etcd]\ndata-dir=/data/etcd\n[health]\nmonitor=90s\n"
			   "[metrics]\ntextfile=/var/home/node/etcd.prom\n"
			   "[certs]\ndirectories=/etc/pki /tmp/pki\n";
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autofree char *without = dropin(config, config->etcd.service);
	g_autofree char *service = NULL;
	g_autofree char *timer = NULL;

	ck_assert_ptr_nonnull(strstr(without, " greenboot-etcd-monitor.timer "));
	ck_assert(gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
	service = dropin(config, "greenboot-etcd-monitor.service");
	timer = dropin(config, "greenboot-etcd-monitor.timer");
	ck_assert_str_eq(service, HEAD "[Service]\n"
				       "ReadWritePaths=\"-/data/etcd/.greenboot-etcd\"\n"
				       "ReadWritePaths=\"-/data/.greenboot-etcd\"\n"
				       "ReadWritePaths=\"-/.greenboot-etcd\"\n"
				       "ReadWritePaths=\"-/var/home/node\"\n"
				       "ProtectHome=no\n"
				       "PrivateTmp=no\n");
	ck_assert_str_eq(timer, HEAD "[Timer]\n"
				     "OnActiveSec=\nOnActiveSec=90s\n"
				     "OnUnitActiveSec=90s\n");
	g_free(without);
	config->health.monitor = 0;
	without = dropin(config, config->etcd.service);
	ck_assert_ptr_null(strstr(without, "monitor"));
}
END_TEST

/* The units may speak to this machine in any case. */
START_TEST(where_etcd_answers)
{
	static const struct {
		const char *endpoint, *allowed;
	} cases[] = {
	    {"http://127.0.0.1:2379", NULL},
	    {"https://localhost:2379", NULL},
	    {"http://[::1]:2379", NULL},
	    {"unix:///run/etcd.sock", NULL},
	    {"https://10.1.2.3:2379", "10.1.2.3"},
	    {"https://[fd00::7]:2379", "fd00::7"},
	    {"https://[fe80::1%25eth0]:2379", "fe80::1"},
	    {"https://etcd.example:2379", "any"},
	    {"https://127.example:2379", "any"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeConfig) config = gbe_config_new();
		g_autofree char *conf = g_strdup_printf("[etcd]\nendpoint=%s\n", cases[i].endpoint);
		g_autofree char *line = g_strdup_printf("\nIPAddressAllow=%s\n", cases[i].allowed);
		g_autofree char *green = NULL;
		g_autofree char *monitor = NULL;
		g_autofree char *others = NULL;

		ck_assert(
		    gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
		green = dropin(config, "greenboot-etcd-green.service");
		monitor = dropin(config, "greenboot-etcd-monitor.service");
		others = dropin(config, "greenboot-etcd-prerun.service");
		ck_assert_ptr_null(strstr(others, "IPAddress"));
		if (cases[i].allowed == NULL) {
			ck_assert_ptr_null(strstr(green, "IPAddress"));
			ck_assert_ptr_null(strstr(monitor, "IPAddress"));
		} else {
			ck_assert_msg(g_str_has_suffix(green, line), "%s", green);
			ck_assert_msg(g_str_has_suffix(monitor, line), "%s", monitor);
		}
	}
}
END_TEST

/* It writes manifests, and nothing of the data: a configured store is the only writable path. */
START_TEST(the_scrub)
{
	const char *conf = "[etcd]\ndata-dir=/var/home/etcd\nwal-dir=/tmp/wal\n"
			   "[backup]\ndirectory=/mnt/usb/back up\n";
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autofree char *before = dropin(config, "greenboot-etcd-scrub.service");
	g_autofree char *after = NULL;

	ck_assert_ptr_nonnull(strstr(before, "\n[Service]\n"
					     "ReadWritePaths=\"-/var/lib/etcd/.greenboot-etcd\"\n"
					     "ReadWritePaths=\"-/var/lib/.greenboot-etcd\"\n"
					     "ReadWritePaths=\"-/var/.greenboot-etcd\"\n"
					     "ReadWritePaths=\"-/.greenboot-etcd\"\n"));
	ck_assert(gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
	after = dropin(config, "greenboot-etcd-scrub.service");
	ck_assert_ptr_nonnull(strstr(after, "\nRequiresMountsFor=\"/var/home/etcd\"\n"
					    "Wants=mnt-usb-back\\x20up.mount\n"));
	ck_assert_ptr_nonnull(strstr(after, "\n[Service]\nProtectHome=no\nPrivateTmp=no\n"
					    "ReadWritePaths=\"-/mnt/usb/back up\"\n"));
	ck_assert_ptr_null(strstr(after, ".greenboot-etcd\""));
}
END_TEST

/* It stops with the service, and starts with it where it is enabled. */
START_TEST(the_defragmentation)
{
	const char *conf = "[etcd]\nservice=k3s.service\ndata-dir=/data/etcd\n"
			   "[defrag]\ninterval=1h\n";
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autofree char *etcd = NULL;
	g_autofree char *service = NULL;
	g_autofree char *timer = NULL;

	ck_assert(gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
	etcd = dropin(config, config->etcd.service);
	service = dropin(config, "greenboot-etcd-defrag.service");
	timer = dropin(config, "greenboot-etcd-defrag.timer");
	ck_assert_ptr_nonnull(strstr(etcd, " greenboot-etcd-defrag.timer "));
	ck_assert_str_eq(service, HEAD "[Unit]\nBindsTo=k3s.service\nAfter=k3s.service\n");
	ck_assert_str_eq(timer, HEAD "[Unit]\nBindsTo=k3s.service\nAfter=k3s.service\n"
				     "[Timer]\nOnActiveSec=\nOnActiveSec=0s\n"
				     "OnUnitActiveSec=3600s\n");
	g_free(timer);
	config->defrag.at_start = false;
	timer = dropin(config, "greenboot-etcd-defrag.timer");
	ck_assert_ptr_nonnull(strstr(timer, "\nOnActiveSec=3600s\n"));
	g_free(etcd);
	config->defrag.enabled = false;
	etcd = dropin(config, config->etcd.service);
	ck_assert_ptr_null(strstr(etcd, "defrag"));
}
END_TEST

START_TEST(a_scope)
{
	const char *conf = "[etcd]\nservice=microshift.service\n";
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autofree char *without = dropin(config, config->etcd.service);
	g_autofree char *scope = NULL;
	g_autofree char *service = NULL;
	g_autofree char *start = NULL;

	ck_assert_ptr_null(gbe_dropin_scope_of("etcd.service"));
	ck_assert_ptr_nonnull(strstr(without, "\nRequires=greenboot-etcd-prerun.service\n"));
	ck_assert(gbe_config_merge(config, "test", conf, strlen(conf), true, NULL, NULL, NULL));
	service = dropin(config, config->etcd.service);
	start = dropin(config, "greenboot-etcd-start.target");
	scope = dropin(config, "microshift-etcd.scope");
	ck_assert_str_eq(gbe_dropin_scope_of("microshift.service"), "microshift-etcd.scope");
	ck_assert_ptr_nonnull(strstr(service, "\nRequires=greenboot-etcd-start.target\n"
					      "After=greenboot-etcd-prerun.service\n"));
	ck_assert_ptr_nonnull(strstr(start, "\n[Unit]\nPartOf=microshift.service\n"));
	ck_assert_ptr_nonnull(strstr(scope, "\nAfter=greenboot-etcd-prerun.service "
					    "greenboot-etcd-finalize.service\n"));
}
END_TEST

START_TEST(the_use_beyond_the_limit)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autofree char *etcd = dropin(config, config->etcd.service);
	g_autofree char *timer = NULL;

	ck_assert_ptr_nonnull(strstr(etcd, " greenboot-etcd-used.timer "));
	config->restore.trial_limit = 90;
	timer = dropin(config, "greenboot-etcd-used.timer");
	ck_assert_str_eq(timer, HEAD "[Timer]\nOnActiveSec=\nOnActiveSec=90s\n"
				     "OnUnitActiveSec=90s\n");
}
END_TEST

/* The units of each configuration. */
START_TEST(what_leaves_the_device)
{
	static const struct {
		const char *conf;
		bool push, send, prove, requests;
	} cases[] = {
	    {"", false, false, false, false},
	    /* A schedule and no store: nothing is pushed. */
	    {"[store]\nschedule=daily\n", false, false, false, false},
	    {"[store]\ndirectory=/srv/s\n", false, false, false, true},
	    {"[store]\ndirectory=/srv/s\nschedule=daily\n", true, true, true, true},
	    {"[store]\ndirectory=/srv/s\nschedule=daily\nprove=\n", true, true, false, true},
	    {"[store]\ndirectory=/srv/s\nschedule=daily\nrequests=no\n", true, true, true, false},
	    /* A push by hand may have left one in the queue. */
	    {"[store]\nurl=https://h/b\n", false, true, true, false},
	    {"[store]\nurl=https://h/b\nprove=\n", false, true, false, false},
	    {"[store]\nurl=https://h/b\nschedule=daily\n", true, true, true, false},
	    {"[store]\nurl=https://h/b\nschedule=daily\nprove=\n", true, true, false, false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeConfig) config = configured(cases[i].conf);
		g_autofree char *etcd = dropin(config, config->etcd.service);
		g_autofree char *push = dropin(config, "greenboot-etcd-push.service");
		g_autofree char *send = dropin(config, "greenboot-etcd-send.service");
		g_autofree char *prove = dropin(config, "greenboot-etcd-prove.service");
		g_autofree char *requests = dropin(config, "greenboot-etcd-requests.service");

		ck_assert_msg((push != NULL) == cases[i].push, "%s", cases[i].conf);
		ck_assert_msg((send != NULL) == cases[i].send, "%s", cases[i].conf);
		ck_assert_msg((prove != NULL) == cases[i].prove, "%s", cases[i].conf);
		ck_assert_msg((requests != NULL) == cases[i].requests, "%s", cases[i].conf);
		/* etcd's service wants these and no others. */
		ck_assert_int_eq(strstr(etcd, " greenboot-etcd-push.timer") != NULL, cases[i].push);
		ck_assert_int_eq(strstr(etcd, " greenboot-etcd-send.service") != NULL,
				 cases[i].send);
		ck_assert_int_eq(strstr(etcd, " greenboot-etcd-send.timer") != NULL, cases[i].send);
		ck_assert_int_eq(strstr(etcd, " greenboot-etcd-prove.timer") != NULL,
				 cases[i].prove);
		ck_assert_ptr_null(strstr(etcd, "push.service"));
		ck_assert_ptr_null(strstr(etcd, "prove.service"));
	}
}
END_TEST

/* A push asks etcd and stops together with etcd. A send and a proof do not depend on etcd. */
START_TEST(a_store_in_a_directory)
{
	g_autoptr(GbeConfig) config =
	    configured("[etcd]\nservice=k3s.service\nendpoint=https://10.1.2.3:2379\n"
		       "[store]\ndirectory=/var/home/usb-1/etcd\nschedule=Mon..Fri *:0/30\n"
		       "prove=Sat 03:00\n");
	g_autofree char *push = dropin(config, "greenboot-etcd-push.service");
	g_autofree char *send = dropin(config, "greenboot-etcd-send.service");
	g_autofree char *prove = dropin(config, "greenboot-etcd-prove.service");
	g_autofree char *push_timer = dropin(config, "greenboot-etcd-push.timer");
	g_autofree char *prove_timer = dropin(config, "greenboot-etcd-prove.timer");

#define STORE                                                                                      \
	"[Unit]\n" MOUNTS("var-home-usb\\x2d1-etcd.mount") MOUNTS("var-home-usb\\x2d1.mount")      \
	    MOUNTS("var-home.mount") MOUNTS("var.mount") "[Service]\n"                             \
							 "ReadWritePaths=\"-/var\"\n"              \
							 "ProtectHome=no\n"
	ck_assert_str_eq(push, HEAD "[Unit]\nBindsTo=k3s.service\nAfter=k3s.service\n" STORE
				    "IPAddressAllow=10.1.2.3\n");
	ck_assert_str_eq(send, HEAD STORE);
	ck_assert_str_eq(prove,
			 HEAD STORE "ExecStart=/usr/bin/greenboot-etcd --quiet store prune\n");
	ck_assert_str_eq(push_timer, HEAD "[Unit]\nBindsTo=k3s.service\nAfter=k3s.service\n"
					  "[Timer]\nOnCalendar=\nOnCalendar=Mon..Fri *:0/30\n"
					  "RandomizedDelaySec=180s\n");
	ck_assert_str_eq(prove_timer, HEAD "[Timer]\nOnCalendar=\nOnCalendar=Sat 03:00\n"
					   "RandomizedDelaySec=8640s\n");
}
END_TEST

START_TEST(periods)
{
	static const struct {
		const char *event;
		guint64 seconds;
	} cases[] = {
	    {"minutely", 60},
	    {"Hourly", 3600},
	    {"daily", 86400},
	    {"weekly UTC", 7 * 86400},
	    {"*:0/5", 300},
	    {"*:0/45", 900},
	    {"*:00", 3600},
	    {"*:*", 60},
	    {"*:*:0/10", 10},
	    {"*:0,30", 60},
	    {"*-*-* 0/6:00:00 Europe/Berlin", 6 * 3600},
	    {"08..18:30", 3600},
	    {"Sat *-*-1..7 03:00", 86400},
	    {"*-*-01", 86400},
	    {"", 86400},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(gbe_calendar_period(cases[i].event) == cases[i].seconds, "%s: %u",
			      cases[i].event, (guint)gbe_calendar_period(cases[i].event));
}
END_TEST

START_TEST(a_store_of_objects)
{
	g_autoptr(GbeConfig) config = configured("[store]\nurl=https://h/b\n");
	g_autofree char *send = dropin(config, "greenboot-etcd-send.service");
	g_autofree char *prove = dropin(config, "greenboot-etcd-prove.service");
	g_autofree char *push = NULL, *pruning = NULL;

	ck_assert_str_eq(send, HEAD "[Service]\nIPAddressAllow=any\n");
	/* A store that no timer fills is pruned by hand. */
	ck_assert_str_eq(prove, send);
	config->store.schedule = g_strdup("daily");
	push = dropin(config, "greenboot-etcd-push.service");
	ck_assert_str_eq(push, HEAD "[Unit]\nBindsTo=etcd.service\nAfter=etcd.service\n"
				    "[Service]\nIPAddressAllow=any\n");
	pruning = dropin(config, "greenboot-etcd-prove.service");
	ck_assert_ptr_nonnull(
	    strstr(pruning, "\nExecStart=/usr/bin/greenboot-etcd --quiet store prune\n"));
}
END_TEST

/* /var/lib/etcd leads to /data/etcd, /opt to /tmp, and /srv to /home. */
static char *
symlinks(gpointer data G_GNUC_UNUSED, const char *path)
{
	if (g_str_has_prefix(path, "/var/lib/etcd"))
		return g_strconcat("/data/etcd", path + strlen("/var/lib/etcd"), NULL);
	if (g_str_has_prefix(path, "/opt/"))
		return g_strconcat("/tmp/", path + strlen("/opt/"), NULL);
	if (g_str_has_prefix(path, "/srv/"))
		return g_strconcat("/home/", path + strlen("/srv/"), NULL);
	return g_strdup(path);
}

/* A sandbox and mounts are of the directories that a symlink leads to. A snapshot store may be a share that hangs, so
 * its path is not looked up. */
START_TEST(paths_through_symlinks)
{
	g_autoptr(GbeConfig) config =
	    configured("[etcd]\nendpoint=unix:///srv/etcd.sock\n"
		       "[backup]\ndirectory=/var/lib/etcd-backups\n[certs]\ndirectories=/opt/pki\n"
		       "[store]\ndirectory=/srv/snapshots\nschedule=daily\n");
	g_autofree char *prerun = dropin_through(config, "greenboot-etcd-prerun.service", symlinks);
	g_autofree char *green = dropin_through(config, "greenboot-etcd-green.service", symlinks);
	g_autofree char *monitor =
	    dropin_through(config, "greenboot-etcd-monitor.service", symlinks);
	g_autofree char *send = dropin_through(config, "greenboot-etcd-send.service", symlinks);

	ck_assert_str_eq(
	    prerun, HEAD
	    "[Unit]\nRequiresMountsFor=\"/var/lib/etcd\"\n"
	    "RequiresMountsFor=\"/data/etcd\"\n" MOUNTS("var-lib-etcd\\x2dbackups.mount")
		MOUNTS("var-lib.mount") MOUNTS("var.mount") MOUNTS("data-etcd\\x2dbackups.mount")
		    MOUNTS("data.mount") "[Service]\n"
					 "ReadWritePaths=\"-/var\"\nReadWritePaths=\"-/data\"\n");
	ck_assert(g_str_has_suffix(green, "\nProtectHome=no\n"));
	ck_assert(g_str_has_suffix(monitor, "\nPrivateTmp=no\nProtectHome=no\n"));
	ck_assert_str_eq(send, HEAD "[Unit]\n" MOUNTS("srv-snapshots.mount")
				   MOUNTS("srv.mount") "[Service]\nReadWritePaths=\"-/srv\"\n");
}
END_TEST

/* The sandbox hides no file that the store needs. */
START_TEST(the_files_of_a_store)
{
	static const char *const keys[] = {"access-key-file", "ca", "key", "encrypt-to",
					   "identity"};

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_autofree char *home =
		    g_strdup_printf("[store]\nurl=https://h/b\n%s=/var/home/me/file\n", keys[i]);
		g_autofree char *etc = g_strdup_printf(
		    "[store]\nurl=https://h/b\n%s=/etc/greenboot-etcd/file\n", keys[i]);
		g_autoptr(GbeConfig) hidden = configured(home), other = configured(etc);
		g_autofree char *send = dropin(hidden, "greenboot-etcd-send.service");
		g_autofree char *as_ever = dropin(other, "greenboot-etcd-send.service");

		ck_assert_ptr_nonnull(strstr(send, "\nProtectHome=no\n"));
		ck_assert_ptr_null(strstr(send, "/var"));
		ck_assert_ptr_null(strstr(as_ever, "=no\n"));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-dropin");
	TCase *tcase = tcase_create("dropin");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, mount_units);
	tcase_add_test(tcase, quotes);
	tcase_add_test(tcase, the_default);
	tcase_add_test(tcase, grants_what_lies_below_the_root);
	tcase_add_test(tcase, the_store_is_wished_for);
	tcase_add_test(tcase, what_the_sandbox_hides);
	tcase_add_test(tcase, the_wal);
	tcase_add_test(tcase, the_monitor);
	tcase_add_test(tcase, the_scrub);
	tcase_add_test(tcase, where_etcd_answers);
	tcase_add_test(tcase, the_defragmentation);
	tcase_add_test(tcase, a_scope);
	tcase_add_test(tcase, the_use_beyond_the_limit);
	tcase_add_test(tcase, what_leaves_the_device);
	tcase_add_test(tcase, a_store_in_a_directory);
	tcase_add_test(tcase, periods);
	tcase_add_test(tcase, a_store_of_objects);
	tcase_add_test(tcase, the_files_of_a_store);
	tcase_add_test(tcase, paths_through_symlinks);
	return gbe_unit_main(suite);
}
