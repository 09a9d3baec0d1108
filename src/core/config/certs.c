/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/certs.h"

#include <fnmatch.h>
#include <string.h>

#include "core/config/run-words.h"

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
					 "[certs] regenerated: \"%s\" is no pattern of names",
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
			return gbe_throw(
			    error, GBE_ERROR_INVALID_CONFIG,
			    "[certs] names: %s is neither an address nor a host's name", words[i]);
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
