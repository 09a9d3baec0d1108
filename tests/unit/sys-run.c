/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/deployment/deployments.h"
#include "sys/systemd/units.h"

#define BOOT_ID "proc/sys/kernel/random/boot_id"
#define UUID "8d1f8a34-9a5b-4C3e-a111-0123456789ab\n"
#define RUN_ID "8d1f8a349a5b4c3ea1110123456789ab"
#define COUNT "run/greenboot-etcd/soft-reboots"

START_TEST(boot_id_without_dashes)
{
	g_autofree char *run = NULL;

	root_write(BOOT_ID, UUID);
	ck_assert(gbe_run_read(root_fd, false, &run, NULL));
	ck_assert_str_eq(run, RUN_ID);
}
END_TEST

START_TEST(soft_reboots_are_runs_of_their_own)
{
	static const struct {
		const char *text, *run;
	} cases[] = {{"0\n", RUN_ID}, {"1", RUN_ID "+1"}, {"12\n", RUN_ID "+12"}};

	root_write(BOOT_ID, UUID);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *run = NULL;

		root_write(COUNT, cases[i].text);
		ck_assert(gbe_run_read(root_fd, false, &run, NULL));
		ck_assert_str_eq(run, cases[i].run);
	}
}
END_TEST

START_TEST(unknown_is_an_error_never_a_run)
{
	static const char *const ids[] = {
	    "",
	    "\n",
	    "8d1f8a349a5b4c3ea1110123456789ab\n",
	    "8d1f8a34-9a5b-4c3e-a111-0123456789a\n",
	    "8d1f8a34-9a5b-4c3e-a111-0123456789abc\n",
	    "8d1f8a34-9a5b-4c3e-a111-0123456789ag\n",
	    "------------------------------------\n",
	};
	static const char *const counts[] = {"", "x\n", "-1\n", "1 2\n", "99999999999999999999\n"};
	char *run = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(ids); i++) {
		g_autoptr(GError) error = NULL;

		root_write(BOOT_ID, ids[i]);
		ck_assert_msg(!gbe_run_read(root_fd, false, &run, &error), "%s", ids[i]);
		ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
	}
	root_write(BOOT_ID, UUID);
	for (gsize i = 0; i < G_N_ELEMENTS(counts); i++) {
		g_autoptr(GError) error = NULL;

		root_write(COUNT, counts[i]);
		ck_assert_msg(!gbe_run_read(root_fd, false, &run, &error), "%s", counts[i]);
		ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
	}
	ck_assert_ptr_null(run);
}
END_TEST

START_TEST(no_boot_id_is_unknown)
{
	g_autoptr(GError) error = NULL;
	char *run = NULL;

	ck_assert(!gbe_run_read(root_fd, false, &run, &error));
	ck_assert_error(error, GBE_ERROR_CANNOT_TELL);
	ck_assert_ptr_null(run);
}
END_TEST

/* The machine's own. PID 1 may be any program, but then there is no count. The id is the kernel's. */
START_TEST(of_this_machine)
{
	g_autofree char *text = NULL;
	g_autofree char *run = NULL;
	int slash = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gsize n = 0;

	if (g_file_test("/run/systemd/system", G_FILE_TEST_EXISTS)) {
		gbe_unit_skip("of-this-machine", "optional: systemd runs here; sys-units asks one");
		return;
	}
	ck_assert(g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL));
	for (const char *at = text; *at != '\0'; at++)
		if (g_ascii_isxdigit(*at))
			text[n++] = *at;
	text[n] = '\0';
	ck_assert(gbe_run_read(slash, true, &run, NULL));
	ck_assert_str_eq(run, text);
	ck_assert_int_eq(gbe_system_stopping(), GBE_UNKNOWN);
	(void)close(slash);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-run");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_add_test(files, boot_id_without_dashes);
	tcase_add_test(files, soft_reboots_are_runs_of_their_own);
	tcase_add_test(files, unknown_is_an_error_never_a_run);
	tcase_add_test(files, no_boot_id_is_unknown);
	tcase_add_test(files, of_this_machine);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
