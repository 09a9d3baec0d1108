/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For the tests of src/sys and src/etcd: one scratch directory per program, and in it a root for each test that needs
 * one. main() removes it after any result.
 */
#pragma once

#include "lib/unit.h"

#include "base/auto.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *scratch; /* absolute */
static char *root;    /* below it, of this test */
static int root_fd = -1;

/* Runs a program to its end; -1 when it could not be started. @ret_output may be NULL. */
static inline int
run_program(const char *const *argv, char **ret_output)
{
	g_autoptr(GError) error = NULL;
	int status = -1;

	if (!g_spawn_sync(NULL, (char **)argv, NULL,
			  G_SPAWN_SEARCH_PATH |
			      (ret_output == NULL ? G_SPAWN_STDOUT_TO_DEV_NULL : 0) |
			      /* It tells on stderr that all is well. */
			      (g_str_equal(argv[0], "etcdctl") ? G_SPAWN_STDERR_TO_DEV_NULL : 0),
			  NULL, NULL, ret_output, NULL, &status, &error))
		return -1;
	return status;
}

#define RUN(...) run_program((const char *const[]){__VA_ARGS__, NULL}, NULL)

/* The main of these programs. */
static inline int
scratch_main(Suite *suite)
{
	const char *dir = g_getenv("GBE_TEST_DIR");
	int status;

	scratch = g_build_filename(dir != NULL ? dir : g_get_tmp_dir(), "gbe-sys-XXXXXX", NULL);
	if (g_mkdtemp_full(scratch, 0755) == NULL) {
		(void)fprintf(stderr, "cannot make %s\n", scratch);
		return EXIT_FAILURE;
	}
	status = gbe_unit_main(suite);
	(void)RUN("rm", "-rf", "--", scratch);
	return status;
}

/* Checked fixtures. */
static inline void
root_setup(void)
{
	root = g_build_filename(scratch, "root-XXXXXX", NULL);
	ck_assert_ptr_nonnull(g_mkdtemp_full(root, 0755));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root_fd, 0);
}

static inline void
root_teardown(void)
{
	gbe_close_fd(&root_fd);
	g_clear_pointer(&root, g_free);
}

static inline char *
root_path(const char *path)
{
	return g_build_filename(root, path, NULL);
}

static inline void
root_make_parents(const char *path)
{
	g_autofree char *full = root_path(path);
	g_autofree char *dir = g_path_get_dirname(full);

	ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
}

static inline void
root_write_bytes(const char *path, const void *bytes, gsize size)
{
	g_autofree char *full = root_path(path);

	root_make_parents(path);
	ck_assert(g_file_set_contents(full, bytes, (gssize)size, NULL));
}

static inline void
root_write(const char *path, const char *text)
{
	root_write_bytes(path, text, strlen(text));
}

static inline void
root_mkdir(const char *path)
{
	g_autofree char *full = root_path(path);

	ck_assert_int_eq(g_mkdir_with_parents(full, 0755), 0);
}

static inline void
root_link(const char *path, const char *target)
{
	g_autofree char *full = root_path(path);

	root_make_parents(path);
	(void)unlink(full);
	ck_assert_int_eq(symlink(target, full), 0);
}

static inline void
root_remove(const char *path)
{
	g_autofree char *full = root_path(path);

	ck_assert_int_eq(RUN("rm", "-rf", "--", full), 0);
}

static inline bool
have_root(const char *test)
{
	if (geteuid() == 0)
		return true;
	gbe_unit_skip(test, "needs root; run it as root");
	return false;
}

/* From here on only this process sees the test's mounts; they end when it exits. */
static inline bool
own_mounts(const char *test)
{
	if (!have_root(test))
		return false;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		gbe_unit_skip(test, "cannot mount here");
		return false;
	}
	/* The old descriptor is of the mounts that were left. */
	if (root != NULL) {
		gbe_close_fd(&root_fd);
		root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return true;
}

#define ck_assert_error(error, code_)                                                              \
	do {                                                                                       \
		ck_assert_msg((error) != NULL && (error)->domain == GBE_ERROR,                     \
			      "no error of ours");                                                 \
		ck_assert_msg((error)->code == (int)(code_), "code %d: %s", (error)->code,         \
			      (error)->message);                                                   \
	} while (0)
