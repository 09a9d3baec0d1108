/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/config.h"
#include "core/config/keys.h"
#include "lib/mangle.h"
#include "lib/unit.h"

static bool
merge_strict(GbeConfig *config, const char *text, bool strict, char **ret_bad_key, GError **error)
{
	return gbe_config_merge(config, "/etc/x.conf", text, strlen(text), strict, NULL,
				ret_bad_key, error);
}

static void
must_merge(GbeConfig *config, const char *text)
{
	g_autoptr(GError) error = NULL;
	bool ok = merge_strict(config, text, true, NULL, &error);

	ck_assert_msg(ok, "%s: %s", text, ok ? "" : error->message);
}

static void
count_and_collect(const char *group, const char *key, const char *value, const char *origin,
		  gpointer data)
{
	g_hash_table_insert(data, g_strconcat(group, ".", key, NULL),
			    g_strdup_printf("%s (%s)", value, origin != NULL ? origin : "default"));
}

static GHashTable *
collect(const GbeConfig *config)
{
	GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	gbe_config_foreach(config, count_and_collect, all);
	return all;
}

/* Each key of the interface, with its default. */
START_TEST(every_key_and_its_default)
{
	static const char *const keys[][2] = {
	    {"etcd.data-dir", "/var/lib/etcd"},
	    {"etcd.member-dir", "auto"},
	    {"etcd.version-file", ""},
	    {"etcd.wal-dir", ""},
	    {"etcd.service", "etcd.service"},
	    {"etcd.binary", "/usr/bin/etcd"},
	    {"etcd.endpoint", "http://127.0.0.1:2379"},
	    {"etcd.cacert", ""},
	    {"etcd.cert", ""},
	    {"etcd.key", ""},
	    {"etcd.user", ""},
	    {"etcd.password-file", ""},
	    {"etcd.name", ""},
	    {"etcd.peer-urls", ""},
	    {"health.timeout", "5min"},
	    {"health.timeout-scale", "attempt"},
	    {"health.request-timeout", "5s"},
	    {"health.min-free", "5%"},
	    {"health.quota-warn", "80%"},
	    {"health.cert-warn", "30d"},
	    {"health.on-nospace", "cannot-tell"},
	    {"health.monitor", "5min"},
	    {"backup.directory", "auto"},
	    {"backup.keep-good", "auto"},
	    {"backup.keep-bad", "1"},
	    {"backup.at-boot", "cow-only"},
	    {"backup.at-shutdown", "cow-only"},
	    {"backup.verify", "auto"},
	    {"backup.on-upgrade-failure", "auto"},
	    {"backup.schedule", ""},
	    {"backup.hourly", "24"},
	    {"backup.daily", "7"},
	    {"restore.on-rollback", "restore"},
	    {"restore.trial-limit", "1h"},
	    {"restore.retry-trial", "yes"},
	    {"restore.on-corrupt-data", "restore"},
	    {"restore.on-missing-data", "fresh"},
	    {"restore.on-upgrade-from-failed", "last-good"},
	    {"restore.hand-back", "yes"},
	    {"restore.verify-budget", "1min"},
	    {"defrag.enabled", "yes"},
	    {"defrag.min-size", "100MB"},
	    {"defrag.max-fragmentation", "45%"},
	    {"defrag.interval", "5min"},
	    {"defrag.at-start", "yes"},
	    {"run.args", ""},
	    {"run.env-file", ""},
	    {"run.credentials", ""},
	    {"run.quota-backend-bytes", "2GiB"},
	    {"run.memory-high", ""},
	    {"run.io-weight", ""},
	    {"certs.directories", ""},
	    {"certs.regenerated", ""},
	    {"certs.names", ""},
	    {"certs.validity", "365d"},
	    {"certs.renew-command", ""},
	    {"cluster.rejoin", "yes"},
	    {"cluster.update-lock", "no"},
	    {"cluster.lock-time", "30min"},
	    {"metrics.textfile", ""},
	    {"store.directory", ""},
	    {"store.url", ""},
	    {"store.region", "us-east-1"},
	    {"store.access-key-file", ""},
	    {"store.ca", ""},
	    {"store.proxy", ""},
	    {"store.rate-limit", ""},
	    {"store.schedule", ""},
	    {"store.queue-keep", "3"},
	    {"store.prove", "weekly"},
	    {"store.prove-warn", "14d"},
	    {"store.key", ""},
	    {"store.encrypt-to", ""},
	    {"store.identity", ""},
	    {"store.hourly", ""},
	    {"store.daily", ""},
	    {"store.requests", "yes"},
	    {"alarm.compact-keep", "1000"},
	    {"preflight.rehearse", "auto"},
	    {"preflight.rehearse-copy-max", "256MiB"},
	    {"preflight.rehearse-command", ""},
	    {"preflight.on-failed-rehearsal", "warn"},
	};
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GHashTable) all = collect(config);

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_autofree char *expected = g_strconcat(keys[i][1], " (default)", NULL);
		const char *value = g_hash_table_lookup(all, keys[i][0]);

		ck_assert_msg(value != NULL, "%s is not known", keys[i][0]);
		ck_assert_str_eq(value, expected);
	}
	ck_assert_uint_eq(g_hash_table_size(all), G_N_ELEMENTS(keys));
	ck_assert(gbe_config_check(config, NULL));
}
END_TEST

START_TEST(defaults_in_the_struct)
{
	g_autoptr(GbeConfig) config = gbe_config_new();

	ck_assert_str_eq(config->etcd.data_dir, "/var/lib/etcd");
	ck_assert_str_eq(config->etcd.member_dir, "auto");
	ck_assert_ptr_null(config->etcd.version_file);
	ck_assert_str_eq(config->etcd.service, "etcd.service");
	ck_assert_uint_eq(config->health.timeout, 300);
	ck_assert(config->health.timeout_scale);
	ck_assert_uint_eq(config->health.min_free, 5);
	ck_assert_uint_eq(config->health.cert_warn, 2592000);
	ck_assert_int_eq(config->health.on_nospace, GBE_NOSPACE_CANNOT_TELL);
	ck_assert_ptr_null(config->backup.directory);
	ck_assert_uint_eq(config->backup.keep_good, 0);
	ck_assert_uint_eq(config->backup.keep_bad, 1);
	ck_assert_int_eq(config->backup.at_boot, GBE_WHEN_COW_ONLY);
	ck_assert_int_eq(config->backup.on_upgrade_failure, GBE_UPGRADE_FAIL_AUTO);
	ck_assert_int_eq(config->restore.on_rollback, GBE_ROLLBACK_RESTORE);
	ck_assert_uint_eq(config->restore.trial_limit, 3600);
	ck_assert(config->restore.retry_trial && config->restore.hand_back);
	ck_assert_uint_eq(config->restore.verify_budget, 60);
	ck_assert_int_eq(config->restore.on_missing_data, GBE_MISSING_FRESH);
	ck_assert_uint_eq(config->defrag.min_size, 100000000);
	ck_assert_uint_eq(config->run.quota_backend_bytes, G_GUINT64_CONSTANT(2147483648));
	ck_assert_uint_eq(config->run.memory_high, 0);
	ck_assert_ptr_null(config->store.directory);
	ck_assert_ptr_null(config->store.url);
	ck_assert_str_eq(config->store.region, "us-east-1");
	ck_assert_ptr_null(config->store.access_key_file);
	ck_assert_ptr_null(config->store.ca);
	ck_assert_ptr_null(config->store.proxy);
	ck_assert_uint_eq(config->store.rate_limit, 0);
	ck_assert_ptr_null(config->store.schedule);
	ck_assert_uint_eq(config->store.queue_keep, 3);
	ck_assert_str_eq(config->store.prove, "weekly");
	ck_assert_uint_eq(config->store.prove_warn, 1209600);
	ck_assert_uint_eq(config->alarm.compact_keep, 1000);
	ck_assert_int_eq(config->preflight.rehearse, GBE_REHEARSE_AUTO);
	ck_assert_uint_eq(config->preflight.rehearse_copy_max, 268435456);
	ck_assert(!config->preflight.lock_failed);
	ck_assert_uint_eq(g_hash_table_size(config->origins), 0);
}
END_TEST

START_TEST(later_wins_key_by_key)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GHashTable) all = NULL;

	must_merge(config, "# comment\n; another\n\n[etcd]\ndata-dir = /var//lib/./microshift/\r\n"
			   "member-dir=db/etcd\nservice=\n[backup]\nkeep-good=3\nat-boot=always\n"
			   "[etcd]\n  version-file  =  version");
	ck_assert(gbe_config_merge(config, "/run/y.conf", "[backup]\nkeep-good=7\n", 21, true, NULL,
				   NULL, NULL));
	ck_assert_str_eq(config->etcd.data_dir, "/var/lib/microshift");
	ck_assert_str_eq(config->etcd.member_dir, "db/etcd");
	ck_assert_str_eq(config->etcd.version_file, "version");
	ck_assert_ptr_null(config->etcd.service);
	ck_assert_uint_eq(config->backup.keep_good, 7);
	ck_assert_int_eq(config->backup.at_boot, GBE_WHEN_ALWAYS);
	all = collect(config);
	ck_assert_str_eq(g_hash_table_lookup(all, "backup.keep-good"), "7 (/run/y.conf:2)");
	ck_assert_str_eq(g_hash_table_lookup(all, "backup.at-boot"), "always (/etc/x.conf:10)");
	ck_assert_str_eq(g_hash_table_lookup(all, "etcd.service"), " (/etc/x.conf:7)");
	ck_assert_str_eq(g_hash_table_lookup(all, "backup.keep-bad"), "1 (default)");
	ck_assert_uint_eq(config->warnings->len, 0);
}
END_TEST

START_TEST(words_mean_what_they_say)
{
	g_autoptr(GbeConfig) config = gbe_config_new();

	must_merge(config,
		   "[health]\ntimeout-scale=no\non-nospace=healthy\nmonitor=0\nmin-free=10\n"
		   "[backup]\ndirectory=/srv/b\nverify=none\nat-shutdown=never\n"
		   "on-upgrade-failure=continue\nkeep-good=auto\n"
		   "[restore]\non-rollback=if-failed\nretry-trial=no\non-corrupt-data=keep\n"
		   "on-missing-data=restore\non-upgrade-from-failed=refuse\nhand-back=0\n"
		   "trial-limit=90s\n[run]\nmemory-high=512MiB\nio-weight=50\n"
		   "[etcd]\nmember-dir=.\nendpoint=unix:///run/etcd.sock\n"
		   "peer-urls=http://a:1,https://b:2\n"
		   "[preflight]\nrehearse=full\non-failed-rehearsal=lock\n");
	ck_assert_int_eq(config->preflight.rehearse, GBE_REHEARSE_FULL);
	ck_assert(config->preflight.lock_failed);
	ck_assert(!config->health.timeout_scale);
	ck_assert_int_eq(config->health.on_nospace, GBE_NOSPACE_HEALTHY);
	ck_assert_uint_eq(config->health.monitor, 0);
	ck_assert_uint_eq(config->health.min_free, 10);
	ck_assert_str_eq(config->backup.directory, "/srv/b");
	ck_assert_int_eq(config->backup.verify, GBE_BACKUP_VERIFY_NONE);
	ck_assert_int_eq(config->backup.at_shutdown, GBE_WHEN_NEVER);
	ck_assert_int_eq(config->backup.on_upgrade_failure, GBE_UPGRADE_FAIL_CONTINUE);
	ck_assert_uint_eq(config->backup.keep_good, 0);
	ck_assert_int_eq(config->restore.on_rollback, GBE_ROLLBACK_IF_FAILED);
	ck_assert(!config->restore.retry_trial && !config->restore.hand_back);
	ck_assert_int_eq(config->restore.on_corrupt_data, GBE_CORRUPT_KEEP);
	ck_assert_int_eq(config->restore.on_missing_data, GBE_MISSING_RESTORE);
	ck_assert_int_eq(config->restore.on_upgrade_from_failed, GBE_FAILED_REFUSE);
	ck_assert_uint_eq(config->restore.trial_limit, 90);
	ck_assert_uint_eq(config->run.memory_high, 536870912);
	ck_assert_uint_eq(config->run.io_weight, 50);
}
END_TEST

START_TEST(a_store_of_objects)
{
	g_autoptr(GbeConfig) config = gbe_config_new();

	must_merge(config, "[store]\nurl=https://s3.example:8443/my.bucket/site-1/etcd\n"
			   "region=eu-central-1\naccess-key-file=/etc/greenboot-etcd/access-key\n"
			   "ca=/etc/pki/s3.pem\nproxy=socks5h://127.0.0.1:1080\nrate-limit=1MiB\n"
			   "schedule=Mon..Fri *:0/30\nqueue-keep=100\nprove=\nprove-warn=0\n");
	ck_assert_str_eq(config->store.url, "https://s3.example:8443/my.bucket/site-1/etcd");
	ck_assert_str_eq(config->store.region, "eu-central-1");
	ck_assert_str_eq(config->store.access_key_file, "/etc/greenboot-etcd/access-key");
	ck_assert_str_eq(config->store.ca, "/etc/pki/s3.pem");
	ck_assert_str_eq(config->store.proxy, "socks5h://127.0.0.1:1080");
	ck_assert_uint_eq(config->store.rate_limit, 1048576);
	ck_assert_str_eq(config->store.schedule, "Mon..Fri *:0/30");
	ck_assert_uint_eq(config->store.queue_keep, 100);
	ck_assert_ptr_null(config->store.prove);
	ck_assert_uint_eq(config->store.prove_warn, 0);
	ck_assert(gbe_config_check(config, NULL));
	/* An empty value takes each back. */
	must_merge(config,
		   "[store]\nurl=\nproxy=\nrate-limit=\nschedule=\naccess-key-file=\nca=\n");
	ck_assert_ptr_null(config->store.url);
	ck_assert_ptr_null(config->store.proxy);
	ck_assert_uint_eq(config->store.rate_limit, 0);
	ck_assert_ptr_null(config->store.schedule);
	ck_assert_ptr_null(config->store.access_key_file);
	ck_assert_ptr_null(config->store.ca);
}
END_TEST

START_TEST(addresses_of_buckets)
{
	static const char *const good[] = {
	    "https://h/b",
	    "https://h/b/p",
	    "https://10.0.0.1:9000/b/a/very/long/prefix",
	    "https://[fd00::7]:9000/b",
	    "https://s3.eu-central-1.example/b_1/x+y=z/...",
	};
	static const char *const wrong[] = {
	    "h/b",
	    "http://h/b",
	    "s3://b/p",
	    "https://",
	    "https://h",
	    "https://h/",
	    "https:///b",
	    "https://h/b/",
	    "https://h//b",
	    "https://h/b//p",
	    "https://h/b/../c",
	    "https://h/./b",
	    "https://h/b?x=1",
	    "https://h/b#x",
	    "https://u:p@h/b",
	    "https://h/a b",
	    "https://h/b%20c",
	    "https://h/b:1",
	    "https://h/[b]",
	    "https://h/b\\c",
	    "https://h/\xc3\xa4",
	    "HTTPS://h/b",
	};

	for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autoptr(GbeConfig) config = gbe_config_new();
		g_autofree char *text = g_strdup_printf("[store]\nurl=%s\n", good[i]);

		must_merge(config, text);
		ck_assert_str_eq(config->store.url, good[i]);
	}
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GbeConfig) config = gbe_config_new();
		g_autofree char *text = g_strdup_printf("[store]\nurl=%s\n", wrong[i]);

		ck_assert_msg(!merge_strict(config, text, true, NULL, NULL), "taken: %s", wrong[i]);
		ck_assert_ptr_null(config->store.url);
	}
}
END_TEST

/* A proxy may need a password: the shown value and the message about a wrong value leave it out. */
START_TEST(the_password_of_a_proxy)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GHashTable) all = NULL;
	g_autoptr(GError) error = NULL;

	must_merge(config, "[store]\nproxy=http://me:secret@proxy:3128\n");
	ck_assert_str_eq(config->store.proxy, "http://me:secret@proxy:3128");
	all = collect(config);
	ck_assert_ptr_null(strstr(g_hash_table_lookup(all, "store.proxy"), "secret"));
	ck_assert_ptr_nonnull(strstr(g_hash_table_lookup(all, "store.proxy"), "@proxy:3128"));
	ck_assert(!merge_strict(config, "[store]\nproxy=ftp://me:secret@proxy:3128\n", true, NULL,
				&error));
	ck_assert_ptr_null(strstr(error->message, "secret"));
}
END_TEST

#define TEXT_64 "0123456789012345678901234567890123456789012345678901234567890123"
#define TEXT_256 TEXT_64 TEXT_64 TEXT_64 TEXT_64

/* The error is one line, with file, line, key and the allowed values. The configuration is unchanged. */
START_TEST(wrong_values)
{
	static const struct {
		const char *group, *line, *says;
	} cases[] = {
	    {"etcd", "data-dir=", "is empty"},
	    {"etcd", "data-dir=etcd", "\"etcd\" is not an absolute path"},
	    {"etcd", "data-dir=/var/../etc", "\"..\" is not allowed"},
	    {"etcd", "member-dir=", "is empty"},
	    {"etcd", "member-dir=/abs", "below data-dir"},
	    {"etcd", "member-dir=a/../b", "below data-dir"},
	    {"etcd", "member-dir=a//b", "below data-dir"},
	    {"etcd", "version-file=../v", "below data-dir"},
	    {"etcd", "service=etcd", "etcd.service"},
	    {"etcd", "service=.service", "etcd.service"},
	    {"etcd", "service=a b.service", "etcd.service"},
	    {"etcd", "service=../x.service", "etcd.service"},
	    {"etcd", "endpoint=127.0.0.1:2379", "https://"},
	    {"etcd", "endpoint=http://", "https://"},
	    {"etcd", "endpoint=http://a:1,http://b:1", "one address"},
	    {"etcd", "peer-urls=http://a:1,b", "http://"},
	    {"health", "timeout=0", "\"0\" is out of range: 1s to 1d are allowed"},
	    {"health", "timeout=25h", "1s to 1d"},
	    {"health", "timeout=5m", "\"5m\" is not a time"},
	    {"health", "timeout=-5s", "is not a time"},
	    {"health", "timeout=99999999999999999999s", "is not a time"},
	    {"health", "timeout-scale=yes", "is not one of no, attempt"},
	    {"health", "min-free=101%", "\"101%\" is out of range: 0% to 100% are allowed"},
	    {"health", "min-free=5 MB", "is not a percentage"},
	    {"health", "on-nospace=maybe", "cannot-tell, unhealthy, healthy"},
	    {"backup", "keep-good=0", "1 to 50 are allowed (or \"auto\")"},
	    {"backup", "keep-good=51", "1 to 50"},
	    {"backup", "keep-good=two", "is not a number"},
	    {"backup", "keep-bad=-1", "is not a number"},
	    {"backup", "at-boot=sometimes", "cow-only, always, never"},
	    {"backup", "directory=b", "absolute path"},
	    {"backup", "schedule=daily %i", "a calendar event of systemd.time(7)"},
	    {"backup", "schedule=daily\\", "a calendar event"},
	    {"backup", "schedule=\xc3\xa4", "a calendar event"},
	    {"backup", "schedule=" TEXT_256, "a calendar event"},
	    {"restore", "retry-trial=maybe", "not yes or no"},
	    {"restore", "on-rollback=", "is empty"},
	    {"defrag", "min-size=100 apples", "is not a size"},
	    {"defrag", "min-size=9999999TiB", "is not a size"},
	    {"run", "quota-backend-bytes=1k", "16MiB to 1TiB"},
	    {"run", "io-weight=0", "1 to 10000 are allowed"},
	    {"run", "args=--name 'a b", "a quote that does not end"},
	    {"run", "env-file=/a b", "a list of absolute paths"},
	    {"run", "credentials=ca.crt", "a list of NAME:/PATH"},
	    {"store", "url=http://h/b", "https://HOST/BUCKET"},
	    {"store", "url=https://h", "https://HOST:PORT/BUCKET/PREFIX"},
	    {"store", "region=", "is empty"},
	    {"store", "region=eu central", "the name of a region"},
	    {"store", "region=eu/central", "the name of a region"},
	    {"store", "region=" TEXT_64 "x", "the name of a region"},
	    {"store", "access-key-file=key", "absolute path"},
	    {"etcd", "user=root:secret", "its password is in password-file="},
	    {"etcd", "password-file=secret", "absolute path"},
	    {"store", "ca=ca.pem", "absolute path"},
	    {"store", "proxy=proxy:3128", "socks5h://"},
	    {"store", "proxy=socks5://proxy:1080", "socks5h://"},
	    {"store", "proxy=http://a:1,http://b:1", "one address"},
	    {"store", "rate-limit=1000", "1KiB to 1TiB"},
	    {"store", "rate-limit=2TiB", "1KiB to 1TiB"},
	    {"store", "rate-limit=fast", "is not a size"},
	    {"store", "schedule=100%i", "a calendar event of systemd.time(7)"},
	    {"store", "queue-keep=0", "1 to 100 are allowed"},
	    {"store", "queue-keep=101", "1 to 100 are allowed"},
	    {"store", "queue-keep=", "is empty"},
	    {"store", "prove=weekly\\", "a calendar event"},
	    {"store", "prove-warn=", "is empty"},
	    {"store", "prove-warn=3651d", "0 to 3650d"},
	    {"alarm", "compact-keep=0", "1 to 1000000000"},
	    {"preflight", "rehearse=maybe", "auto"},
	    {"preflight", "rehearse-command=etcd --x", "absolute path"},
	    {"preflight", "on-failed-rehearsal=refuse", "warn"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strdup_printf("[restore]\ntrial-limit=2h\n[%s]\n%s\n",
							cases[i].group, cases[i].line);
		g_auto(GStrv) parts = g_strsplit(cases[i].line, "=", 2);
		g_autofree char *start =
		    g_strdup_printf("/etc/x.conf:4: [%s] %s: ", cases[i].group, parts[0]);
		g_autofree char *name = g_strconcat(cases[i].group, ".", parts[0], NULL);
		g_autoptr(GbeConfig) config = gbe_config_new();
		g_autoptr(GError) error = NULL;
		g_autofree char *bad_key = NULL;

		ck_assert_msg(!merge_strict(config, text, false, &bad_key, &error), "taken: %s",
			      cases[i].line);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		ck_assert_msg(g_str_has_prefix(error->message, start), "%s", error->message);
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
		ck_assert_str_eq(bad_key, name);
		ck_assert_uint_eq(config->restore.trial_limit, 3600);
		ck_assert_uint_eq(g_hash_table_size(config->origins), 0);
	}
}
END_TEST

START_TEST(wrong_files)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"data-dir=/x\n", ":1: a key before the first [group]"},
	    {"[etcd\n", ":1: a group has no \"]\""},
	    {"[]\n", ":1: the name of a group"},
	    {"[a b]\n", ":1: the name of a group"},
	    {"[etcd]\n\nnonsense\n", ":3: this is not"},
	    {"[etcd]\n=x\n", ":2: the name of a key"},
	    {"[etcd]\nda ta=x\n", ":2: the name of a key"},
	    {"[etcd]\nname=a\x01z\n", ":2: a control character"},
	    {"[etcd]\nname=\xff\n", ":2: not UTF-8"},
	};
	static const char nul[] = "[etcd]\nname=a\0b\n";
	g_autofree char *large = g_strnfill(1024 * 1024 + 1, '\n');
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *bad_key = NULL;

		ck_assert_msg(!merge_strict(config, cases[i].text, false, &bad_key, &error),
			      "taken: %s", cases[i].text);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		ck_assert(g_str_has_prefix(error->message, "/etc/x.conf:"));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
		ck_assert_ptr_null(bad_key);
		g_clear_error(&error);
	}
	ck_assert(!gbe_config_merge(config, "f", nul, sizeof(nul) - 1, false, NULL, NULL, &error));
	ck_assert_str_eq(error->message, "f:2: a NUL byte");
	ck_assert(!gbe_config_merge(config, "f", large, 1024 * 1024 + 1, false, NULL, NULL, NULL));
	ck_assert(gbe_config_merge(config, "f", large, 1024 * 1024, true, NULL, NULL, NULL));
	ck_assert(gbe_config_merge(config, "f", NULL, 0, true, NULL, NULL, NULL));
}
END_TEST

START_TEST(twice_in_a_file)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GHashTable) skip = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GError) error = NULL;
	g_autofree char *bad_key = NULL;
	static const char text[] = "[backup]\nkeep-good=1\n[etcd]\nname=a\n[backup]\nkeep-good=1\n";

	ck_assert(!merge_strict(config, text, false, &bad_key, &error));
	ck_assert_str_eq(error->message,
			 "/etc/x.conf:6: [backup] keep-good: is there twice in this file");
	ck_assert_str_eq(bad_key, "backup.keep-good");
	/* The programs at boot ignore the faulty key. */
	g_hash_table_add(skip, bad_key);
	ck_assert(gbe_config_merge(config, "f", text, strlen(text), false, skip, NULL, NULL));
	ck_assert_str_eq(config->etcd.name, "a");
	ck_assert_uint_eq(config->backup.keep_good, 0);
}
END_TEST

START_TEST(unknown_is_a_warning_or_an_error)
{
	static const char text[] = "[etcd]\nname=a\ncolour=blue\n[later]\nx=1\ny=2\n[etcd]\n"
				   "colour2=\n";
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *bad_key = NULL;

	ck_assert(!merge_strict(config, text, true, &bad_key, &error));
	ck_assert_str_eq(error->message, "/etc/x.conf:3: [etcd] colour: there is no such key");
	ck_assert_str_eq(bad_key, "etcd.colour");
	ck_assert_uint_eq(config->warnings->len, 0);
	ck_assert_ptr_null(config->etcd.name);
	ck_assert(merge_strict(config, text, false, NULL, NULL));
	ck_assert_str_eq(config->etcd.name, "a");
	ck_assert_uint_eq(config->warnings->len, 3);
	ck_assert_str_eq(config->warnings->pdata[0],
			 "/etc/x.conf:3: [etcd] colour: there is no such key, ignored");
	ck_assert_str_eq(config->warnings->pdata[1],
			 "/etc/x.conf:4: [later]: there is no such group, ignored");
	g_clear_error(&error);
	ck_assert(!merge_strict(config, "[later]\n", true, NULL, &error));
	ck_assert_str_eq(error->message, "/etc/x.conf:1: [later]: there is no such group");
}
END_TEST

/* The base reads what it signs manifests with, and the certificates that an application makes. */
START_TEST(programs_that_read)
{
	const char *const base[] = {"store.key",	 "certs.directories", "certs.regenerated",
				    "etcd.endpoint",	 "backup.schedule",   "alarm.compact-keep",
				    "preflight.rehearse"};
	guint of_base = 0;

	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++) {
		const char *program = gbe_config_key_program(key);
		g_autofree char *name = g_strconcat(key->group, ".", key->key, NULL);
		bool optional = g_str_equal(key->group, "store") ||
				g_str_equal(key->group, "certs") ||
				g_str_equal(key->group, "cluster");

		for (gsize i = 0; i < G_N_ELEMENTS(base); i++) {
			if (!g_str_equal(base[i], name))
				continue;
			optional = false;
			of_base++;
		}
		ck_assert_msg(g_strcmp0(program, optional ? key->group : NULL) == 0, "%s: %s", name,
			      program);
	}
	ck_assert_uint_eq(of_base, G_N_ELEMENTS(base));
}
END_TEST

START_TEST(between_keys)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"[etcd]\ndata-dir=/\n", "/etc/x.conf:2: [etcd] data-dir: cannot be the root"},
	    {"[etcd]\ncert=/c\n", "[etcd] cert: needs [etcd] key"},
	    {"[etcd]\nkey=/k\n", "[etcd] key: needs [etcd] cert"},
	    {"[health]\ntimeout=2s\n", "[health] request-timeout: is longer"},
	    {"[backup]\ndirectory=/var/lib/etcd/b\n", "[backup] directory: lies in"},
	    {"[backup]\ndirectory=/var/lib/etcd\n", "[backup] directory: lies in"},
	    {"[backup]\ndirectory=/var/lib\n", "[etcd] data-dir lies in it"},
	    {"[backup]\ndirectory=/\n", "[etcd] data-dir lies in it"},
	    {"[store]\ndirectory=/var/lib/etcd/b\n", "[store] directory: lies in"},
	    {"[store]\ndirectory=/srv/s\nurl=https://h/b\n",
	     "/etc/x.conf:3: [store] url: and [store] directory are both set"},
	    {"[store]\nurl=https://h/b\n", NULL},
	    {"[store]\ndirectory=/srv/s\nurl=\n", NULL},
	    {"[backup]\ndirectory=/var/lib/etcd2\n", NULL},
	    {"[backup]\ndirectory=/var/lib/etcd/.greenboot-etcd/backups\n", NULL},
	    {"[etcd]\ncert=/c\nkey=/k\n", NULL},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeConfig) config = gbe_config_new();
		g_autoptr(GError) error = NULL;

		must_merge(config, cases[i].text);
		ck_assert_msg(gbe_config_check(config, &error) == (cases[i].says == NULL), "%s",
			      cases[i].text);
		if (cases[i].says == NULL)
			continue;
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
	}
}
END_TEST

START_TEST(durations_and_sizes)
{
	static const struct {
		const char *text;
		guint64 value;
	} times[] = {{"0", 0},	     {"10s", 10},  {"5min", 300},
		     {"5 min", 300}, {"2h", 7200}, {"30d", 2592000}},
	  sizes[] = {{"7", 7},
		     {"4k", 4000},
		     {"4KiB", 4096},
		     {"100MB", 100000000},
		     {"100 M", 100000000},
		     {"2GiB", 2147483648},
		     {"3G", 3000000000},
		     {"1kB", 1000},
		     {"1TiB", 1099511627776}};
	static const char *const wrong[] = {"",
					    "s",
					    "-1s",
					    "1 x",
					    "1.5h",
					    "5min 3s",
					    "0x10",
					    " 1",
					    "18446744073709551617",
					    "9007199254740991d",
					    "1KIB"};
	guint64 value = 77;

	ck_assert(!gbe_duration_parse("10", &value, NULL));
	for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
		ck_assert(gbe_duration_parse(times[i].text, &value, NULL));
		ck_assert_uint_eq(value, times[i].value);
	}
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		ck_assert(gbe_size_parse(sizes[i].text, &value, NULL));
		ck_assert_uint_eq(value, sizes[i].value);
	}
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		ck_assert_msg(!gbe_duration_parse(wrong[i], &value, NULL), "%s", wrong[i]);
		ck_assert_msg(!gbe_size_parse(wrong[i], &value, NULL), "%s", wrong[i]);
	}
	ck_assert_uint_eq(value, G_GUINT64_CONSTANT(1099511627776));
}
END_TEST

static void
append(const char *group, const char *key, const char *value, const char *origin, gpointer data)
{
	g_string_append_printf(data, "[%s]\n%s=%s\n", group, key, value);
}

static char *
show(const GbeConfig *config)
{
	GString *text = g_string_new(NULL);

	gbe_config_foreach(config, append, text);
	return g_string_free(text, false);
}

/* The shown configuration is a file that gives the same configuration. */
static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_autoptr(GbeConfig) config = gbe_config_new(), again = gbe_config_new();
	g_autofree char *before = show(config), *first = NULL, *second = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_config_merge(config, "f", bytes, size, false, NULL, NULL, &error)) {
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		first = show(config);
		ck_assert_str_eq(first, before);
		return;
	}
	first = show(config);
	must_merge(again, first);
	second = show(again);
	ck_assert_str_eq(first, second);
}

START_TEST(any_bytes)
{
	gbe_mangle("# a\n[etcd]\ndata-dir=/var/lib/x\nservice=a.service\n[health]\ntimeout=90s\n"
		   "[backup]\nkeep-good=3\nverify=full\n[run]\nmemory-high=1GiB\n[x]\ny=z\n"
		   "[store]\nurl=https://h:1/b/p\nrate-limit=1M\nprove=\nprove-warn=2d\n",
		   mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-config");
	TCase *config = tcase_create("config");

	tcase_set_timeout(config, 60);
	tcase_add_test(config, every_key_and_its_default);
	tcase_add_test(config, defaults_in_the_struct);
	tcase_add_test(config, later_wins_key_by_key);
	tcase_add_test(config, words_mean_what_they_say);
	tcase_add_test(config, a_store_of_objects);
	tcase_add_test(config, addresses_of_buckets);
	tcase_add_test(config, the_password_of_a_proxy);
	tcase_add_test(config, wrong_values);
	tcase_add_test(config, wrong_files);
	tcase_add_test(config, twice_in_a_file);
	tcase_add_test(config, unknown_is_a_warning_or_an_error);
	tcase_add_test(config, programs_that_read);
	tcase_add_test(config, between_keys);
	tcase_add_test(config, durations_and_sizes);
	tcase_add_test(config, any_bytes);
	suite_add_tcase(suite, config);
	return gbe_unit_main(suite);
}
