/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/child.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Files of etcd's user: DAC_OVERRIDE (1) and FOWNER (3). */
#define KEPT ((guint64)(1 << 1 | 1 << 3))

typedef int (*Work)(void);

/* The result of @work, in a process of its own that may write below a/ and below b/new/. */
static int
confined(Work work)
{
	static const char *const directories[] = {"/a", "/b/new/deep", NULL};
	pid_t pid = fork();
	int status = -1;

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(gbe_confine(root_fd, directories, NULL) ? work() : 99);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool
creates(const char *path)
{
	int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0;
}

static int
write_below(void)
{
	return (creates("a/new") ? 1 : 0) | (mkdirat(root_fd, "a/dir", 0700) == 0 ? 2 : 0) |
	       (renameat(root_fd, "a/new", root_fd, "a/dir/moved") == 0 ? 4 : 0) |
	       (unlinkat(root_fd, "a/old", 0) == 0 ? 8 : 0) | (creates("b/new") ? 16 : 0);
}

static int
write_elsewhere(void)
{
	int fd = openat(root_fd, "c/old", O_WRONLY | O_CLOEXEC);

	return (fd >= 0 ? 1 : 0) | (creates("c/new") ? 2 : 0) |
	       (unlinkat(root_fd, "c/old", 0) == 0 ? 4 : 0) |
	       (renameat(root_fd, "c/old", root_fd, "a/old") == 0 ? 8 : 0) |
	       (truncate("/proc/self/comm", 0) == 0 ? 16 : 0);
}

static int
read_and_run(void)
{
	int fd = openat(root_fd, "c/old", O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0 || read(fd, &c, 1) != 1)
		return 1;
	(void)execl("/bin/true", "true", NULL);
	return errno == EACCES ? 0 : 2;
}

static guint64
status_of(const char *label)
{
	g_autofree char *text = NULL;
	const char *at;

	ck_assert(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
	at = strstr(text, label);
	ck_assert_ptr_nonnull(at);
	return g_ascii_strtoull(at + strlen(label) + 1, NULL, 16);
}

static int
look_at_privileges(void)
{
	return (status_of("CapEff:") & ~KEPT) == 0 && (status_of("CapPrm:") & ~KEPT) == 0 &&
		       status_of("NoNewPrivs:") == 1
		   ? 0
		   : 1;
}

static bool
has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 2;
}

START_TEST(capabilities)
{
	ck_assert_int_eq(confined(look_at_privileges), 0);
	/* Root had more. */
	if (geteuid() == 0)
		ck_assert_int_eq(look_at_privileges(), 1);
}
END_TEST

START_TEST(writes_below_directories_alone)
{
	root_write("a/old", "x");
	root_write("c/old", "x");
	ck_assert_int_eq(mkdirat(root_fd, "b", 0700), 0);
	ck_assert_int_eq(confined(write_below), 1 | 2 | 4 | 8 | 16);
	if (!has_landlock())
		return;
	ck_assert_int_eq(confined(write_elsewhere), 0);
	ck_assert_int_eq(confined(read_and_run), 0);
}
END_TEST

/* A right that a caller asks for is never dropped silently. */
START_TEST(no_root)
{
	static const char *const directories[] = {"/a", NULL};
	g_autoptr(GError) error = NULL;

	if (!has_landlock())
		return;
	ck_assert(!gbe_confine(-1, directories, &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-confine");
	TCase *tcase = tcase_create("confine");

	tcase_add_checked_fixture(tcase, root_setup, root_teardown);
	tcase_add_test(tcase, capabilities);
	tcase_add_test(tcase, writes_below_directories_alone);
	tcase_add_test(tcase, no_root);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
