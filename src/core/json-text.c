/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json-text.h"

#include "core/record.h"

#include <string.h>

/* Above it, a double is not the integer that was written. */
#define INTEGER_DIGITS_MAX 16
#define INTEGER_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)
/* Longer than any number that means anything; g_ascii_strtod() wants a string of its own. */
#define NUMBER_LEN_MAX 64

typedef struct {
	const char *begin, *p, *end;
	guint depth;
	GError **error;
} Scan;

static bool scan_value(Scan *s);

static bool
fail(const Scan *s, const char *what)
{
	guint line = 1;

	for (const char *p = s->begin; p < s->p; p++)
		line += *p == '\n';
	return gbe_throw(s->error, GBE_ERROR_CORRUPT, "line %u: %s", line, what);
}

/* The next byte; NUL, which no text has, at the end. */
static char
peek(const Scan *s)
{
	return s->p < s->end ? *s->p : '\0';
}

static void
skip_blanks(Scan *s)
{
	while (peek(s) == ' ' || peek(s) == '\t' || peek(s) == '\n' || peek(s) == '\r')
		s->p++;
}

static bool
scan_hex4(Scan *s, guint *ret_unit)
{
	guint unit = 0;

	for (guint i = 0; i < 4; i++) {
		int digit = g_ascii_xdigit_value(peek(s));

		if (digit < 0)
			return fail(s, "\\u without four hex digits");
		unit = unit * 16 + (guint)digit;
		s->p++;
	}
	*ret_unit = unit;
	return true;
}

/* Behind "\u". */
static bool
scan_unicode(Scan *s, GString *text)
{
	guint unit, low;

	if (!scan_hex4(s, &unit))
		return false;
	if (unit == 0)
		return fail(s, "\\u0000 in a string");
	if (unit >= 0xd800 && unit < 0xdc00 && s->end - s->p > 2 && s->p[0] == '\\' &&
	    s->p[1] == 'u') {
		s->p += 2;
		if (!scan_hex4(s, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(s, "half of a surrogate pair in a string");
		unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	} else if (unit >= 0xd800 && unit <= 0xdfff) {
		return fail(s, "half of a surrogate pair in a string");
	}
	g_string_append_unichar(text, unit);
	return true;
}

/* Behind the backslash. */
static bool
scan_escape(Scan *s, GString *text)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c = peek(s);

	if (c == 'u') {
		s->p++;
		return scan_unicode(s, text);
	}
	found = c != '\0' ? strchr(from, c) : NULL;
	if (found == NULL)
		return fail(s, "unknown escape in a string");
	g_string_append_c(text, to[found - from]);
	s->p++;
	return true;
}

/* Puts what the string says into @text, so that a key is known however it is written. */
static bool
scan_string(Scan *s, GString *text)
{
	g_string_truncate(text, 0);
	s->p++;
	for (;;) {
		char c = peek(s);

		if (s->p >= s->end)
			return fail(s, "a string has no end");
		if ((guchar)c < 0x20)
			return fail(s, "a control character in a string");
		s->p++;
		if (c == '"')
			return true;
		if (c != '\\')
			g_string_append_c(text, c);
		else if (!scan_escape(s, text))
			return false;
	}
}

static gsize
skip_digits(Scan *s)
{
	const char *start = s->p;

	while (g_ascii_isdigit(peek(s)))
		s->p++;
	return (gsize)(s->p - start);
}

/* An optional fraction and exponent. */
static bool
scan_fraction(Scan *s, bool *ret_is_integer)
{
	*ret_is_integer = true;
	if (peek(s) == '.') {
		*ret_is_integer = false;
		s->p++;
		if (skip_digits(s) == 0)
			return fail(s, "a number ends in a point");
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		*ret_is_integer = false;
		s->p++;
		if (peek(s) == '+' || peek(s) == '-')
			s->p++;
		if (skip_digits(s) == 0)
			return fail(s, "a number has an empty exponent");
	}
	return true;
}

static bool
check_magnitude(const Scan *s, const char *digits, gsize len, bool is_integer)
{
	char text[NUMBER_LEN_MAX + 1];

	if (len > NUMBER_LEN_MAX || (is_integer && len > INTEGER_DIGITS_MAX))
		return fail(s, "a number is too large (integers end at 2^53)");
	memcpy(text, digits, len);
	text[len] = '\0';
	if (is_integer && g_ascii_strtoull(text, NULL, 10) > INTEGER_MAX)
		return fail(s, "a number is too large (integers end at 2^53)");
	/* "!(a <= b)", so that one that is not a number would fail as well. */
	if (!is_integer && !(g_ascii_strtod(text, NULL) <= G_MAXDOUBLE))
		return fail(s, "a number is too large");
	return true;
}

static bool
scan_number(Scan *s)
{
	const char *digits;
	bool is_integer;

	if (peek(s) == '-')
		s->p++;
	digits = s->p;
	if (skip_digits(s) == 0)
		return fail(s, "neither a value nor a number");
	if (digits[0] == '0' && s->p - digits > 1)
		return fail(s, "a number has a leading zero");
	if (!scan_fraction(s, &is_integer))
		return false;
	return check_magnitude(s, digits, (gsize)(s->p - digits), is_integer);
}

static bool
scan_word(Scan *s)
{
	static const char *const words[] = {"true", "false", "null"};

	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		gsize len = strlen(words[i]);

		if ((gsize)(s->end - s->p) >= len && memcmp(s->p, words[i], len) == 0) {
			s->p += len;
			return true;
		}
	}
	return fail(s, "neither a value nor a number");
}

/* Behind an element: true and *ret_more when a comma follows, true when @close does. */
static bool
scan_separator(Scan *s, char close, bool *ret_more)
{
	skip_blanks(s);
	if (peek(s) != ',' && peek(s) != close)
		return fail(s, close == '}' ? "an object has no end" : "an array has no end");
	*ret_more = peek(s) == ',';
	s->p++;
	skip_blanks(s);
	return true;
}

static bool
scan_member(Scan *s, GHashTable *keys, GString *text)
{
	if (peek(s) != '"')
		return fail(s, "an object's key is missing");
	if (!scan_string(s, text))
		return false;
	if (!g_hash_table_add(keys, g_strdup(text->str))) {
		g_autofree char *shown = g_strescape(text->str, NULL);
		g_autofree char *what = g_strdup_printf("key \"%.64s\" is there twice", shown);

		return fail(s, what);
	}
	skip_blanks(s);
	if (peek(s) != ':')
		return fail(s, "an object's key has no value");
	s->p++;
	return scan_value(s);
}

static bool
scan_object(Scan *s)
{
	g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	bool more = true;

	s->p++;
	skip_blanks(s);
	if (peek(s) == '}') {
		s->p++;
		return true;
	}
	while (more)
		if (!scan_member(s, keys, text) || !scan_separator(s, '}', &more))
			return false;
	return true;
}

static bool
scan_array(Scan *s)
{
	bool more = true;

	s->p++;
	skip_blanks(s);
	if (peek(s) == ']') {
		s->p++;
		return true;
	}
	while (more)
		if (!scan_value(s) || !scan_separator(s, ']', &more))
			return false;
	return true;
}

static bool
scan_nested(Scan *s)
{
	bool ok;

	if (s->depth == GBE_JSON_MAX_DEPTH)
		return fail(s, "nested too deeply (" G_STRINGIFY(GBE_JSON_MAX_DEPTH) " levels)");
	s->depth++;
	ok = peek(s) == '{' ? scan_object(s) : scan_array(s);
	s->depth--;
	return ok;
}

static bool
scan_value(Scan *s)
{
	skip_blanks(s);
	if (peek(s) == '{' || peek(s) == '[')
		return scan_nested(s);
	if (peek(s) == '"') {
		g_autoptr(GString) text = g_string_new(NULL);

		return scan_string(s, text);
	}
	if (peek(s) == '-' || g_ascii_isdigit(peek(s)))
		return scan_number(s);
	return scan_word(s);
}

bool
gbe_json_text_check(const char *bytes, gsize size, GError **error)
{
	Scan s = {bytes, bytes, bytes + size, 0, error};
	const char *bad;

	if (size > GBE_JSON_MAX_SIZE)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "%" G_GSIZE_FORMAT " bytes long, %d are allowed", size,
				 GBE_JSON_MAX_SIZE);
	if (size == 0)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "empty");
	/* A NUL ends what this takes as valid, so that both are found here. */
	if (!g_utf8_validate(bytes, (gssize)size, &bad)) {
		s.p = bad;
		return fail(&s, peek(&s) == '\0' ? "a NUL byte" : "not UTF-8");
	}
	skip_blanks(&s);
	if (peek(&s) != '{')
		return fail(&s, "not a JSON object");
	if (!scan_value(&s))
		return false;
	skip_blanks(&s);
	return s.p == s.end || fail(&s, "something follows the end of the object");
}
