/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapshot save and snapshot status: etcd's own snapshot files. */
#include "app/snapshot/snapshot.h"
#include "cli/print.h"
#include "cli/verb.h"

#define TIMEOUT_MOST (30 * 86400)

static gboolean arg_force;
static char *arg_timeout;

const GOptionEntry gbe_options_snapshot[] = {
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &arg_timeout,
     "save: give up after DURATION (10min); default: 30s without a byte", "DURATION"},
    {"force", 0, 0, G_OPTION_ARG_NONE, &arg_force, "save: replace FILE where it is there", NULL},
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

static bool
save(GbeCli *cli, const char *path, GError **error)
{
	g_autoptr(GbeVerification) verification = NULL;
	GbeSnapshotSave options = {.path = path,
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
		print_saved(cli, path, verification);
	return ok;
}

static bool
status(GbeCli *cli, const char *path, GError **error)
{
	const GbeVerifyOptions options = {.level = GBE_VERIFY_FULL};
	g_autoptr(GbeVerification) verification = NULL;

	if (arg_force || arg_timeout != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--force and --timeout go with snapshot save");
	if (!gbe_verify_path(cli->app, path, &options, &verification, error))
		return false;
	if (verification->kind != GBE_VERIFY_SNAPSHOT)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s is a directory and no snapshot file: `greenboot-etcd verify "
				 "--full` looks into those",
				 path);
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

bool
gbe_verb_snapshot(GbeCli *cli, char **arguments, GError **error)
{
	if (g_str_equal(arguments[0], "save"))
		return save(cli, arguments[1], error);
	return status(cli, arguments[1], error);
}
