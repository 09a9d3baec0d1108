/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/certs.h"

static gboolean arg_undo, arg_dry_run;
static char *arg_timeout;

const GOptionEntry gbe_options_certs[] = {
    {"undo", 0, 0, G_OPTION_ARG_NONE, &arg_undo, "reset: put back what the last one removed", NULL},
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &arg_timeout,
     "reset: how long etcd may take to be healthy (timeout= of [health])", "DURATION"},
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &arg_dry_run,
     "reset: change nothing, say what would be done", NULL},
    {NULL},
};

static bool
list(GbeCli *cli, const char *argument, GError **error)
{
	return gbe_cli_certs_list(cli, NULL, error);
}

static bool
reset(GbeCli *cli, const char *argument, GError **error)
{
	return gbe_cli_certs_reset(cli, arg_undo, arg_dry_run, arg_timeout, error);
}

static const GbeWord words[] = {
    {"list", NULL, list, ""},
    {"reset", NULL, reset, " undo timeout dry-run "},
    {"export", "FILE", gbe_cli_certs_export, ""},
    {NULL},
};

bool
gbe_verb_certs(GbeCli *cli, char **arguments, GError **error)
{
	return gbe_verb_run_word(cli, "certs", gbe_options_certs, words, arguments, error);
}
