/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/programs.h"

#include "cli/fail.h"
#include "cli/print.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "greenboot-etcd-"
/* The name of the library that all programs share has the version in it (Makefile). */
#define LIBRARY "libgreenboot-etcd-"
#define LIBRARY_OF_THIS LIBRARY GBE_VERSION ".so"

/* Where this library lies: newly allocated. NULL: it is part of the program. */
static char *
find_directory(void)
{
	g_autofree char *path = NULL;
	Dl_info info;
	const char *name;

	if (dladdr((const void *)&gbe_program_exec, &info) == 0 || info.dli_fname == NULL)
		return NULL;
	name = strrchr(info.dli_fname, '/');
	if (name == NULL || !g_str_equal(name + 1, LIBRARY_OF_THIS))
		return NULL;
	/* The loader's path has ".." in it. */
	path = g_canonicalize_filename(info.dli_fname, "/");
	return g_path_get_dirname(path);
}

static bool
is_verb(const char *word)
{
	return g_ascii_islower(*word) && word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

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
	at = bytes != NULL ? memmem(bytes, size, LIBRARY, strlen(LIBRARY)) : NULL;
	if (at == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s is no program of greenboot-etcd",
				 path);
	at += strlen(LIBRARY);
	end = memmem(at, (gsize)(bytes + size - at), ".so", strlen(".so"));
	version = end != NULL ? g_strndup(at, MIN((gsize)(end - at), 32)) : g_strdup("?");
	return gbe_throw(error, GBE_ERROR_USAGE,
			 "%s is of version %s, and greenboot-etcd is of version " GBE_VERSION, path,
			 version);
}

/* NULL: there is no such program. */
static char *
find_program(const char *verb)
{
	g_autofree char *directory = find_directory();
	g_autofree char *path = NULL;

	if (directory == NULL || !is_verb(verb))
		return NULL;
	path = g_strconcat(directory, "/" PREFIX, verb, NULL);
	return access(path, F_OK) == 0 ? g_steal_pointer(&path) : NULL;
}

bool
gbe_program_is_there(const char *verb)
{
	g_autofree char *path = find_program(verb);

	return path != NULL;
}

bool
gbe_program_exec(const char *verb, char **argv, GError **error)
{
	g_autofree char *path = find_program(verb);

	if (path == NULL)
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
	g_autofree char *directory = find_directory();
	struct dirent **entries = NULL;
	int n = directory != NULL ? scandir(directory, &entries, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		g_autofree char *path = g_build_filename(directory, entries[i]->d_name, NULL);

		/* A symlink is another verb of a program. */
		if (g_str_has_prefix(entries[i]->d_name, PREFIX) &&
		    is_verb(entries[i]->d_name + strlen(PREFIX)) &&
		    !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			print_lines(path);
		free(entries[i]);
	}
	free(entries);
}
