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
static gboolean arg_json, arg_quiet, arg_verbose, arg_help, arg_version, arg_lines, arg_table;
static char *nothing[] = {NULL}, **arg_rest;
static bool arg_separated;
static bool asked_for_help;		    /* by the verb help */
static const GbeVerb *the_verbs, *the_verb; /* the_verb NULL: none yet */
static const GbeVerb *the_word;		    /* what runs: the_verb, or a word in its table */
static const GbeVerb *the_siblings;	    /* the table with the_word; NULL: it is the_verb */
static GString *the_words;		    /* that lead to the_word: "store pull" */
static const GbeOptionalVerb *the_optional;

static const GbeOption options_global[] = {
    {"root", 0, &arg_root, "Work on the system below DIR only", "DIR", GBE_A_DIRECTORY},
    {"config", 0, &arg_config, "Read only FILE as the configuration", "FILE", GBE_A_FILE},
    {"json", 0, &arg_json, "Print JSON for programs"},
    {"quiet", 'q', &arg_quiet, "Print only the result"},
    {"verbose", 'v', &arg_verbose, "Print each step"},
    {"help", 'h', &arg_help, "Show help"},
    {"version", 'V', &arg_version, "Show the version"},
    {"lines", 0, &arg_lines}, /* help: a line for each verb */
    {"table", 0, &arg_table}, /* help: as gbe_verb_print_table() */
    {NULL},
};

/* Of a verb. */
static const GbeOption *
options_of(const GbeVerb *verb)
{
	static const GbeOption none[] = {{NULL}};

	return verb->options != NULL ? verb->options : none;
}

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

void
gbe_cli_complain_of_configuration(const char *complaint)
{
	g_autofree char *line = NULL;

	if (complaint == NULL)
		return;
	line = g_strconcat(complaint, NEXT "run `greenboot-etcd config --check`", NULL);
	gbe_cli_say(line);
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
take_apart(const GError *error, char **ret_message, char **ret_hint)
{
	bool usage = g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE);
	const char *next = usage ? NULL : g_strrstr(error->message, NEXT);

	*ret_message = next != NULL ? g_strndup(error->message, (gsize)(next - error->message))
				    : g_strdup(error->message);
	if (next != NULL)
		*ret_hint = g_strdup(next + strlen(NEXT));
	else if (usage || g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		*ret_hint = g_strdup_printf("see `greenboot-etcd %s%s--help`",
					    the_words != NULL ? the_words->str : "",
					    the_words != NULL ? " " : "");
	else if (g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG))
		*ret_hint = g_strdup("see greenboot-etcd.conf(5)");
}

/* Prints the sentence to stderr, and with @json an object with the same to stdout, unless the verb printed JSON already.
 * The sentence ends with the next step: a usage error with the command whose help says more. Below @root (NULL: none)
 * it says so where it has a path. */
static void
report_failure(bool json, const char *root, const GError *error)
{
	g_autoptr(JsonObject) object = NULL;
	JsonObject *inner;
	g_autofree char *message = NULL, *hint = NULL, *sentence = NULL;

	take_apart(error, &message, &hint);
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
		return gbe_throw(error, GBE_ERROR_USAGE, "%s is not a program of greenboot-etcd",
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

/* Prints the options that go with @words of the verb. @shows_words: also the words that take an option. */
static void
print_options(const GbeOption *options, const char *words, bool shows_words)
{
	for (const GbeOption *option = options; option->name != NULL; option++) {
		const char *description = option->description;
		g_autofree char *left = NULL, *right = NULL;

		if (description == NULL || !gbe_option_goes_with(option, words))
			continue;
		left = g_strdup_printf("%s%.1s%s--%s%s%s", option->letter != 0 ? "-" : "",
				       &option->letter, option->letter != 0 ? ", " : "    ",
				       option->name, option->shown != NULL ? "=" : "",
				       option->shown != NULL ? option->shown : "");
		if (shows_words && option->words != NULL)
			right = g_strdup_printf("%s: %c%s", option->words,
						g_ascii_tolower(description[0]), description + 1);
		print_line(left, right != NULL ? right : description);
	}
}

static void
print_entry(const char *words, const GbeVerb *verb)
{
	g_autofree char *usage = gbe_verb_usage(verb);
	g_autofree char *left = g_strconcat(words, *usage != '\0' ? " " : "", usage, NULL);

	print_line(left, verb->summary);
}

static void
print_verbs(const GbeVerb *verbs)
{
	bool others = false;

	for (const GbeVerb *verb = verbs; verb->name != NULL; verb++) {
		if (verb->alias != NULL ||
		    (verb->optional && gbe_program_find(verb->name, NULL) == GBE_YES))
			continue;
		/* help and version end the list of the command, which alone has them. */
		if (verb->run == NULL && verb->words == NULL && !others) {
			print_programs();
			others = true;
		}
		if (verb->group != NULL || verb == verbs)
			gbe_print("\n%s:\n", verb->group != NULL ? verb->group : "Verbs");
		print_entry(verb->name, verb);
	}
}

static void
print_help(const GbeVerb *verbs)
{
	gbe_print("Usage: greenboot-etcd [OPTION...] VERB [ARGUMENT...]\n\n"
		  "Backs up and restores etcd's data together with ostree deployments.\n");
	print_verbs(verbs);
	gbe_print("\nOptions, before or after the verb:\n");
	print_options(options_global, "", false);
	gbe_print("\n`greenboot-etcd VERB --help` shows a verb's own options and an example.\n"
		  "For more details see greenboot-etcd(8).\n");
}

/* The words after the verb, "requests delete". */
static const char *
words_of_verb(void)
{
	const char *words = the_words->str + strlen(the_verb->name);

	return *words == ' ' ? words + 1 : words;
}

static void
print_help_of_word(void)
{
	g_autofree char *usage = gbe_verb_usage(the_word);

	gbe_print("Usage: greenboot-etcd [OPTION...] %s%s%s\n\n%s.\n", the_words->str,
		  *usage != '\0' ? " " : "", usage, the_word->summary);
	if (the_word->words != NULL)
		gbe_print("\nSubcommands:\n");
	for (const GbeVerb *word = the_word->words; word != NULL && word->name != NULL; word++)
		print_entry(word->name, word);
	if (the_verb->options != NULL) {
		gbe_print("\nOptions:\n");
		print_options(the_verb->options, words_of_verb(), the_word->words != NULL);
	}
	gbe_print("\nOptions of every verb:\n");
	print_options(options_global, "", false);
	gbe_print("\nExample:\n  greenboot-etcd %s\n\nFor more details see %s.\n",
		  the_word->example, the_verb->page != NULL ? the_verb->page : "greenboot-etcd(8)");
}

/* ---- the command line ---- */

/* The names of @options, as they are typed. */
static void
add_names(GPtrArray *names, const GbeOption *options)
{
	for (const GbeOption *option = options; option->name != NULL; option++)
		g_ptr_array_add(names, g_strconcat("--", option->name, NULL));
}

/* Replaces GLib's message about an unknown option. */
static bool
no_such_option(const char *option, const GbeVerb *verb, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *name = g_strndup(option, strcspn(option, "="));
	g_autofree char *nearest = NULL;

	add_names(names, options_global);
	if (verb != NULL)
		add_names(names, options_of(verb));
	g_ptr_array_add(names, NULL);
	nearest = gbe_verb_nearest(name, (const char *const *)names->pdata);
	return gbe_throw(error, GBE_ERROR_USAGE, "no such option%s%s: %s%s",
			 verb != NULL ? " of " : " before a verb", verb != NULL ? verb->name : "",
			 name, nearest);
}

static void
add_entries(GOptionContext *context, const GbeOption *options)
{
	g_autoptr(GArray) entries = g_array_new(true, true, sizeof(GOptionEntry));

	for (const GbeOption *option = options; option->name != NULL; option++) {
		GOptionEntry entry = {.long_name = option->name,
				      .short_name = option->letter,
				      .arg = option->type,
				      .arg_data = option->data};

		if (option->shown != NULL && option->type == G_OPTION_ARG_NONE)
			entry.arg = G_OPTION_ARG_FILENAME;
		g_array_append_val(entries, entry);
	}
	g_option_context_add_main_entries(context, (GOptionEntry *)(gpointer)entries->data, NULL);
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
	add_entries(context, options_global);
	if (verb != NULL) {
		add_entries(context, options_of(verb));
		g_option_context_add_main_entries(context, options_rest, NULL);
	}
	if (g_option_context_parse_strv(context, args, &local))
		return true;
	option = strrchr(local->message, ' ');
	if (g_error_matches(local, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && option != NULL)
		return no_such_option(option + 1, verb, error);
	if (g_str_has_prefix(local->message, "Missing argument for ") && option != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s needs a value", option + 1);
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
	if (*ret_verb != NULL) {
		the_words = g_string_new((*ret_verb)->name);
		return true;
	}
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
no_such_word(const char *word, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autofree char *all = NULL, *nearest = NULL, *shown = g_strescape(word, NULL);

	for (const GbeVerb *known = the_word->words; known->name != NULL; known++)
		g_ptr_array_add(names, (gpointer)known->name);
	g_ptr_array_add(names, NULL);
	all = g_strjoinv(" or ", (char **)names->pdata);
	nearest = gbe_verb_nearest(word, (const char *const *)names->pdata);
	return gbe_throw(error, GBE_ERROR_USAGE, "%s takes %s, not \"%s\"%s%s%s%s", the_words->str,
			 all, shown, nearest,
			 the_word->optional ? "; more is in the package greenboot-etcd-" : "",
			 the_word->optional ? the_word->name : "",
			 the_word->optional ? ", which is not installed" : "");
}

/* Follows the words after the verb to what runs. --help shows as much as it finds. */
static bool
find_word(GError **error)
{
	the_word = the_verb;
	while (the_word->words != NULL && arg_rest[0] != NULL) {
		const GbeVerb *word = gbe_verb_find(the_word->words, arg_rest[0]);

		if (word == NULL && arg_help && !asked_for_help)
			return true;
		if (word == NULL)
			return no_such_word(arg_rest[0], error);
		the_siblings = the_word->words;
		the_word = word;
		g_string_append_printf(the_words, " %s", word->name);
		arg_rest++;
	}
	return true;
}

/* Was @option of the verb given? */
static bool
is_given(const GbeOption *option)
{
	return option->shown != NULL ? *(gpointer *)option->data != NULL
				     : *(gboolean *)option->data;
}

/* Exactly one of "NAME|--last-good|--cancel" is given. @name: the argument; NULL: it is missing. */
static bool
check_alternatives(const char *shown, const char *name, GError **error)
{
	g_auto(GStrv) all = g_strsplit(shown, "|", -1);
	guint given = name != NULL;

	for (const GbeOption *option = options_of(the_verb); option->name != NULL; option++) {
		g_autofree char *typed = g_strconcat("--", option->name, NULL);

		given += g_strv_contains((const char *const *)all, typed) && is_given(option);
	}
	return given == 1 ||
	       gbe_throw(error, GBE_ERROR_USAGE, "%s %s %s", the_words->str,
			 given == 0 ? "needs its argument," : "takes only one of", shown);
}

/* Says which command lists what @argument names. "" for a file or an address. Newly allocated. */
static char *
where_listed(const GbeArgument *argument)
{
	g_autofree char *above = NULL;

	if (argument->offered != NULL && g_str_has_prefix(argument->offered, GBE_A_BACKUP))
		return g_strdup(" (`greenboot-etcd list` shows the backups)");
	if (the_siblings == NULL || gbe_verb_find(the_siblings, "list") == NULL ||
	    (strstr(argument->shown, "NAME") == NULL && strstr(argument->shown, "MEMBER") == NULL))
		return g_strdup("");
	above = g_strndup(the_words->str, (gsize)(strrchr(the_words->str, ' ') - the_words->str));
	return g_strdup_printf(" (`greenboot-etcd %s list` shows the names)", above);
}

static bool
check_count(GError **error)
{
	g_autofree char *extra = NULL, *usage = gbe_verb_usage(the_word), *listed = NULL;
	guint count = g_strv_length(arg_rest), min = 0, max = 0;

	for (guint i = 0; i < G_N_ELEMENTS(the_word->arguments); i++) {
		const GbeArgument *argument = &the_word->arguments[i];

		if (argument->shown == NULL)
			break;
		if (!argument->optional && argument->shown[0] != '[')
			min = i + 1;
		max = strstr(argument->shown, "...") != NULL ? G_MAXUINT : i + 1;
		if (argument->optional && strstr(argument->shown, "|--") != NULL &&
		    !check_alternatives(argument->shown, arg_rest[0], error))
			return false;
	}
	if (count < min)
		listed = where_listed(&the_word->arguments[count]);
	if (count < min || the_word->words != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s needs its argument%s, %s%s",
				 the_words->str, min > 1 ? "s" : "", usage,
				 listed != NULL ? listed : "");
	if (count <= max)
		return true;
	extra = g_strescape(arg_rest[max], NULL);
	return gbe_throw(error, GBE_ERROR_USAGE, "%s takes no %s%s: \"%s\" is too much",
			 the_words->str, max == 0 ? "argument" : "more than ",
			 max == 0 ? "" : usage, extra);
}

/* Of the options of the verb, only those of its word may be given. */
static bool
check_options(GError **error)
{
	const char *words = words_of_verb();
	g_autoptr(GHashTable) taken = g_hash_table_new(g_str_hash, g_str_equal);

	for (const GbeOption *option = options_of(the_verb); option->name != NULL; option++)
		if (gbe_option_goes_with(option, words))
			g_hash_table_add(taken, (gpointer)option->name);
	for (const GbeOption *option = options_of(the_verb); option->name != NULL; option++)
		if (!g_hash_table_contains(taken, option->name) && is_given(option))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "--%s does not go with %s, but with %s %s", option->name,
					 the_words->str, the_verb->name, option->words);
	return true;
}

/* Turns an error about a missing root or configuration file into a usage error: the argument was wrong. */
static bool
as_usage(GError **error)
{
	return gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_USAGE);
}

/* A verb that only looks works with a wrong configuration, and says so; one that writes refuses. */
static bool
load_configuration(GbeApp *app, GError **error)
{
	g_autofree char *complaint = NULL;

	if (!the_verb->looks && !the_word->looks)
		return gbe_configuration_load(app, error);
	if (!gbe_configuration_load_to_look(app, &complaint, error))
		return false;
	gbe_cli_complain_of_configuration(complaint);
	return true;
}

/* Completes the names of backups that a person shortened. */
static bool
complete_names(GbeCli *cli, GError **error)
{
	char **first = arg_rest, *after = NULL;
	guint i = 0;
	bool ok;

	while (i < G_N_ELEMENTS(the_word->arguments) &&
	       (the_word->arguments[i].offered == NULL ||
		!g_str_has_prefix(the_word->arguments[i].offered, GBE_A_BACKUP)))
		i++;
	if (i >= MIN(G_N_ELEMENTS(the_word->arguments), g_strv_length(arg_rest)))
		return true;
	first += i;
	if (strstr(the_word->arguments[i].shown, "...") == NULL)
		after = g_steal_pointer(first + 1);
	ok = gbe_cli_resolve_names(cli, first, error);
	if (after != NULL)
		first[1] = after;
	return ok;
}

/* Then the output is the plan, which is also the result of --quiet. */
static bool
is_dry_run(void)
{
	for (const GbeOption *option = options_of(the_verb); option->name != NULL; option++)
		if (g_str_equal(option->name, "dry-run"))
			return is_given(option);
	return false;
}

static bool
run(GbeExitStatus *ret_status, GError **error)
{
	GbeCli cli = {.words = words_of_verb(),
		      .json = arg_json,
		      .quiet = arg_quiet && !is_dry_run(),
		      .verbose = arg_verbose,
		      .separated = arg_separated};
	g_autoptr(GbeApp) app = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_app_new("cli", arg_root, &app, error))
		return as_usage(error);
	app->config_file = g_strdup(arg_config);
	/* A verb prints its own messages; events go to the journal. */
	gbe_events_init("cli", app->below_root, !arg_verbose, arg_verbose ? 1 : 0);
	if (!the_verb->own_config && !load_configuration(app, error))
		return as_usage(error);
	for (guint i = 0; i < app->config->warnings->len && !arg_quiet; i++)
		gbe_cli_say(app->config->warnings->pdata[i]);
	cli.app = app;
	if (is_dry_run() && !arg_json)
		gbe_print_heading("Dry run: nothing is changed. Without --dry-run:\n");
	if (the_word != the_verb && the_verb->run != NULL && !the_verb->run(&cli, arg_rest, error))
		return false;
	if (!complete_names(&cli, error) || !the_word->run(&cli, arg_rest, error))
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
	arg_help = asked_for_help = true;
	drop_first(*args);
	return parse(args, NULL, error);
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
	if (arg_rest == NULL)
		arg_rest = nothing;
	if (the_verb != NULL && !find_word(error))
		return false;
	if (!arg_help && !arg_version)
		return check_count(error) && check_options(error) && run(ret_status, error);
	if (asked_for_help && arg_rest[0] != NULL && arg_rest[0][0] != '-')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "help takes no more than [VERB [WORD...]]: \"%s\" is too much",
				 arg_rest[0]);
	/* With --version a whole call is checked, which tests/lint/hints.py asks for. */
	if (!arg_help && the_verb != NULL && the_word->words == NULL &&
	    !(check_count(error) && check_options(error)))
		return false;
	if (arg_version)
		gbe_print("greenboot-etcd %s\n", GBE_VERSION);
	else if (arg_lines)
		print_verbs(the_verbs);
	else if (arg_table)
		gbe_verb_print_table(the_verbs, options_global, the_optional == NULL ? "+" : "");
	else if (the_verb == NULL)
		print_help(the_verbs);
	else
		print_help_of_word();
	return gbe_print_done(error);
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
	report_failure(wants_json(argv), the_verb != NULL ? arg_root : NULL, error);
	return (int)gbe_exit_status_of(error);
}
