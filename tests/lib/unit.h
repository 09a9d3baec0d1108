/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The main of a unit test program. Check's last line ("100%: Checks: 12, Failures: 0, Errors: 0")
 * is what tests/run-suites counts; a program that ends without one has failed.
 *
 * The environment: GBE_TEST_DATA is the directory of the test data. GBE_TEST_DIR is the directory to work in, on a file
 * system of the kind GBE_TEST_FS. Without it a test uses a directory of its own.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs and frees @suite; returns the exit status for main. */
static inline int
gbe_unit_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Says that a test cannot run here, and why; the test returns afterwards. In CI that is a failure. Writes without
 * stdio, because the test runs in a child that shares the parent's buffer. */
static inline void
gbe_unit_skip(const char *name, const char *why)
{
	(void)fflush(stdout);
	(void)dprintf(STDOUT_FILENO, "skip %s: %s\n", name, why);
}
