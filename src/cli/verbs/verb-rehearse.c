/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rehearse: would the etcd of an update work on today's data? */
#include "app/rehearse/rehearse.h"
#include "app/report/records.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "core/json/parse.h"

#define TIMEOUT_MOST 86400

static char *arg_deployment, *arg_timeout;
static gboolean arg_keep;

const GbeOption gbe_options_rehearse[] = {
    {"deployment", 0, &arg_deployment, "Rehearse this deployment: ID, staged (default), rollback",
     "ID", "staged,rollback", .type = G_OPTION_ARG_STRING},
    {"keep", 0, &arg_keep, "Keep the clone"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for a ready etcd (2min)", "DURATION"},
    {NULL},
};

static void
print_text(const GbeRehearsal *rehearsal)
{
	gbe_print("%s: %s%s%s\n",
		  rehearsal->deployment.id != NULL ? rehearsal->deployment.id : "unknown",
		  gbe_rehearsal_result_to_string(rehearsal->result),
		  rehearsal->reason != NULL ? ": " : "",
		  rehearsal->reason != NULL ? rehearsal->reason : "");
	gbe_print_field("etcd", "%s today, %s in the update",
			rehearsal->from != NULL ? rehearsal->from : "unknown",
			rehearsal->to != NULL ? rehearsal->to : "unknown");
	gbe_print_field("Goes back", "%s%s%s", gbe_tri_to_string(rehearsal->goes_back),
			rehearsal->going_back != NULL ? ": " : "",
			rehearsal->going_back != NULL ? rehearsal->going_back : "");
	if (rehearsal->locked)
		gbe_print_field("Locked", "a reboot does not take it; `rm "
					  "/run/ostree/staged-deployment-locked` lifts that");
	if (arg_keep)
		gbe_print_field("Kept", "%s in the store of backups", GBE_REHEARSAL_KEPT);
}

bool
gbe_verb_rehearse(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};
	GbeRehearse options = {.deployment = arg_deployment,
			       .timeout = GBE_REHEARSE_SECONDS,
			       .keep = arg_keep,
			       .progress = gbe_progress_step};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error))
		return false;
	gbe_progress_begin(cli, "rehearsed");
	ok = gbe_rehearse(cli->app, &options, &rehearsal, error);
	gbe_progress_end();
	if (!ok)
		return false;
	if (cli->json) {
		gbe_print_answer(gbe_rehearsal_fields, &rehearsal);
	} else if (!cli->quiet) {
		gbe_cli_fit(cli, NULL);
		print_text(&rehearsal);
	}
	cli->status = rehearsal.result == GBE_REHEARSAL_PASSED	 ? GBE_EXIT_DONE
		      : rehearsal.result == GBE_REHEARSAL_FAILED ? GBE_EXIT_REFUSED
								 : GBE_EXIT_CANNOT_TELL;
	return true;
}
