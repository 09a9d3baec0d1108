/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/configuration.h"
#include "cli/help.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/shown.h"
#include "sys/events.h"

#include <locale.h>
#include <stdio.h>

static char *arg_root, *arg_config;
static gboolean arg_json, arg_quiet, arg_verbose, arg_help, arg_version;
static char **arg_rest;

const GOptionEntry gbe_options_global[] = {
    {"root", 0, 0, G_OPTION_ARG_FILENAME, &arg_root,
     "Work on the system below DIR; nothing outside is touched", "DIR"},
    {"config", 0, 0, G_OPTION_ARG_FILENAME, &arg_config, "Read FILE and no other", "FILE"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &arg_json, "JSON for programs", NULL},
    {"quiet", 'q', 0, G_OPTION_ARG_NONE, &arg_quiet, "Say nothing but what was asked for", NULL},
    {"verbose", 'v', 0, G_OPTION_ARG_NONE, &arg_verbose, "Say what is done", NULL},
    {"help", 'h', 0, G_OPTION_ARG_NONE, &arg_help, "Show help", NULL},
    {"version", 0, 0, G_OPTION_ARG_NONE, &arg_version, "Show the version", NULL},
    {NULL},
};

static const GOptionEntry options_rest[] = {
    {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &arg_rest, NULL, NULL},
    {NULL},
};

/* One line, whatever the message holds. */
static void
complain(const char *message)
{
	g_autofree char *line = gbe_shown_line(message);

	(void)fprintf(stderr, "greenboot-etcd: %s\n", line);
}

static bool wrong(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool
wrong(GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	return gbe_throw(error, GBE_ERROR_USAGE, "%s. Try 'greenboot-etcd --help'.", text);
}

/* Options in front of the verb: the parser stops at the first that is none. */
static bool
parse(char ***args, const GbeVerb *verb, GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) local = NULL;

	g_option_context_set_help_enabled(context, FALSE);
	g_option_context_set_strict_posix(context, verb == NULL);
	g_option_context_add_main_entries(context, gbe_options_global, NULL);
	if (verb != NULL) {
		if (verb->options != NULL)
			g_option_context_add_main_entries(context, verb->options, NULL);
		g_option_context_add_main_entries(context, options_rest, NULL);
	}
	if (g_option_context_parse_strv(context, args, &local))
		return true;
	return wrong(error, "%s", local->message);
}

/* The verb is args[1] by then. */
static bool
find_verb(char **args, const GbeVerb **ret_verb, GError **error)
{
	g_autofree char *shown = NULL;

	if (args[1] == NULL)
		return wrong(error, "no verb");
	shown = g_strescape(args[1], NULL);
	*ret_verb = gbe_verb_find(args[1]);
	if (*ret_verb == NULL)
		return wrong(error, "no such verb: %s", shown);
	if ((*ret_verb)->later)
		return wrong(error, "%s is not in this version", shown);
	return true;
}

static bool
check_count(const GbeVerb *verb, GError **error)
{
	guint count = arg_rest != NULL ? g_strv_length(arg_rest) : 0;

	if (count < verb->min)
		return wrong(error, "%s needs its argument, %s", verb->name,
			     verb->max == G_MAXUINT ? "NAME" : verb->arguments);
	if (count > verb->max && verb->max == 0)
		return wrong(error, "%s takes no argument", verb->name);
	if (count > verb->max)
		return wrong(error, "%s takes no more than %s", verb->name, verb->arguments);
	return true;
}

/* A root or a configuration file that is not there is a wrong argument. */
static bool
as_usage(GError **error)
{
	if (error != NULL && g_error_matches(*error, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		(*error)->code = GBE_ERROR_USAGE;
	return false;
}

static bool
run(const GbeVerb *verb, GbeExitStatus *ret_status, GError **error)
{
	static char *none[] = {NULL};
	GbeCli cli = {.json = arg_json, .quiet = arg_quiet, .verbose = arg_verbose};
	g_autoptr(GbeApp) app = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_app_new("cli", arg_root, &app, error))
		return as_usage(error);
	app->config_file = g_strdup(arg_config);
	/* What a verb says, it says itself; the journal gets the events. */
	gbe_events_init("cli", app->below_root, !arg_verbose, arg_verbose ? 1 : 0);
	if (!verb->own_config && !gbe_configuration_load(app, FALSE, error))
		return as_usage(error);
	cli.app = app;
	if (!verb->run(&cli, arg_rest != NULL ? arg_rest : none, error))
		return false;
	*ret_status = cli.status;
	if (!cli.changed)
		return gbe_print_done(error);
	if (!gbe_print_done(&local)) {
		g_prefix_error(&local, "what was asked for is done; ");
		complain(local->message);
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

static bool
start(char ***args, GbeExitStatus *ret_status, GError **error)
{
	const GbeVerb *verb = NULL;

	if (!parse(args, NULL, error))
		return false;
	if ((*args)[1] != NULL && g_str_equal((*args)[1], "--"))
		drop_first(*args);
	if (!arg_help && !arg_version) {
		if (!find_verb(*args, &verb, error))
			return false;
	} else if ((*args)[1] != NULL) {
		verb = gbe_verb_find((*args)[1]);
	}
	if (verb != NULL && verb->passes_on) {
		arg_rest = *args + (g_strcmp0((*args)[2], "--") == 0 ? 3 : 2);
	} else if (verb != NULL && !verb->later) {
		char **rest = *args + 1;

		if (!parse(&rest, verb, error))
			return false;
	}
	if (arg_help || arg_version) {
		if (arg_version)
			gbe_print("greenboot-etcd %s\n", GBE_VERSION);
		else
			gbe_help(verb);
		return gbe_print_done(error);
	}
	return check_count(verb, error) && run(verb, ret_status, error);
}

int
main(int argc, char **argv)
{
	g_auto(GStrv) args = g_strdupv(argv);
	GbeExitStatus status = GBE_EXIT_DONE;
	g_autoptr(GError) error = NULL;

	/* For the characters of file names; messages are not translated. */
	(void)setlocale(LC_CTYPE, "");
	if (start(&args, &status, &error))
		return (int)status;
	complain(error->message);
	return (int)gbe_exit_status_of(error);
}
