/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/configuration.h"
#include "cli/fail.h"
#include "cli/help.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/programs.h"
#include "cli/verb.h"
#include "sys/systemd/events.h"

#include <locale.h>
#include <string.h>

static char *arg_root, *arg_config;
static gboolean arg_json, arg_quiet, arg_verbose, arg_help, arg_version, arg_lines;
static char **arg_rest;
static bool arg_separated;
static const GbeVerb *the_verbs, *the_verb; /* the_verb NULL: none yet */
static const GbeOptionalVerb *the_optional;

const GOptionEntry gbe_options_global[] = {
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

	add_options(names, gbe_options_global);
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
	g_option_context_add_main_entries(context, gbe_options_global, NULL);
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

/* Starts the optional program that has the verb @word. Returns true if no such program is installed. */
static bool
pass_on(const char *word, char **argv, GError **error)
{
	const GbeVerb *verb = gbe_verb_find(the_verbs, word);

	return (verb != NULL && !verb->optional) || gbe_program_exec(word, argv, error);
}

static bool
start(char ***args, char **argv, GbeExitStatus *ret_status, GError **error)
{
	if (!parse(args, NULL, error))
		return false;
	if ((*args)[1] != NULL && g_str_equal((*args)[1], "--"))
		drop_first(*args);
	if (!words_to_options(args, error) ||
	    (the_optional != NULL && (*args)[1] != NULL && !pass_on((*args)[1], argv, error)))
		return false;
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
			gbe_help_lines(the_verbs);
		else if (the_verb == NULL)
			gbe_help_all(the_verbs);
		else
			gbe_help_verb(the_verb);
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
	gbe_cli_fail(the_verb, wants_json(argv), the_verb != NULL ? arg_root : NULL, error);
	return (int)gbe_exit_status_of(error);
}
