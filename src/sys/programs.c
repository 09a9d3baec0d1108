/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/programs.h"

#include "base/auto.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

char *
gbe_programs_directory(void)
{
	g_autofree char *path = NULL;
	Dl_info info;
	const char *name;

	if (dladdr((const void *)&gbe_programs_directory, &info) == 0 || info.dli_fname == NULL)
		return NULL;
	name = strrchr(info.dli_fname, '/');
	if (name == NULL || !g_str_equal(name + 1, GBE_PROGRAM_LIBRARY GBE_VERSION ".so"))
		return NULL;
	/* The loader's path has ".." in it. */
	path = g_canonicalize_filename(info.dli_fname, "/");
	return g_path_get_dirname(path);
}

bool
gbe_program_is_verb(const char *word)
{
	return g_ascii_islower(*word) && word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

GbeTri
gbe_program_find(const char *verb, char **ret_path)
{
	g_autofree char *directory = gbe_programs_directory();
	g_autofree char *path = NULL;

	if (ret_path != NULL)
		*ret_path = NULL;
	if (directory == NULL)
		return GBE_UNKNOWN;
	if (!gbe_program_is_verb(verb))
		return GBE_NO;
	path = g_strconcat(directory, "/" GBE_PROGRAM_PREFIX, verb, NULL);
	if (access(path, F_OK) < 0)
		return GBE_NO;
	if (ret_path != NULL)
		*ret_path = g_steal_pointer(&path);
	return GBE_YES;
}
