/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the configuration, their order, and the values in use when one of them is wrong. */
#include "app/state/configuration.h"

#include "app/state/state.h"
#include "core/json/parse.h"
#include "sys-root.h"
#include "sys/systemd/events.h"

#define A "test-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.0"
#define B "test-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.0"

#define VENDOR "usr/lib/greenboot-etcd/"
#define ETC "etc/greenboot-etcd/"
#define RUNTIME "run/greenboot-etcd/"
#define DROPIN "greenboot-etcd.conf.d/"

static GbeApp *app;

static void
setup(void)
{
	root_setup();
	gbe_events_init("test", true, true, 0);
	ck_assert(gbe_app_new("test", root, &app, NULL));
}

static void
teardown(void)
{
	gbe_app_free(app);
	root_teardown();
}

static void
load(void)
{
	g_autoptr(GError) error = NULL;

	ck_assert_msg(gbe_configuration_load(app, &error), "%s",
		      error != NULL ? error->message : "?");
}

static char *
load_error(void)
{
	g_autoptr(GError) error = NULL;

	ck_assert(!gbe_configuration_load(app, &error));
	ck_assert_error(error, GBE_ERROR_INVALID_CONFIG);
	return g_strdup(error->message);
}

/* The faults that a person is told, one a line. */
static char *
faults(void)
{
	g_autoptr(GPtrArray) all = gbe_configuration_check(app, true);

	g_ptr_array_add(all, NULL);
	return g_strjoinv("\n", (char **)all->pdata);
}

static void
ck_names(const char *text, const char *what)
{
	ck_assert_msg(text != NULL && strstr(text, what) != NULL, "\"%s\" does not name %s", text,
		      what);
}

START_TEST(without_files_the_defaults)
{
	load();
	ck_assert_str_eq(app->config->etcd.data_dir, "/var/lib/etcd");
	ck_assert_uint_eq(app->config->health.timeout, 300);
}
END_TEST

START_TEST(later_ones_win_key_by_key)
{
	root_write(VENDOR "greenboot-etcd.conf", "[health]\ntimeout=1min\nrequest-timeout=7s\n");
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	load();
	ck_assert_uint_eq(app->config->health.timeout, 120);
	ck_assert_uint_eq(app->config->health.request_timeout, 7);
	/* Sorted by name across all directories, not by directory. */
	root_write(RUNTIME DROPIN "10-a.conf", "[health]\ntimeout=3min\nrequest-timeout=8s\n");
	root_write(VENDOR DROPIN "20-b.conf", "[health]\ntimeout=4min\n");
	root_write(ETC DROPIN "15-c.conf", "[health]\ntimeout=5min\n");
	load();
	ck_assert_uint_eq(app->config->health.timeout, 240);
	ck_assert_uint_eq(app->config->health.request_timeout, 8);
}
END_TEST

START_TEST(same_name_masks)
{
	root_write(VENDOR DROPIN "10-a.conf", "[health]\ntimeout=3min\n");
	root_write(ETC DROPIN "10-a.conf", "[health]\nrequest-timeout=8s\n");
	load();
	ck_assert_uint_eq(app->config->health.timeout, 300);
	ck_assert_uint_eq(app->config->health.request_timeout, 8);
	root_link(RUNTIME DROPIN "10-a.conf", "/dev/null");
	load();
	ck_assert_uint_eq(app->config->health.request_timeout, 5);
}
END_TEST

START_TEST(other_files_are_not_looked_at)
{
	root_write(ETC DROPIN ".hidden.conf", "nonsense\n");
	root_write(ETC DROPIN "10-a.conf.rpmsave", "nonsense\n");
	root_write(ETC DROPIN "README", "nonsense\n");
	load();
}
END_TEST

START_TEST(one_file_alone)
{
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	root_write("my.conf", "[health]\nrequest-timeout=9s\n");
	app->config_file = g_strdup("/my.conf");
	load();
	ck_assert_uint_eq(app->config->health.timeout, 300);
	ck_assert_uint_eq(app->config->health.request_timeout, 9);
	g_free(app->config_file);
	app->config_file = g_strdup("/none.conf");
	g_free(load_error());
}
END_TEST

START_TEST(errors_name_file_and_line)
{
	g_autofree char *range = NULL;
	g_autofree char *key = NULL;
	g_autofree char *fifo = NULL;
	g_autofree char *path = root_path(ETC DROPIN "30-fifo.conf");

	root_write(ETC DROPIN "10-a.conf", "[health]\n\ntimeout=never\n");
	range = load_error();
	ck_names(range, "/etc/greenboot-etcd/greenboot-etcd.conf.d/10-a.conf:3");
	ck_names(range, "timeout");
	root_write(ETC DROPIN "10-a.conf", "[health]\ntimeuot=1s\n");
	load();
	key = faults();
	ck_names(key, "timeuot");
	root_remove(ETC DROPIN "10-a.conf");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fifo = load_error();
	ck_names(fifo, "30-fifo.conf");
}
END_TEST

START_TEST(what_fails_changes_nothing)
{
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	load();
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=9min\nrequest-timeout=never\n");
	g_free(load_error());
	ck_assert_uint_eq(app->config->health.timeout, 120);
}
END_TEST

START_TEST(too_large)
{
	g_autofree char *large = g_strnfill(1024 * 1024 + 1, '#');
	g_autofree char *text = NULL;

	root_write(ETC "greenboot-etcd.conf", large);
	text = load_error();
	ck_names(text, "/etc/greenboot-etcd/greenboot-etcd.conf");
}
END_TEST

/* At boot. */

static char *
load_for_boot(const char *deployment)
{
	char *complaint = NULL;

	gbe_configuration_load_for_boot(app, deployment, &complaint);
	return complaint;
}

static void
no_complaint(const char *deployment)
{
	g_autofree char *complaint = load_for_boot(deployment);

	ck_assert_msg(complaint == NULL, "%s", complaint);
}

START_TEST(the_last_that_worked)
{
	g_autofree char *of_a = NULL;
	g_autofree char *of_b = NULL;

	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	root_write(ETC DROPIN "10-a.conf", "[health]\nrequest-timeout=9s\n");
	no_complaint(A);
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=7min\n");
	root_write(ETC DROPIN "10-a.conf", "[health]\nrequest-timeout=often\n");
	of_a = load_for_boot(A);
	ck_names(of_a, "10-a.conf");
	ck_names(of_a, "last configuration");
	ck_assert_uint_eq(app->config->health.timeout, 120);
	ck_assert_uint_eq(app->config->health.request_timeout, 9);
	/* Another deployment has no record: it uses the files without the faulty key. */
	of_b = load_for_boot(B);
	ck_names(of_b, "10-a.conf");
	ck_assert_uint_eq(app->config->health.timeout, 420);
	ck_assert_uint_eq(app->config->health.request_timeout, 5);
}
END_TEST

START_TEST(written_only_when_changed)
{
	g_autofree char *path = root_path("var/lib/greenboot-etcd/configuration");
	struct stat first, second, third;

	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	no_complaint(A);
	ck_assert_int_eq(stat(path, &first), 0);
	no_complaint(A);
	ck_assert_int_eq(stat(path, &second), 0);
	ck_assert_uint_eq(first.st_ino, second.st_ino);
	ck_assert_ptr_null(app->lock);
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=3min\n");
	no_complaint(A);
	ck_assert_int_eq(stat(path, &third), 0);
	ck_assert(first.st_ino != third.st_ino || first.st_mtim.tv_nsec != third.st_mtim.tv_nsec);
}
END_TEST

/* A program that changes nothing works with files that are wrong, and writes nothing. */
START_TEST(looking_works_with_faults)
{
	g_autofree char *path = root_path("var");
	g_autofree char *complaint = NULL;
	g_autofree char *none = NULL;

	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\nrequest-timeout=often\n");
	ck_assert(gbe_configuration_load_to_look(app, &complaint, NULL));
	ck_names(complaint, "greenboot-etcd.conf:3: [health] request-timeout");
	ck_assert_uint_eq(app->config->health.timeout, 120);
	ck_assert_uint_eq(app->config->health.request_timeout, 5);
	ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	ck_assert(gbe_configuration_load_to_look(app, &none, NULL));
	ck_assert_ptr_null(none);
	/* A file that a person names must be readable. */
	app->config_file = g_strdup("/none.conf");
	ck_assert(!gbe_configuration_load_to_look(app, &none, NULL));
}
END_TEST

/* Each fault of each file, the contradictions between keys, and the rest of the files is in use. */
START_TEST(all_faults)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	root_write(ETC "greenboot-etcd.conf",
		   "[health]\ntimeout=never\nmonitor=2min\n[helth]\ntimeout=1s\n[backup]\nno\n");
	root_write(ETC DROPIN "10-a.conf", "[backup]\nkeep-bad=3\nkeep-bad=4\n[etcd]\nkey=/k\n");
	root_write("k", "");
	text = faults();
	lines = g_strsplit(text, "\n", -1);
	ck_assert_uint_eq(g_strv_length(lines), 5);
	ck_names(lines[0], "greenboot-etcd.conf:2: [health] timeout: ");
	ck_names(lines[1], "greenboot-etcd.conf:4: [helth]: there is no such group");
	ck_names(lines[2], "greenboot-etcd.conf:7: ");
	ck_names(lines[3], "10-a.conf:3: [backup] keep-bad: is there twice");
	ck_names(lines[4], "10-a.conf:5: [etcd] key: needs [etcd] cert");
	ck_assert_uint_eq(app->config->health.monitor, 120);
	ck_assert_uint_eq(app->config->health.timeout, 300);
	ck_assert_uint_eq(app->config->backup.keep_bad, 3);
}
END_TEST

START_TEST(choosing_writes_nothing)
{
	g_autofree char *path = root_path("var");
	g_autofree char *complaint = NULL;

	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	gbe_configuration_choose(app, A, &complaint);
	ck_assert_ptr_null(complaint);
	ck_assert_uint_eq(app->config->health.timeout, 120);
	ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
}
END_TEST

START_TEST(a_held_lock_is_not_waited_for)
{
	g_autoptr(GbeApp) other = NULL;
	g_autofree char *path = root_path("var/lib/greenboot-etcd/configuration");

	ck_assert(gbe_app_new("other", root, &other, NULL));
	ck_assert(gbe_app_lock(other, "backup", 0, NULL));
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n");
	no_complaint(A);
	ck_assert_uint_eq(app->config->health.timeout, 120);
	ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
}
END_TEST

START_TEST(a_broken_record_is_ignored)
{
	g_autofree char *complaint = NULL;

	root_write("var/lib/greenboot-etcd/configuration", "{\"deployment\": ");
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\nrequest-timeout=often\n");
	complaint = load_for_boot(A);
	ck_names(complaint, "the rest of the configuration");
	ck_assert_uint_eq(app->config->health.timeout, 120);
}
END_TEST

/* A faulty key in one file does not remove the same key of another. */
START_TEST(only_the_faulty_key_goes)
{
	g_autofree char *complaint = NULL;

	root_write(ETC DROPIN "10-a.conf", "[health]\ntimeout=often\nrequest-timeout=6s\n");
	root_write(ETC DROPIN "20-b.conf", "[health]\ntimeout=4min\n");
	root_write(ETC DROPIN "30-c.conf", "this is no key file\n");
	root_write(ETC DROPIN "40-d.conf", "[backup]\nkeep-bad=2\n");
	complaint = load_for_boot(NULL);
	ck_names(complaint, "10-a.conf");
	ck_assert_uint_eq(app->config->health.timeout, 240);
	ck_assert_uint_eq(app->config->health.request_timeout, 6);
	ck_assert_uint_eq(app->config->backup.keep_bad, 2);
}
END_TEST

START_TEST(unknown_keys_are_said)
{
	g_autofree char *complaint = NULL;

	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\ntimeuot=1s\n");
	complaint = load_for_boot(A);
	ck_names(complaint, "timeuot");
	ck_assert_uint_eq(app->config->health.timeout, 120);
}
END_TEST

static const char *
origin(const char *key)
{
	return g_hash_table_lookup(app->config->origins, key);
}

#define MICROSHIFT "usr/lib/systemd/system/microshift.service"

/* The lowest layer: what a file says goes before it, key by key. */
START_TEST(detected)
{
	root_write(MICROSHIFT, "[Service]\n");
	root_write(ETC "greenboot-etcd.conf", "[health]\ntimeout=2min\n[etcd]\nversion-file=v\n");
	load();
	ck_assert_str_eq(app->config->etcd.data_dir, "/var/lib/microshift");
	ck_assert_str_eq(app->config->etcd.service, "microshift.service");
	ck_assert_str_eq(app->config->etcd.version_file, "v");
	ck_assert_uint_eq(app->config->health.timeout, 120);
	ck_assert(!app->config->defrag.enabled);
	ck_assert_str_eq(origin("etcd.data-dir"), "detected: MicroShift");
	ck_assert_str_eq(origin("health.timeout"), "/etc/greenboot-etcd/greenboot-etcd.conf:2");
	ck_assert_ptr_null(origin("backup.keep-bad"));
}
END_TEST

/* Each of the three says that a person has chosen, whatever the value and the file. */
START_TEST(not_detected)
{
	static const char *const settings[] = {"service=", "service=etcd.service",
					       "data-dir=/var/lib/microshift",
					       "endpoint=http://127.0.0.1:2379"};

	root_write(MICROSHIFT, "[Service]\n");
	for (gsize i = 0; i < G_N_ELEMENTS(settings); i++) {
		g_autofree char *text = g_strdup_printf("[etcd]\n%s\n", settings[i]);

		root_write(RUNTIME DROPIN "50-own.conf", text);
		load();
		ck_assert_ptr_null(origin("etcd.member-dir"));
		ck_assert_str_ne(app->config->etcd.service != NULL ? app->config->etcd.service : "",
				 "microshift.service");
	}
}
END_TEST

/* Several: the defaults, a warning at boot, and an error where a person asks. */
START_TEST(ambiguous)
{
	g_autofree char *error = NULL;
	g_autofree char *complaint = NULL;

	root_write(MICROSHIFT, "[Service]\n");
	root_write("etc/containers/systemd/etcd.container", "[Container]\n");
	root_write("usr/lib/systemd/system/container-etcd.service", "[Service]\n");
	root_link("etc/systemd/system/multi-user.target.wants/microshift.service", "x");
	error = faults();
	ck_names(error, "MicroShift, etcd and etcd in a container are here");
	complaint = load_for_boot(A);
	ck_names(complaint, "which one to protect");
	ck_assert_str_eq(app->config->etcd.data_dir, "/var/lib/etcd");
	ck_assert_ptr_null(origin("etcd.data-dir"));
}
END_TEST

/* Without the faulty key nothing names a service: what is here is protected. A remembered configuration goes first. */
START_TEST(detected_below_a_fault)
{
	g_autofree char *complaint = NULL;

	root_write(MICROSHIFT, "[Service]\n");
	root_write(ETC "greenboot-etcd.conf", "[etcd]\nservice=microshift\n");
	complaint = load_for_boot(A);
	ck_names(complaint, "the rest of the configuration");
	ck_assert_str_eq(app->config->etcd.service, "microshift.service");
	root_write(ETC "greenboot-etcd.conf", "[etcd]\nservice=other.service\n");
	no_complaint(A);
	root_write(ETC "greenboot-etcd.conf", "[etcd]\nservice=other\n");
	g_clear_pointer(&complaint, g_free);
	complaint = load_for_boot(A);
	ck_names(complaint, "last configuration");
	ck_assert_str_eq(app->config->etcd.service, "other.service");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-configuration");
	TCase *tcase = tcase_create("configuration");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, without_files_the_defaults);
	tcase_add_test(tcase, later_ones_win_key_by_key);
	tcase_add_test(tcase, same_name_masks);
	tcase_add_test(tcase, other_files_are_not_looked_at);
	tcase_add_test(tcase, one_file_alone);
	tcase_add_test(tcase, errors_name_file_and_line);
	tcase_add_test(tcase, what_fails_changes_nothing);
	tcase_add_test(tcase, too_large);
	tcase_add_test(tcase, the_last_that_worked);
	tcase_add_test(tcase, written_only_when_changed);
	tcase_add_test(tcase, looking_works_with_faults);
	tcase_add_test(tcase, all_faults);
	tcase_add_test(tcase, choosing_writes_nothing);
	tcase_add_test(tcase, a_held_lock_is_not_waited_for);
	tcase_add_test(tcase, a_broken_record_is_ignored);
	tcase_add_test(tcase, only_the_faulty_key_goes);
	tcase_add_test(tcase, unknown_keys_are_said);
	tcase_add_test(tcase, detected);
	tcase_add_test(tcase, not_detected);
	tcase_add_test(tcase, ambiguous);
	tcase_add_test(tcase, detected_below_a_fault);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
