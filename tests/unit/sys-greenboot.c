/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/deployment/greenboot.h"

#define UNIT "greenboot-healthcheck.service"
#define HEADER "# GRUB Environment Block\n"
#define SUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void
install_rust(void)
{
	root_write("usr/libexec/greenboot/greenboot", "ELF");
	root_write("usr/lib/systemd/system/" UNIT, "[Service]\n");
}

static void
install_shell(void)
{
	install_rust();
	root_write("usr/libexec/greenboot/redboot-auto-reboot", "#!/bin/bash\n");
	root_write("usr/lib/systemd/system/redboot.target", "[Unit]\n");
}

static void
enable(void)
{
	root_link("etc/systemd/system/multi-user.target.wants/" UNIT,
		  "/usr/lib/systemd/system/" UNIT);
}

static GbeGreenboot *
load(void)
{
	return gbe_greenboot_load(root_fd);
}

static void
expect_enabled(GbeTri enabled, const char *why)
{
	g_autoptr(GbeGreenboot) g = load();

	ck_assert_int_eq(g->enabled, enabled);
	ck_assert_pstr_eq(g->enabled_why, why);
}

START_TEST(flavours)
{
	g_autoptr(GbeGreenboot) none = load();
	g_autoptr(GbeGreenboot) rust = NULL;
	g_autoptr(GbeGreenboot) shell = NULL;

	ck_assert_int_eq(none->flavour, GBE_GREENBOOT_NONE);
	ck_assert_int_eq(none->enabled, GBE_NO);
	ck_assert_str_eq(none->enabled_why, "not installed");
	ck_assert_int_eq(none->grubenv, GBE_NO);
	ck_assert_int_eq(none->can_count, GBE_NO);
	ck_assert_int_eq(none->rollback_imminent, GBE_NO);
	ck_assert_uint_eq(none->attempt, 0);
	install_rust();
	rust = load();
	ck_assert_int_eq(rust->flavour, GBE_GREENBOOT_RUST);
	install_shell();
	shell = load();
	ck_assert_int_eq(shell->flavour, GBE_GREENBOOT_SHELL);
	ck_assert_str_eq(gbe_greenboot_flavour_to_string(none->flavour), "none");
	ck_assert_str_eq(gbe_greenboot_flavour_to_string(rust->flavour), "rust");
	ck_assert_str_eq(gbe_greenboot_flavour_to_string(shell->flavour), "shell");
}
END_TEST

START_TEST(enabled_by_a_link)
{
	install_rust();
	expect_enabled(GBE_NO, "not enabled");
	enable();
	expect_enabled(GBE_YES, NULL);
	root_remove("etc/systemd/system/multi-user.target.wants");
	expect_enabled(GBE_NO, "not enabled");
	root_link("usr/lib/systemd/system/boot-complete.target.requires/" UNIT, "../" UNIT);
	expect_enabled(GBE_YES, NULL);
	root_link("run/systemd/system/boot-complete.target.requires/" UNIT, "/dev/null");
	expect_enabled(GBE_NO, "not enabled");
	/* A link for another unit does not count. */
	root_link("etc/systemd/system/multi-user.target.wants/x" UNIT, "../x");
	expect_enabled(GBE_NO, "not enabled");
}
END_TEST

START_TEST(masked)
{
	static const char *const masks[] = {
	    "etc/systemd/system/" UNIT,
	    "run/systemd/system/" UNIT,
	    "run/systemd/generator.early/" UNIT,
	};

	install_rust();
	enable();
	for (gsize i = 0; i < G_N_ELEMENTS(masks); i++) {
		root_link(masks[i], "/dev/null");
		expect_enabled(GBE_NO, "masked");
		root_remove(masks[i]);
		expect_enabled(GBE_YES, NULL);
	}
	root_write("etc/systemd/system/" UNIT, "");
	expect_enabled(GBE_NO, "masked");
	/* A person's own unit in /etc overrides a mask in /run. */
	root_write("etc/systemd/system/" UNIT, "[Service]\n");
	root_link("run/systemd/system/" UNIT, "/dev/null");
	expect_enabled(GBE_YES, NULL);
}
END_TEST

START_TEST(enabled_without_a_unit)
{
	root_write("usr/libexec/greenboot/greenboot", "ELF");
	enable();
	expect_enabled(GBE_NO, "not installed");
}
END_TEST

START_TEST(unreadable_is_unknown)
{
	g_autoptr(GbeGreenboot) g = NULL;

	install_rust();
	root_remove("etc/systemd/system");
	root_write("etc/systemd/system", "a file where a directory belongs");
	g = load();
	ck_assert_int_eq(g->enabled, GBE_UNKNOWN);
	ck_assert_ptr_nonnull(strstr(g->enabled_why, "/etc/systemd/system"));
}
END_TEST

/* The tables of greenboot.md, 3.2: what each boot of an always failing deployment sees. */
typedef struct {
	const char *vars;
	bool has_counter;
	gint64 counter;
	guint attempt;
	GbeTri imminent;
	bool trigger;
} Seen;

static void
expect_seen(const Seen *seen)
{
	g_autofree char *text = g_strconcat(HEADER, seen->vars, "####", NULL);
	g_autoptr(GbeGreenboot) g = NULL;

	root_write("boot/grub2/grubenv", text);
	g = load();
	ck_assert_msg(g->grubenv == GBE_YES, "%s", seen->vars);
	ck_assert_msg(g->has_counter == seen->has_counter, "%s", seen->vars);
	ck_assert_msg(g->boot_counter == seen->counter, "%s", seen->vars);
	ck_assert_msg(g->attempt == seen->attempt, "%s: attempt %u", seen->vars, g->attempt);
	ck_assert_msg(g->rollback_imminent == seen->imminent, "%s", seen->vars);
	ck_assert_msg(g->trigger == seen->trigger, "%s", seen->vars);
	/* A counter that was just set is before the first attempt. */
	ck_assert_msg(g->counts == gbe_tri(seen->attempt > 0 || seen->counter > 0), "%s",
		      seen->vars);
}

START_TEST(countdown_of_shell)
{
	static const Seen boots[] = {
	    {"boot_success=1\n", false, 0, 0, GBE_NO, false},
	    {"boot_counter=3\nboot_success=0\n", true, 3, 0, GBE_NO, false}, /* staged */
	    {"boot_counter=2\nboot_success=0\n", true, 2, 1, GBE_NO, false},
	    {"boot_counter=1\nboot_success=0\n", true, 1, 2, GBE_NO, false},
	    {"boot_counter=0\nboot_success=0\n", true, 0, 3, GBE_YES, false},
	    {"boot_counter=-1\nboot_success=0\n", true, -1, 0, GBE_NO, false},
	    {"boot_counter=\n", false, 0, 0, GBE_NO, false},
	    {"boot_counter=two\n", false, 0, 0, GBE_NO, false},
	};

	install_shell();
	for (gsize i = 0; i < G_N_ELEMENTS(boots); i++)
		expect_seen(&boots[i]);
}
END_TEST

START_TEST(countdown_of_rust)
{
	static const Seen boots[] = {
	    {"boot_success=1\n", false, 0, 0, GBE_NO, false},
	    {"greenboot_next_deployment_id=" SUM_A "\n", false, 0, 1, GBE_NO, true},
	    {"greenboot_rollback_trigger=1\n", false, 0, 1, GBE_NO, true},
	    {"boot_counter=3\ngreenboot_rollback_trigger=1\n", true, 3, 1, GBE_NO, true},
	    {"boot_counter=2\ngreenboot_rollback_trigger=1\n", true, 2, 2, GBE_NO, true},
	    {"boot_counter=1\ngreenboot_rollback_trigger=1\n", true, 1, 3, GBE_NO, true},
	    {"boot_counter=0\ngreenboot_rollback_trigger=1\n", true, 0, 4, GBE_YES, true},
	    {"boot_counter=0\n", true, 0, 4, GBE_NO, false},
	    {"boot_counter=-1\ngreenboot_rollback_trigger=1\n", true, -1, 0, GBE_YES, true},
	    {"boot_counter=0\ngreenboot_rollback_trigger=0\n", true, 0, 4, GBE_NO, false},
	};

	install_rust();
	for (gsize i = 0; i < G_N_ELEMENTS(boots); i++)
		expect_seen(&boots[i]);
}
END_TEST

/* GRUB boots its second entry at 0 and at -1, whichever flavour set the counter. */
START_TEST(what_boots_after_the_countdown)
{
	static const struct {
		void (*install)(void);
		const char *counter;
		bool ends, becomes_default;
	} cases[] = {
	    {NULL, "0", false, false},		{install_rust, "1", false, false},
	    {install_rust, "0", true, false},	{install_rust, "-1", true, false},
	    {install_shell, "1", false, false}, {install_shell, "0", true, false},
	    {install_shell, "-1", false, true},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
		    g_strconcat(HEADER, "boot_counter=", cases[i].counter, "\n####", NULL);
		g_autoptr(GbeGreenboot) g = NULL;

		if (cases[i].install != NULL)
			cases[i].install();
		root_write("boot/grub2/grubenv", text);
		g = load();
		ck_assert_msg(g->ends_countdown == cases[i].ends, "%u", i);
		ck_assert_msg(g->becomes_default == cases[i].becomes_default, "%u", i);
	}
}
END_TEST

START_TEST(broken_grubenv_is_unknown)
{
	g_autoptr(GbeGreenboot) g = NULL;

	install_shell();
	root_write("boot/grub2/grubenv", "boot_counter=0\n");
	g = load();
	ck_assert_int_eq(g->grubenv, GBE_UNKNOWN);
	ck_assert_int_eq(g->rollback_imminent, GBE_UNKNOWN);
	ck_assert_int_eq(g->can_count, GBE_NO);
	ck_assert(!g->has_counter);
}
END_TEST

START_TEST(max_attempts)
{
	static const struct {
		const char *text;
		guint max;
	} cases[] = {
	    {"", 3},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=5\n", 5},
	    {"# GREENBOOT_MAX_BOOT_ATTEMPTS=5\n", 3},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=\"4\"\n", 4},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS = '6' \n", 6},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=5\nGREENBOOT_MAX_BOOT_ATTEMPTS=7", 7},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=many\n", 3},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=-1\n", 3},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS_X=9\nGREENBOOT_MAX_BOOTS=8\n", 3},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=\n", 3},
	    {"GREENBOOT_MAX_BOOT_ATTEMPTS=\"\n", 3},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeGreenboot) g = NULL;

		root_write("etc/greenboot/greenboot.conf", cases[i].text);
		g = load();
		ck_assert_msg(g->max_attempts == cases[i].max, "%s", cases[i].text);
	}
}
END_TEST

START_TEST(attempts_follow_the_maximum)
{
	g_autoptr(GbeGreenboot) g = NULL;

	install_shell();
	root_write("etc/greenboot/greenboot.conf", "GREENBOOT_MAX_BOOT_ATTEMPTS=5\n");
	root_write("boot/grub2/grubenv", HEADER "boot_counter=1\n");
	g = load();
	ck_assert_uint_eq(g->attempt, 4);
}
END_TEST

START_TEST(next_deployment)
{
	static const struct {
		const char *next, *id;
		GbeTri is;
	} cases[] = {
	    {SUM_A, "fedora-iot-" SUM_A ".0", GBE_YES},
	    {SUM_A, "fedora-iot-" SUM_A ".10", GBE_YES},
	    {SUM_A, "fedora-iot-" SUM_B ".0", GBE_NO},
	    {SUM_A, "nonsense", GBE_UNKNOWN},
	    {SUM_A, NULL, GBE_UNKNOWN},
	    {"fedora-iot-" SUM_A ".1", "fedora-iot-" SUM_A ".1", GBE_YES},
	    {"fedora-iot-" SUM_A ".1", "fedora-iot-" SUM_A ".10", GBE_NO},
	    {"sha256:" SUM_A, "fedora-iot-" SUM_A ".0", GBE_UNKNOWN},
	    {"\xff\xfe", "fedora-iot-" SUM_A ".0", GBE_UNKNOWN},
	    {"", "fedora-iot-" SUM_A ".0", GBE_UNKNOWN},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
		    g_strconcat(HEADER, "greenboot_next_deployment_id=", cases[i].next, "\n", NULL);
		g_autoptr(GbeGreenboot) g = NULL;

		root_write("boot/grub2/grubenv", text);
		g = load();
		ck_assert_msg(gbe_greenboot_next_is(g, cases[i].id) == cases[i].is, "%s and %s",
			      cases[i].next, cases[i].id);
	}
}
END_TEST

/* The files that show if GRUB counts; "": the file is missing. */
static const struct {
	const char *name, *text;
	const char *beside, *its_text;
	GbeTri counts;
} configs[] = {
    {NULL, NULL, NULL, NULL, GBE_UNKNOWN},
    {"grub2/grub.cfg", "set default=0\nblscfg\n", NULL, NULL, GBE_NO},
    {"grub/grub.cfg", "menuentry 'A' {\n}\n", NULL, NULL, GBE_NO},
    {"grub2/grub.cfg", "if [ \"${boot_counter}\" ]; then\nfi\nblscfg\n", NULL, NULL, GBE_YES},
    {"grub2/grub.cfg", "blscfg\n", "grub2/custom.cfg", "set boot_counter=0\n", GBE_YES},
    {"grub2/grub.cfg", "blscfg\n", "grub2/notes", "boot_counter\n", GBE_NO},
    /* No menu: it refers to another file. */
    {"grub2/grub.cfg", "configfile (hd0)/grub.cfg\n", NULL, NULL, GBE_UNKNOWN},
    {"grub2/grub.cfg", "", NULL, NULL, GBE_UNKNOWN},
};

START_TEST(counted_by_grub)
{
	g_autoptr(GbeGreenboot) greenboot = NULL;
	const char *const names[] = {configs[_i].name, configs[_i].beside};
	const char *const texts[] = {configs[_i].text, configs[_i].its_text};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strconcat("boot/", names[i], NULL);

		if (names[i] != NULL)
			root_write(path, texts[i]);
	}
	ck_assert_int_eq(gbe_grub_counts(root_fd), configs[_i].counts);
	root_write("boot/grub2/grubenv", HEADER);
	greenboot = load();
	/* The scratch directory may itself be on btrfs, where GRUB cannot count. */
	ck_assert((greenboot->count_why != NULL) ==
		  (greenboot->can_count == GBE_NO || configs[_i].counts == GBE_NO));
}
END_TEST

/* GRUB writes to a plain file system, but not to btrfs: a real one of each. */
START_TEST(can_count)
{
	g_autofree char *boot = root_path("boot");
	g_autofree char *image = root_path("boot.img");
	g_autoptr(GbeGreenboot) plain = NULL;
	g_autoptr(GbeGreenboot) btrfs = NULL;
	int fd;

	if (!own_mounts("can-count"))
		return;
	root_mkdir("boot");
	ck_assert_int_eq(mount("none", boot, "tmpfs", 0, NULL), 0);
	root_write("boot/grub2/grubenv", HEADER);
	plain = load();
	ck_assert_int_eq(plain->can_count, GBE_YES);
	ck_assert_int_eq(umount(boot), 0);
	fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, 128 * 1024 * 1024), 0);
	(void)close(fd);
	if (RUN("mkfs.btrfs", "-q", image) != 0 || RUN("mount", "-o", "loop", image, boot) != 0) {
		gbe_unit_skip("can-count", "cannot make and mount a btrfs");
		return;
	}
	root_write("boot/grub2/grubenv", HEADER);
	btrfs = load();
	ck_assert_int_eq(umount(boot), 0);
	ck_assert_int_eq(btrfs->grubenv, GBE_YES);
	ck_assert_int_eq(btrfs->can_count, GBE_NO);
}
END_TEST

/* A failed boot brings another system back only with these units. */
START_TEST(units_that_a_rollback_needs)
{
	static const struct {
		bool shell;
		const char *units[2];
	} cases[] = {
	    {true, {"greenboot-grub2-set-counter.service", "redboot-auto-reboot.service"}},
	    {false, {"greenboot-set-rollback-trigger.service", NULL}},
	};
	bool shell = cases[_i].shell;

	root_write("boot/grub2/grubenv", HEADER);
	(shell ? install_shell : install_rust)();
	enable();
	for (gsize i = 0; i < 2 && cases[_i].units[i] != NULL; i++) {
		const char *unit = cases[_i].units[i];
		g_autofree char *file = g_strconcat("usr/lib/systemd/system/", unit, NULL);
		g_autofree char *link =
		    g_strconcat("etc/systemd/system/some.service.requires/", unit, NULL);
		g_autofree char *target = g_strconcat("/", file, NULL);
		g_autoptr(GbeGreenboot) without = load();

		ck_assert_int_eq(without->can_count, GBE_NO);
		ck_assert_ptr_nonnull(strstr(without->count_why, unit));
		root_write(file, "[Service]\n");
		root_link(link, target);
	}
	{
		g_autoptr(GbeGreenboot) with = load();

		/* The scratch directory may itself be on btrfs. */
		ck_assert(with->count_why == NULL || strstr(with->count_why, "btrfs") != NULL);
	}
}
END_TEST

START_TEST(not_looked_at_is_not_absent)
{
	g_autoptr(GbeGreenboot) greenboot = NULL;

	/* As EIO would: the way there is no directory. */
	root_write("usr/libexec/greenboot/link", "");
	root_remove("usr/libexec/greenboot");
	root_link("usr/libexec/greenboot", "/usr/libexec/greenboot");
	greenboot = load();
	ck_assert_int_eq(greenboot->flavour, GBE_GREENBOOT_NONE);
	ck_assert_int_eq(greenboot->enabled, GBE_UNKNOWN);
	ck_assert_int_eq(greenboot->counts, GBE_UNKNOWN);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-greenboot");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_add_test(files, flavours);
	tcase_add_test(files, enabled_by_a_link);
	tcase_add_test(files, masked);
	tcase_add_test(files, enabled_without_a_unit);
	tcase_add_test(files, unreadable_is_unknown);
	tcase_add_test(files, not_looked_at_is_not_absent);
	tcase_add_loop_test(files, units_that_a_rollback_needs, 0, 2);
	tcase_add_test(files, countdown_of_shell);
	tcase_add_test(files, countdown_of_rust);
	tcase_add_test(files, what_boots_after_the_countdown);
	tcase_add_test(files, broken_grubenv_is_unknown);
	tcase_add_test(files, max_attempts);
	tcase_add_test(files, attempts_follow_the_maximum);
	tcase_add_test(files, next_deployment);
	tcase_add_test(files, can_count);
	tcase_add_loop_test(files, counted_by_grub, 0, (int)G_N_ELEMENTS(configs));
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
