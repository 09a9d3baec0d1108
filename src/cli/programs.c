/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/programs.h"

#include "cli/fail.h"
#include "cli/print.h"
#include "sys/programs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_OF_THIS GBE_PROGRAM_LIBRARY GBE_VERSION ".so"

/* A program of this project names the library that it is linked with. */
static bool
check_version(const char *path, GError **error)
{
	g_autoptr(GMappedFile) file = NULL;
	g_autoptr(GError) local = NULL;
	g_autofree char *version = NULL;
	const char *bytes, *at, *end;
	gsize size;

	file = g_mapped_file_new(path, false, &local);
	if (file == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s", local->message);
	bytes = g_mapped_file_get_contents(file);
	size = g_mapped_file_get_length(file);
	if (bytes != NULL && memmem(bytes, size, LIBRARY_OF_THIS, sizeof LIBRARY_OF_THIS) != NULL)
		return true;
	at = bytes != NULL ? memmem(bytes, size, GBE_PROGRAM_LIBRARY, strlen(GBE_PROGRAM_LIBRARY))
			   : NULL;
	if (at == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s is no program of greenboot-etcd",
				 path);
	at += strlen(GBE_PROGRAM_LIBRARY);
	end = memmem(at, (gsize)(bytes + size - at), ".so", strlen(".so"));
	version = end != NULL ? g_strndup(at, MIN((gsize)(end - at), 32)) : g_strdup("?");
	return gbe_throw(error, GBE_ERROR_USAGE,
			 "%s is of version %s, and greenboot-etcd is of version " GBE_VERSION
			 ": install both in one version",
			 path, version);
}

bool
gbe_program_exec(const char *verb, char **argv, GError **error)
{
	g_autofree char *path = NULL;

	if (gbe_program_find(verb, &path) != GBE_YES)
		return true;
	if (!check_version(path, error))
		return false;
	(void)execv(path, argv);
	return gbe_throw(error, GBE_ERROR_USAGE, "cannot start %s: %s", path, g_strerror(errno));
}

static void
print_lines(const char *path)
{
	const char *const argv[] = {path, "help", "--lines", NULL};
	g_autoptr(GError) error = NULL;
	g_autofree char *lines = NULL;
	int status = 0;

	if (check_version(path, &error) &&
	    g_spawn_sync(NULL, (char **)(gpointer)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &lines,
			 NULL, &status, &error) &&
	    g_spawn_check_exit_status(status, &error))
		gbe_print("%s", lines);
	else
		gbe_cli_say(error->message);
}

void
gbe_programs_help(void)
{
	g_autofree char *directory = gbe_programs_directory();
	struct dirent **entries = NULL;
	int n = directory != NULL ? scandir(directory, &entries, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		g_autofree char *path = g_build_filename(directory, entries[i]->d_name, NULL);

		/* A symlink is another verb of a program. */
		if (g_str_has_prefix(entries[i]->d_name, GBE_PROGRAM_PREFIX) &&
		    gbe_program_is_verb(entries[i]->d_name + strlen(GBE_PROGRAM_PREFIX)) &&
		    !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			print_lines(path);
		free(entries[i]);
	}
	free(entries);
}
