/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/dlopen.h"
#include "lib/unit.h"

#include <math.h>

#define SONAME "libm.so.6"
#define FUNCTIONS(X) X(cbrt) X(hypot)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

START_TEST(loads)
{
	g_autoptr(GError) error = NULL;
	gpointer was;

	ck_assert(gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), &error));
	ck_assert(lib.cbrt(27) > 2.9 && lib.hypot(3, 4) > 4.9);
	was = (gpointer)lib.cbrt;
	/* A library that was missing is not searched again. */
	ck_assert(gbe_dlopen("libnone.so.1", lib_symbols, G_N_ELEMENTS(lib_symbols), &error));
	ck_assert_ptr_eq((gpointer)lib.cbrt, was);
}
END_TEST

/* All symbols or none. */
START_TEST(refuses)
{
	gpointer there = NULL, lacking = NULL;
	const GbeSymbol symbols[] = {{"cbrt", &there}, {"gbe_no_such_function", &lacking}};
	g_autoptr(GError) error = NULL;

	ck_assert(!gbe_dlopen("libnone.so.1", symbols, 1, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSUPPORTED));
	ck_assert_ptr_nonnull(strstr(error->message, "libnone.so.1"));
	g_clear_error(&error);
	ck_assert(!gbe_dlopen(SONAME, symbols, G_N_ELEMENTS(symbols), &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSUPPORTED));
	ck_assert_ptr_nonnull(strstr(error->message, "gbe_no_such_function"));
	ck_assert_ptr_null(there);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base-dlopen");
	TCase *tcase = tcase_create("dlopen");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, loads);
	tcase_add_test(tcase, refuses);
	return gbe_unit_main(suite);
}
