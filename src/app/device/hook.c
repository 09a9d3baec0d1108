/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/hook.h"

#include <stdio.h>

#include "sys/systemd/events.h"

static int verbosity;

static gboolean
count_verbose(const char *name, const char *value, gpointer data, GError **error)
{
	verbosity++;
	return TRUE;
}

bool
gbe_hook_parse(GbeHook *hook, const char *program, const char *summary, const GOptionEntry *more,
	       int *argc, char ***argv, int on_usage, int *ret_status)
{
	gboolean help = FALSE;
	GOptionEntry entries[] = {
	    {"root", 0, 0, G_OPTION_ARG_FILENAME, &hook->root, "Every path lies below DIR", "DIR"},
	    {"config", 0, 0, G_OPTION_ARG_FILENAME, &hook->config, "Read this file alone", "FILE"},
	    {"verbose", 'v', G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK,
	     (gpointer)(GOptionArgFunc)count_verbose, "Say what is done", NULL},
	    {"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this", NULL},
	    {NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	verbosity = 0;
	hook->program = program;
	g_option_context_set_summary(context, summary);
	if (more != NULL)
		g_option_context_add_main_entries(context, more, NULL);
	/* GLib's own --help would end the program. */
	g_option_context_set_help_enabled(context, false);
	g_option_context_add_main_entries(context, entries, NULL);
	if (g_option_context_parse(context, argc, argv, &error) && *argc > 1)
		gbe_throw(&error, GBE_ERROR_USAGE, "what is \"%s\"?", (*argv)[1]);
	if (error != NULL) {
		(void)fprintf(stderr, "greenboot-etcd-%s: %s (--help shows the options)\n", program,
			      error->message);
		*ret_status = on_usage;
		return false;
	}
	if (help) {
		g_autofree char *text = g_option_context_get_help(context, true, NULL);

		*ret_status = fputs(text, stdout) == EOF ? on_usage : 0;
		return false;
	}
	hook->verbosity = verbosity;
	gbe_events_init(program, hook->root != NULL && !g_str_equal(hook->root, "/"), false,
			verbosity);
	return true;
}

void
gbe_hook_clear(GbeHook *hook)
{
	g_clear_pointer(&hook->root, g_free);
	g_clear_pointer(&hook->config, g_free);
}

void
gbe_hook_apply(const GbeHook *hook, GbeApp *app)
{
	g_free(app->config_file);
	app->config_file = g_strdup(hook->config);
}
