/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/redact.h"

#include "base/auto.h"

#include <string.h>

#define PEM_BEGIN "-----BEGIN"
#define PEM_END "-----END"
#define PEM_DASHES "-----"
#define SPACE " \t"
#define VALUE_ENDS " \t\r\n\"'`,;&<>)]}\\"

static const char *const endings[] = {
    "pass",	  "pwd",	 "password",   "passwd",      "passphrase",    "secret",
    "secrets",	  "token",	 "tokens",     "apikey",      "api-key",       "secret-access-key",
    "secret-key", "private-key", "credential", "credentials", "authorization", NULL};

static bool
is_name(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
}

/* Returns the position after the block, or the end of the text if the block is cut short. */
static const char *
skip_pem(const char *at)
{
	const char *end = strstr(at, PEM_END);

	if (end == NULL)
		return at + strlen(at);
	at = end + strlen(PEM_END);
	end = strstr(at, PEM_DASHES);
	return end != NULL ? end + strlen(PEM_DASHES) : at + strlen(at);
}

/* @at: after "://". Returns the position after the last '@' of the address, or NULL. */
static const char *
skip_user(const char *at)
{
	const char *found = NULL;

	for (; *at != '\0' && strchr("/?# \t\r\n\"'`<>", *at) == NULL; at++)
		if (*at == '@')
			found = at + 1;
	return found;
}

/* The begin of the value of the name that ends at @at. NULL: no value. */
static const char *
find_value(const char *at, bool is_option)
{
	const char *start = at;

	if (*at == '"' || *at == '\'')
		at++;
	at += strspn(at, SPACE);
	if (*at == '=' || *at == ':')
		at += 1 + strspn(at + 1, SPACE);
	else if (!is_option || at == start)
		return NULL;
	return *at != '\0' ? at : NULL;
}

static const char *
skip_value(const char *at, bool to_the_end)
{
	if (*at == '"' || *at == '\'') {
		const char *end = strchr(at + 1, *at);

		return end != NULL ? end + 1 : at + strlen(at);
	}
	return at + strcspn(at, to_the_end ? "\r\n\"'" : VALUE_ENDS);
}

/* Copies a name to @to and redacts its value. Returns the position after both. */
static const char *
take_name(const char *at, GString *to)
{
	const char *end = at, *value;
	g_autofree char *name = NULL, *lower = NULL;
	bool bearer, telling;

	while (is_name(*end))
		end++;
	name = g_strndup(at, (gsize)(end - at));
	g_string_append(to, name);
	bearer = g_ascii_strcasecmp(name, "bearer") == 0;
	lower = g_strdelimit(g_ascii_strdown(name, -1), "_.", '-');
	telling = bearer || g_str_equal(lower, "--user");
	for (guint i = 0; endings[i] != NULL; i++)
		telling = telling || g_str_has_suffix(lower, endings[i]);
	if (!telling)
		return end;
	value = find_value(end, bearer || g_str_has_prefix(name, "--"));
	if (value == NULL || g_str_has_prefix(value, GBE_REDACTED))
		return end;
	at = skip_value(value, g_ascii_strcasecmp(name, "authorization") == 0);
	if (at == value)
		return end;
	g_string_append_len(to, end, value - end);
	g_string_append(to, GBE_REDACTED);
	return at;
}

char *
gbe_redact(const char *text)
{
	GString *to = g_string_sized_new(strlen(text));

	for (const char *at = text; *at != '\0';) {
		const char *user;

		if (g_str_has_prefix(at, PEM_BEGIN)) {
			at = skip_pem(at);
			g_string_append(to, GBE_REDACTED);
		} else if (is_name(*at)) {
			at = take_name(at, to);
		} else if (g_str_has_prefix(at, "://") && (user = skip_user(at + 3)) != NULL) {
			g_string_append(to, "://" GBE_REDACTED "@");
			at = user;
		} else {
			g_string_append_c(to, *at++);
		}
	}
	return g_string_free(to, false);
}

char *
gbe_redact_endpoint(const char *url)
{
	const char *at = url != NULL ? strrchr(url, '@') : NULL;
	gsize length = url != NULL ? strspn(url, "abcdefghijklmnopqrstuvwxyz") : 0;

	/* A socket's path may contain '@'. */
	if (at == NULL || g_str_has_prefix(url, "unix://"))
		return g_strdup(url);
	length = g_str_has_prefix(url + length, "://") ? length + strlen("://") : 0;
	return g_strdup_printf("%.*s%s%s", (int)length, url, GBE_REDACTED, at);
}
