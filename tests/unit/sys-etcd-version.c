/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/child.h"

static void
install(const char *name, const char *text)
{
	gbe_autofd int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(reads_the_version)
{
	static const struct {
		const char *script, *version;
	} cases[] = {
	    {"#!/bin/sh\necho etcd Version: 3.5.16\necho Git SHA: x\n", "3.5.16"},
	    {"#!/bin/sh\n[ \"$1\" = --version ] && echo etcd Version: 3.7.1; exit 1\n", "3.7.1"},
	    {"#!/bin/sh\necho etcd: unknown option\n", NULL},
	    {"#!/bin/sh\necho etcd Version: 3.5.16 >&2\n", NULL},
	    {"not a program", NULL},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *name = g_strdup_printf("etcd-%u", i);
		g_autofree char *path = g_strdup_printf("/%s", name);
		g_autofree char *version = NULL;

		install(name, cases[i].script);
		version = gbe_etcd_version_of_binary(root_fd, path, GBE_ETCD_VERSION_MS);
		ck_assert_pstr_eq(version, cases[i].version);
	}
	ck_assert_ptr_null(gbe_etcd_version_of_binary(root_fd, "/missing", GBE_ETCD_VERSION_MS));
	ck_assert_ptr_null(gbe_etcd_version_of_binary(root_fd, "etcd-0", GBE_ETCD_VERSION_MS));
}
END_TEST

START_TEST(a_program_that_hangs_has_no_version)
{
	install("hangs", "#!/bin/sh\nexec sleep 1000\n");
	ck_assert_ptr_null(gbe_etcd_version_of_binary(root_fd, "/hangs", 100));
}
END_TEST

/* This program stands in for etcd: main() answers with its process id as the version, so that each question has an answer
 * of its own. */
static void
install_program(void)
{
	g_autofree char *bytes = NULL;
	gsize size;
	int fd;

	ck_assert(g_file_get_contents("/proc/self/exe", &bytes, &size, NULL));
	(void)unlinkat(root_fd, "etcd", 0);
	fd = openat(root_fd, "etcd", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	ck_assert_int_eq(close(fd), 0);
}

START_TEST(a_program_is_asked_once_in_a_boot)
{
	g_autofree char *first = NULL, *second = NULL, *replaced = NULL, *script = NULL;
	g_autofree char *script_again = NULL;

	install_program();
	first = gbe_etcd_version_in_boot(root_fd, "/etcd", GBE_ETCD_VERSION_MS);
	ck_assert_ptr_nonnull(first);
	second = gbe_etcd_version_in_boot(root_fd, "/etcd", GBE_ETCD_VERSION_MS);
	ck_assert_str_eq(first, second);
	install_program();
	replaced = gbe_etcd_version_in_boot(root_fd, "/etcd", GBE_ETCD_VERSION_MS);
	ck_assert_ptr_nonnull(replaced);
	ck_assert_str_ne(first, replaced);

	install("script", "#!/bin/sh\necho etcd Version: $$\n");
	script = gbe_etcd_version_in_boot(root_fd, "/script", GBE_ETCD_VERSION_MS);
	script_again = gbe_etcd_version_in_boot(root_fd, "/script", GBE_ETCD_VERSION_MS);
	ck_assert_ptr_nonnull(script);
	ck_assert_str_ne(script, script_again);
	ck_assert_ptr_null(gbe_etcd_version_in_boot(root_fd, "/missing", GBE_ETCD_VERSION_MS));
}
END_TEST

START_TEST(an_answer_that_cannot_be_kept_is_given)
{
	g_autofree char *version = NULL;

	install_program();
	ck_assert_int_eq(symlinkat("/nowhere/at/all", root_fd, "run"), 0);
	version = gbe_etcd_version_in_boot(root_fd, "/etcd", GBE_ETCD_VERSION_MS);
	ck_assert_ptr_nonnull(version);
}
END_TEST

/* The kernel hides the descriptors of a process that has read a key from all others, its children too. */
START_TEST(a_process_that_hides_its_memory_reads_it)
{
	int status;
	pid_t pid;

	install("etcd", "#!/bin/sh\necho etcd Version: 3.5.16\n");
	ck_assert_int_eq(chmod(scratch, 0755), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		g_autofree char *version = NULL;

		if ((geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) ||
		    prctl(PR_SET_DUMPABLE, 0) < 0)
			_exit(2);
		version = gbe_etcd_version_of_binary(root_fd, "/etcd", GBE_ETCD_VERSION_MS);
		_exit(g_strcmp0(version, "3.5.16") != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("sys-etcd-version");
	TCase *tcase = tcase_create("version");

	/* A sanitizer may end the process before what was printed is written. */
	if (argc == 2 && g_str_equal(argv[1], "--version"))
		return printf("etcd Version: %d\n", (int)getpid()) < 0 || fflush(stdout) != 0;
	tcase_add_checked_fixture(tcase, root_setup, root_teardown);
	tcase_add_test(tcase, reads_the_version);
	tcase_add_test(tcase, a_program_is_asked_once_in_a_boot);
	tcase_add_test(tcase, an_answer_that_cannot_be_kept_is_given);
	tcase_add_test(tcase, a_program_that_hangs_has_no_version);
	tcase_add_test(tcase, a_process_that_hides_its_memory_reads_it);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
