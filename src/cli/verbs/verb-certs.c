/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/certs.h"

static gboolean arg_undo, arg_dry_run;
static char *arg_timeout;

const GbeOption gbe_options_certs[] = {
    {"undo", 0, &arg_undo, "Put back the files that the last reset removed", .words = "reset"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for a healthy etcd (timeout= of [health])",
     "DURATION", .words = "reset"},
    {GBE_DRY_RUN(arg_dry_run), .words = "reset"},
    {NULL},
};

bool
gbe_verb_certs_list(GbeCli *cli, char **arguments, GError **error)
{
	return gbe_cli_certs_list(cli, NULL, error);
}

bool
gbe_verb_certs_reset(GbeCli *cli, char **arguments, GError **error)
{
	return gbe_cli_certs_reset(cli, arg_undo, arg_dry_run, arg_timeout, error);
}
