/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command: its options, its help, the optional programs that it starts, and the end of a verb that failed. */
#include "app/state/configuration.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/shown.h"
#include "sys/installed.h"
#include "sys/systemd/events.h"

#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Between a message and what to do. */
#define NEXT "; "
/* Of the help. */
#define COLUMN 26
#define LIBRARY_OF_THIS GBE_PROGRAM_LIBRARY GBE_VERSION ".so"

static char *arg_root, *arg_config;
static gboolean arg_json, arg_quiet, arg_verbose, arg_help, arg_version, arg_lines;
static char **arg_rest;
static bool arg_separated;
static const GbeVerb *the_verbs, *the_verb; /* the_verb NULL: none yet */
static const GbeOptionalVerb *the_optional;

static const GOptionEntry options_global[] = {
    {"root", 0, 0, G_OPTION_ARG_FILENAME, &arg_root,
     "Work on the system below DIR; nothing outside is touched", "DIR"},
    {"config", 0, 0, G_OPTION_ARG_FILENAME, &arg_config, "Read FILE and no other", "FILE"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &arg_json, "JSON for programs", NULL},
    {"quiet", 'q', 0, G_OPTION_ARG_NONE, &arg_quiet, "Say nothing but what was asked for", NULL},
    {"verbose", 'v', 0, G_OPTION_ARG_NONE, &arg_verbose, "Say what is done", NULL},
    {"help", 'h', 0, G_OPTION_ARG_NONE, &arg_help, "Show help", NULL},
    {"version", 'V', 0, G_OPTION_ARG_NONE, &arg_version, "Show the version", NULL},
    {"lines", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &arg_lines, "Show a line for each verb",
     NULL},
    {NULL},
};

static const GOptionEntry options_rest[] = {
    {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &arg_rest, NULL, NULL},
    {NULL},
};

/* ---- failure ---- */

void
gbe_cli_say(const char *message)
{
	g_autofree char *line = gbe_shown_line(message);

	(void)fprintf(stderr, "greenboot-etcd: %s\n", line);
}

/* Has @text a path that begins at "/"? */
static bool
has_path(const char *text)
{
	for (const char *at = strchr(text, '/'); at != NULL; at = strchr(at + 1, '/'))
		if ((at == text || strchr(" \"(=:", at[-1]) != NULL) && at[1] != ' ')
			return true;
	return false;
}

/* The hint is the part of a message after its last semicolon; without one, the hint is the verb's help. */
static void
take_apart(const GbeVerb *verb, const GError *error, char **ret_message, char **ret_hint)
{
	bool usage = g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE);
	const char *next = usage ? NULL : g_strrstr(error->message, NEXT);

	*ret_message = next != NULL ? g_strndup(error->message, (gsize)(next - error->message))
				    : g_strdup(error->message);
	if (next != NULL)
		*ret_hint = g_strdup(next + strlen(NEXT));
	else if (usage || g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		*ret_hint =
		    g_strdup_printf("see `greenboot-etcd %s%s--help`",
				    verb != NULL ? verb->name : "", verb != NULL ? " " : "");
	else if (g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG))
		*ret_hint = g_strdup("see greenboot-etcd.conf(5)");
}

/* Prints the sentence to stderr, and with @json an object with the same to stdout, unless the verb printed JSON already.
 * The sentence ends with the next step: a usage error with the command whose help says more. Below @root (NULL: none)
 * it says so where it has a path. @verb NULL: the error came before the verb. */
static void
report_failure(const GbeVerb *verb, bool json, const char *root, const GError *error)
{
	g_autoptr(JsonObject) object = NULL;
	JsonObject *inner;
	g_autofree char *message = NULL, *hint = NULL, *sentence = NULL;

	take_apart(verb, error, &message, &hint);
	if (root != NULL && has_path(message) && strstr(message, root) == NULL) {
		g_autofree char *above = g_steal_pointer(&message);

		message = g_strdup_printf("%s (below %s)", above, root);
	}
	sentence = g_strconcat(message, hint != NULL ? NEXT : NULL, hint, NULL);
	gbe_cli_say(sentence);
	if (!json || gbe_print_has_json())
		return;
	object = gbe_json_answer();
	inner = json_object_new();
	json_object_set_int_member(inner, "code", (gint64)gbe_exit_status_of(error));
	gbe_json_set_string(inner, "message", message);
	gbe_json_set_string(inner, "hint", hint);
	json_object_set_object_member(object, "error", inner);
	gbe_print_object(object);
	(void)fflush(stdout);
}

/* ---- optional programs (sys/installed.h) ---- */

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

/* Starts greenboot-etcd-@verb with @argv in the place of this process. Returns true where there is no such program.
 * GBE_ERROR_USAGE: another version, or the file cannot be started. */
static bool
exec_program(const char *verb, char **argv, GError **error)
{
	g_autofree char *path = NULL;

	if (gbe_program_find(verb, &path) != GBE_YES)
		return true;
	if (!check_version(path, error))
		return false;
	(void)execv(path, argv);
	return gbe_throw(error, GBE_ERROR_USAGE, "cannot start %s: %s", path, g_strerror(errno));
}

/* Prints a line for each verb of each program. A program that cannot be started is reported. */
static void
print_programs(void)
{
	g_autofree char *directory = gbe_programs_directory();
	struct dirent **entries = NULL;
	int n = directory != NULL ? scandir(directory, &entries, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		g_autofree char *path = g_build_filename(directory, entries[i]->d_name, NULL);
		const char *const argv[] = {path, "help", "--lines", NULL};
		g_autofree char *lines = NULL;
		g_autoptr(GError) error = NULL;
		int status = 0;
		/* A symlink is another verb of a program. */
		bool ours = !g_file_test(path, G_FILE_TEST_IS_SYMLINK) &&
			    g_str_has_prefix(entries[i]->d_name, GBE_PROGRAM_PREFIX) &&
			    gbe_program_is_verb(entries[i]->d_name + strlen(GBE_PROGRAM_PREFIX));

		if (ours && check_version(path, &error) &&
		    g_spawn_sync(NULL, (char **)(gpointer)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
				 &lines, NULL, &status, &error) &&
		    g_spawn_check_exit_status(status, &error))
			gbe_print("%s", lines);
		else if (ours)
			gbe_cli_say(error->message);
		free(entries[i]);
	}
	free(entries);
}

/* ---- help ---- */

static void
print_line(const char *left, const char *right)
{
	glong width = g_utf8_strlen(left, -1);

	if (width > COLUMN - 2)
		gbe_print("  %s\n  %*s%s\n", left, COLUMN, "", right);
	else
		gbe_print("  %s%*s%s\n", left, (int)(COLUMN - width), "", right);
}

static void
print_options(const GOptionEntry *options)
{
	for (const GOptionEntry *option = options; option->long_name != NULL; option++) {
		g_autofree char *left = NULL;

		if (*option->long_name == '\0' || (option->flags & G_OPTION_FLAG_HIDDEN) != 0)
			continue;
		left =
		    g_strdup_printf("%s%.1s%s--%s%s%s", option->short_name != 0 ? "-" : "",
				    &option->short_name, option->short_name != 0 ? ", " : "    ",
				    option->long_name, option->arg_description != NULL ? "=" : "",
				    option->arg_description != NULL ? option->arg_description : "");
		print_line(left, option->description);
	}
}

static void
print_verbs(const GbeVerb *verbs)
{
	bool others = false;

	for (const GbeVerb *verb = verbs; verb->name != NULL; verb++) {
		g_autofree char *left = NULL;

		if (verb->alias != NULL ||
		    (verb->optional && gbe_program_find(verb->name, NULL) == GBE_YES))
			continue;
		/* help and version end the list of the command, which alone has them. */
		if (verb->run == NULL && !others) {
			print_programs();
			others = true;
		}
		if (verb->group != NULL || verb == verbs)
			gbe_print("\n%s:\n", verb->group != NULL ? verb->group : "Verbs");
		left = g_strconcat(verb->name, verb->arguments != NULL ? " " : "", verb->arguments,
				   NULL);
		print_line(left, verb->summary);
	}
}

static void
print_help(const GbeVerb *verbs)
{
	gbe_print("Usage: greenboot-etcd [OPTION...] VERB [ARGUMENT...]\n\n"
		  "Backs up and restores etcd's data together with ostree deployments.\n");
	print_verbs(verbs);
	gbe_print("\nOptions, before or after the verb:\n");
	print_options(options_global);
	gbe_print("\n`greenboot-etcd VERB --help` shows a verb's own options and an example.\n"
		  "For more details see greenboot-etcd(8).\n");
}

static void
print_help_of(const GbeVerb *verb)
{
	gbe_print("Usage: greenboot-etcd [OPTION...] %s%s%s\n\n%s.\n", verb->name,
		  verb->arguments != NULL ? " " : "",
		  verb->arguments != NULL ? verb->arguments : "", verb->summary);
	if (verb->options != NULL) {
		gbe_print("\nOptions:\n");
		print_options(verb->options);
	}
	gbe_print("\nOptions of every verb:\n");
	print_options(options_global);
	gbe_print("\nExample:\n  greenboot-etcd %s\n\nFor more details see %s.\n", verb->example,
		  verb->page != NULL ? verb->page : "greenboot-etcd(8)");
}

/* ---- the command line ---- */

/* The names of @options, as they are typed. */
static void
add_options(GPtrArray *names, const GOptionEntry *options)
{
	for (const GOptionEntry *option = options; option != NULL && option->long_name != NULL;
	     option++)
		g_ptr_array_add(names, g_strconcat("--", option->long_name, NULL));
}

/* Replaces GLib's message about an option that there is not. */
static bool
no_such_option(const char *option, const GbeVerb *verb, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *name = g_strndup(option, strcspn(option, "="));
	g_autofree char *nearest = NULL;

	add_options(names, options_global);
	if (verb != NULL)
		add_options(names, verb->options);
	g_ptr_array_add(names, NULL);
	nearest = gbe_verb_nearest(name, (const char *const *)names->pdata);
	return gbe_throw(error, GBE_ERROR_USAGE, "no such option%s%s: %s%s",
			 verb != NULL ? " of " : " before a verb", verb != NULL ? verb->name : "",
			 name, nearest);
}

/* Parses the options in front of the verb. The parser stops at the first argument that is no option. */
static bool
parse(char ***args, const GbeVerb *verb, GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) local = NULL;
	const char *option;

	g_option_context_set_help_enabled(context, false);
	g_option_context_set_strict_posix(context, verb == NULL);
	g_option_context_add_main_entries(context, options_global, NULL);
	if (verb != NULL) {
		if (verb->options != NULL)
			g_option_context_add_main_entries(context, verb->options, NULL);
		g_option_context_add_main_entries(context, options_rest, NULL);
	}
	if (g_option_context_parse_strv(context, args, &local))
		return true;
	option = strrchr(local->message, ' ');
	if (g_error_matches(local, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && option != NULL)
		return no_such_option(option + 1, verb, error);
	return gbe_throw(error, GBE_ERROR_USAGE, "%s", local->message);
}

static bool
find_verb(const char *word, const GbeVerb **ret_verb, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autofree char *shown = NULL, *nearest = NULL;

	if (word == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "no verb");
	*ret_verb = gbe_verb_find(the_verbs, word);
	if (*ret_verb != NULL)
		return true;
	for (const GbeVerb *verb = the_verbs; verb->name != NULL; verb++)
		g_ptr_array_add(names, (gpointer)verb->name);
	for (const GbeOptionalVerb *other = the_optional; other != NULL && other->verb != NULL;
	     other++) {
		if (g_str_equal(other->verb, word))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s is a verb of the package %s, which is not installed",
					 word, other->package);
		g_ptr_array_add(names, (gpointer)other->verb);
	}
	g_ptr_array_add(names, NULL);
	shown = g_strescape(word, NULL);
	nearest = gbe_verb_nearest(word, (const char *const *)names->pdata);
	return gbe_throw(error, GBE_ERROR_USAGE, "no such verb: %s%s", shown, nearest);
}

static bool
check_word(const GbeVerb *verb, GError **error)
{
	g_autofree char *all = NULL, *nearest = NULL, *shown = NULL;

	if (verb->words == NULL || arg_rest == NULL || g_strv_contains(verb->words, arg_rest[0]))
		return true;
	all = g_strjoinv(" or ", (char **)(gpointer)verb->words);
	nearest = gbe_verb_nearest(arg_rest[0], verb->words);
	shown = g_strescape(arg_rest[0], NULL);
	return gbe_throw(
	    error, GBE_ERROR_USAGE, "%s takes %s, not \"%s\"%s%s%s%s", verb->name, all, shown,
	    nearest, verb->optional ? "; more is in the package greenboot-etcd-" : "",
	    verb->optional ? verb->name : "", verb->optional ? ", which is not installed" : "");
}

static bool
check_count(const GbeVerb *verb, GError **error)
{
	guint count = arg_rest != NULL ? g_strv_length(arg_rest) : 0;
	g_autofree char *extra = NULL;

	if (count < verb->min)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s needs its argument, %s", verb->name,
				 verb->arguments);
	if (count <= verb->max)
		return true;
	extra = g_strescape(arg_rest[verb->max], NULL);
	return gbe_throw(error, GBE_ERROR_USAGE, "%s takes no %s%s: \"%s\" is too much", verb->name,
			 verb->max == 0 ? "argument" : "more than ",
			 verb->max == 0 ? "" : verb->arguments, extra);
}

/* Turns an error about a missing root or configuration file into a usage error: the argument was wrong. */
static bool
as_usage(GError **error)
{
	return gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_USAGE);
}

/* Completes the names of backups that a person shortened. */
static bool
complete_names(GbeCli *cli, const GbeVerb *verb, GError **error)
{
	char **first, *behind = NULL;
	bool ok;

	if (verb->backup == 0 || arg_rest == NULL || g_strv_length(arg_rest) < verb->backup)
		return true;
	first = arg_rest + verb->backup - 1;
	if (verb->max < G_MAXUINT)
		behind = g_steal_pointer(first + 1);
	ok = gbe_cli_resolve_names(cli, first, error);
	if (behind != NULL)
		first[1] = behind;
	return ok;
}

static bool
run(const GbeVerb *verb, GbeExitStatus *ret_status, GError **error)
{
	static char *none[] = {NULL};
	GbeCli cli = {.json = arg_json,
		      .quiet = arg_quiet,
		      .verbose = arg_verbose,
		      .separated = arg_separated};
	g_autoptr(GbeApp) app = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_app_new("cli", arg_root, &app, error))
		return as_usage(error);
	app->config_file = g_strdup(arg_config);
	/* A verb prints its own messages; events go to the journal. */
	gbe_events_init("cli", app->below_root, !arg_verbose, arg_verbose ? 1 : 0);
	if (!verb->own_config && !gbe_configuration_load(app, false, error))
		return as_usage(error);
	for (guint i = 0; i < app->config->warnings->len && !arg_quiet; i++)
		gbe_cli_say(app->config->warnings->pdata[i]);
	cli.app = app;
	if (!complete_names(&cli, verb, error) ||
	    !verb->run(&cli, arg_rest != NULL ? arg_rest : none, error))
		return false;
	*ret_status = cli.status;
	if (!cli.changed)
		return gbe_print_done(error);
	if (!gbe_print_done(&local)) {
		g_prefix_error(&local, "what was asked for is done; ");
		gbe_cli_say(local->message);
	}
	return true;
}

static void
drop_first(char **args)
{
	g_free(args[1]);
	for (guint i = 1; args[i] != NULL; i++)
		args[i] = args[i + 1];
}

/* The verbs help and version are options in other words. */
static bool
words_to_options(char ***args, GError **error)
{
	const char *word = (*args)[1];

	arg_version = arg_version || g_strcmp0(word, "version") == 0;
	if (g_strcmp0(word, "help") != 0)
		return true;
	arg_help = true;
	drop_first(*args);
	if (!parse(args, NULL, error))
		return false;
	if ((*args)[1] != NULL && (*args)[2] != NULL && (*args)[2][0] != '-')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "help takes no more than [VERB]: \"%s\" is too much", (*args)[2]);
	return true;
}

static bool
start(char ***args, char **argv, GbeExitStatus *ret_status, GError **error)
{
	if (!parse(args, NULL, error))
		return false;
	if ((*args)[1] != NULL && g_str_equal((*args)[1], "--"))
		drop_first(*args);
	if (!words_to_options(args, error))
		return false;
	if (the_optional != NULL && (*args)[1] != NULL) {
		const GbeVerb *verb = gbe_verb_find(the_verbs, (*args)[1]);

		if ((verb == NULL || verb->optional) && !exec_program((*args)[1], argv, error))
			return false;
	}
	if (((*args)[1] != NULL || (!arg_help && !arg_version)) &&
	    !find_verb((*args)[1], &the_verb, error))
		return false;
	if (the_verb != NULL && the_verb->passes_on) {
		arg_rest = *args + (g_strcmp0((*args)[2], "--") == 0 ? 3 : 2);
	} else if (the_verb != NULL) {
		char **rest = *args + 1;

		arg_separated = g_strv_contains((const char *const *)rest, "--");
		if (!parse(&rest, the_verb, error))
			return false;
	}
	if (arg_help || arg_version) {
		if (!arg_help && the_verb != NULL && !check_count(the_verb, error))
			return false;
		if (arg_version)
			gbe_print("greenboot-etcd %s\n", GBE_VERSION);
		else if (arg_lines)
			print_verbs(the_verbs);
		else if (the_verb == NULL)
			print_help(the_verbs);
		else
			print_help_of(the_verb);
		return gbe_print_done(error);
	}
	return check_word(the_verb, error) && check_count(the_verb, error) &&
	       run(the_verb, ret_status, error);
}

/* An error may come before the option is parsed. Options after a verb that passes them on are not this program's. */
static bool
wants_json(char *const *args)
{
	for (guint i = 1; args[i] != NULL && (the_verb == NULL || !the_verb->passes_on); i++)
		if (g_str_equal(args[i], "--json"))
			return true;
	return arg_json;
}

int
gbe_cli_main(const GbeVerb *verbs, const GbeOptionalVerb *optional, int argc, char **argv)
{
	g_auto(GStrv) args = g_strdupv(argv);
	GbeExitStatus status = GBE_EXIT_DONE;
	g_autoptr(GError) error = NULL;

	the_verbs = verbs;
	the_optional = optional;
	/* For the characters of file names. Messages are not translated. */
	(void)setlocale(LC_CTYPE, "");
	if (start(&args, argv, &status, &error))
		return (int)status;
	/* Until the verb is known, nothing below the root was looked at. */
	report_failure(the_verb, wants_json(argv), the_verb != NULL ? arg_root : NULL, error);
	return (int)gbe_exit_status_of(error);
}
