/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapshot save and snapshot status: etcd's own snapshot files. */
#include "app/snapshot/snapshot.h"
#include "cli/print.h"
#include "cli/verb.h"

#define TIMEOUT_MOST (30 * 86400)

static gboolean arg_force;
static char *arg_timeout;

const GbeOption gbe_options_snapshot[] = {
    {"timeout", 0, &arg_timeout, "Give up after DURATION (10min); default: 30s without a byte",
     "DURATION", .words = "save"},
    {"force", 0, &arg_force, "Replace an existing FILE", .words = "save"},
    {NULL},
};

static void
print_saved(const GbeCli *cli, const char *path, const GbeVerification *verification)
{
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_snapshot_json(verification);

		gbe_print_snapshot_file(cli, path, object);
		gbe_print_object(object);
		return;
	}
	gbe_print_snapshot(cli, verification);
	gbe_print_snapshot_file(cli, path, NULL);
}

bool
gbe_verb_snapshot_save(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeVerification) verification = NULL;
	GbeSnapshotSave options = {.path = arguments[0],
				   .replace = arg_force,
				   .progress = gbe_progress_step};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error))
		return false;
	gbe_progress_begin(cli, "received");
	ok = gbe_snapshot_save(cli->app, &options, &verification, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok);
	if (ok)
		print_saved(cli, arguments[0], verification);
	return ok;
}

bool
gbe_verb_snapshot_status(GbeCli *cli, char **arguments, GError **error)
{
	const GbeVerifyOptions options = {.level = GBE_VERIFY_FULL};
	g_autoptr(GbeVerification) verification = NULL;

	if (!gbe_verify_path(cli->app, arguments[0], &options, &verification, error))
		return false;
	if (verification->kind != GBE_VERIFY_SNAPSHOT)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s is a directory and no snapshot file: `greenboot-etcd verify "
				 "--full` looks into those",
				 arguments[0]);
	gbe_print_snapshot(cli, verification);
	switch (gbe_findings_worst(&verification->findings)) {
	case GBE_FINDING_DAMAGE:
		cli->status = GBE_EXIT_UNHEALTHY;
		break;
	case GBE_FINDING_UNKNOWN:
		cli->status = GBE_EXIT_CANNOT_TELL;
		break;
	case GBE_FINDING_NOTE:
	case GBE_FINDING_WARNING:
	default:
		break;
	}
	return true;
}
