/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/lists.h"

#include <fnmatch.h>
#include <string.h>

#define NAME_CHARS G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_"

bool
gbe_words(const char *key, const char *text, char ***ret_words, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (text == NULL || text[strspn(text, " \t")] == '\0') {
		*ret_words = g_new0(char *, 1);
		return true;
	}
	if (!g_shell_parse_argv(text, NULL, ret_words, &local))
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s: %s", key, local->message);
	return true;
}

bool
gbe_run_args(const char *text, char ***ret_words, GError **error)
{
	return gbe_words("[run] args", text, ret_words, error);
}

bool
gbe_run_files(const char *text, char ***ret_words, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (!gbe_words("[run] env-file", text, &words, error))
		return false;
	for (guint i = 0; words[i] != NULL; i++)
		if (words[i][words[i][0] == '-' ? 1 : 0] != '/')
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "[run] env-file: %s is not an absolute path", words[i]);
	*ret_words = g_steal_pointer(&words);
	return true;
}

bool
gbe_run_credentials(const char *text, char ***ret_words, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (!gbe_words("[run] credentials", text, &words, error))
		return false;
	for (guint i = 0; words[i] != NULL; i++) {
		gsize name = strspn(words[i], NAME_CHARS ".-");

		if (name == 0 || words[i][0] == '.' || words[i][name] != ':' ||
		    words[i][name + 1] != '/')
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "[run] credentials: %s is not NAME:/PATH", words[i]);
	}
	*ret_words = g_steal_pointer(&words);
	return true;
}

/* Single quotes keep everything as it is. Elsewhere a backslash keeps the next character. */
static char *
unquote(const char *text)
{
	GString *value = g_string_new(NULL);
	char quote = '\0';

	for (; *text != '\0'; text++) {
		if (*text == '\\' && quote != '\'' && text[1] != '\0')
			g_string_append_c(value, *++text);
		else if (*text == quote)
			quote = '\0';
		else if (quote == '\0' && (*text == '"' || *text == '\''))
			quote = *text;
		else
			g_string_append_c(value, *text);
	}
	return g_string_free(value, false);
}

char **
gbe_run_environment(char **environment, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i] != NULL; i++) {
		char *line = g_strstrip(lines[i]);
		char *sign = strchr(line, '=');
		g_autofree char *value = NULL;

		if (*line == '#' || *line == ';' || sign == NULL)
			continue;
		*sign = '\0';
		(void)g_strchomp(line);
		if (*line == '\0' || g_ascii_isdigit(*line) ||
		    strspn(line, NAME_CHARS) != strlen(line))
			continue;
		value = unquote(g_strchug(sign + 1));
		environment = g_environ_setenv(environment, line, value, true);
	}
	return environment;
}

/* RFC 1035 */
#define HOST_MAX 253

bool
gbe_certs_directories(const char *text, char ***ret_directories, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (!gbe_words("[certs] directories", text, &words, error))
		return false;
	for (guint i = 0; words[i] != NULL; i++) {
		char *path =
		    words[i][0] == '/' ? g_canonicalize_filename(words[i], "/") : g_strdup("/");

		if (g_str_equal(path, "/")) {
			g_free(path);
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "[certs] directories: %s is no absolute path of a "
					 "directory of its own",
					 words[i]);
		}
		g_free(words[i]);
		words[i] = path;
	}
	*ret_directories = g_steal_pointer(&words);
	return true;
}

bool
gbe_certs_patterns(const char *text, char ***ret_patterns, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (!gbe_words("[certs] regenerated", text, &words, error))
		return false;
	for (guint i = 0; words[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(words[i], "/", -1);

		if (words[i][0] == '\0' || g_strv_contains((const char *const *)parts, ".."))
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "[certs] regenerated: \"%s\" is not a pattern of names",
					 words[i]);
	}
	*ret_patterns = g_steal_pointer(&words);
	return true;
}

bool
gbe_certs_is_host(const char *text)
{
	if (g_hostname_is_ip_address(text))
		return strchr(text, '%') == NULL;
	return *text != '\0' && strlen(text) <= HOST_MAX &&
	       text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-*")] == '\0';
}

bool
gbe_certs_names(const char *text, char ***ret_names, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (!gbe_words("[certs] names", text, &words, error))
		return false;
	for (guint i = 0; words[i] != NULL; i++)
		if (!gbe_certs_is_host(words[i]))
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "[certs] names: %s is not an address or a host name",
					 words[i]);
	*ret_names = g_steal_pointer(&words);
	return true;
}

bool
gbe_certs_match(char *const *patterns, const char *directory, const char *path)
{
	g_autofree char *whole = g_strconcat(directory, "/", path, NULL);

	for (guint i = 0; patterns[i] != NULL; i++)
		if (fnmatch(patterns[i], patterns[i][0] == '/' ? whole : path, 0) == 0)
			return true;
	return false;
}
