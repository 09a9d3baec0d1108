/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each part is wrong in one way that one warning of the build must find. tests/lint/canary.sh compiles the parts one by
 * one and requires each to fail. This detects a flag that is silently off: misspelled, dropped, or unknown to a
 * compiler. With no part chosen it compiles cleanly.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

int canary(int a, unsigned int b, const char *text);

#ifdef CANARY_unused_variable
int
canary(int a, unsigned int b, const char *text)
{
	int nobody;

	return a;
}
#elif defined CANARY_sign_compare
int
canary(int a, unsigned int b, const char *text)
{
	return a < b;
}
#elif defined CANARY_shadow
int
canary(int a, unsigned int b, const char *text)
{
	for (int i = 0; i < 2; i++) {
		int a = i;

		if (a == 1)
			return a;
	}
	return a;
}
#elif defined CANARY_strict_prototypes
int empty();
int
canary(int a, unsigned int b, const char *text)
{
	return a;
}
#elif defined CANARY_missing_prototypes
int
undeclared(void)
{
	return 1;
}
#elif defined CANARY_old_style_definition
int old(int a);
int
old(a)
int a;
{
	return a;
}
#elif defined CANARY_format_nonliteral
int
canary(int a, unsigned int b, const char *text)
{
	return printf(text, a);
}
#elif defined CANARY_format
int
canary(int a, unsigned int b, const char *text)
{
	return printf("%s", a);
}
#elif defined CANARY_format_signedness
int
canary(int a, unsigned int b, const char *text)
{
	return printf("%d", b);
}
#elif defined CANARY_pointer_arith
int
canary(int a, unsigned int b, const char *text)
{
	const void *p = text;

	return p + 1 == NULL;
}
#elif defined CANARY_undef
#if NOT_DEFINED_ANYWHERE
#endif
#elif defined CANARY_vla
int
canary(int a, unsigned int b, const char *text)
{
	char buffer[b];

	memset(buffer, 0, b);
	return buffer[0];
}
#elif defined CANARY_switch_enum
enum colour { RED, GREEN };
int paint(enum colour colour);
int
paint(enum colour colour)
{
	switch (colour) {
	case RED:
		return 1;
	default:
		return 2;
	}
}
#elif defined CANARY_implicit_fallthrough
int
canary(int a, unsigned int b, const char *text)
{
	switch (a) {
	case 1:
		b++;
	case 2:
		return (int)b;
	default:
		return 0;
	}
}
#elif defined CANARY_write_strings
int
canary(int a, unsigned int b, const char *text)
{
	char *writable = "constant";

	return writable[0];
}
#elif defined CANARY_date_time
int
canary(int a, unsigned int b, const char *text)
{
	return __DATE__[0];
}
#elif defined CANARY_deprecated_declarations
/* Newer than the GLib that the build promises to be content with. */
int
canary(int a, unsigned int b, const char *text)
{
	return g_pattern_spec_match_string(NULL, text);
}
#else
int
canary(int a, unsigned int b, const char *text)
{
	return a + (int)b + (int)strlen(text);
}
#endif
