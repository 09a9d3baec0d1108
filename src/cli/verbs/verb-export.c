/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* export: writes a backup as etcd's own snapshot. */
#include "app/snapshot/export.h"
#include "cli/print.h"
#include "core/json/parse.h"

#define TIMEOUT_SECONDS 300
#define TIMEOUT_MOST 86400

static gboolean arg_drop_wal, arg_v3_only, arg_force;
static char *arg_timeout;

const GbeOption gbe_options_export[] = {
    {"drop-wal", 0, &arg_drop_wal, "Leave out writes that only the log has"},
    {"v3-only", 0, &arg_v3_only, "Leave out keys of the v2 API, which no snapshot holds"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for etcd to apply the log (5min)", "DURATION"},
    {"force", 0, &arg_force, "Replace an existing FILE"},
    {NULL},
};

static void
print_exported(const GbeCli *cli, const char *name, const char *path, const GbeExported *exported)
{
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_snapshot_json(exported->verification);

		gbe_json_set_string(object, "name", name);
		json_object_set_int_member(object, "applied", (gint64)exported->applied);
		json_object_set_int_member(object, "dropped", (gint64)exported->dropped);
		json_object_set_int_member(object, "v2_keys", (gint64)exported->v2_keys);
		gbe_print_snapshot_file(cli, path, object);
		gbe_print_object(object);
		return;
	}
	gbe_print_snapshot(cli, exported->verification);
	gbe_print_snapshot_file(cli, path, NULL);
	if (cli->quiet)
		return;
	if (exported->applied > 0)
		gbe_print("etcd has applied %" G_GUINT64_FORMAT " requests of the log\n",
			  exported->applied);
	if (exported->dropped > 0)
		gbe_print("%" G_GUINT64_FORMAT " requests of the log are left out\n",
			  exported->dropped);
	if (exported->v2_keys > 0)
		gbe_print("%" G_GUINT64_FORMAT " keys of the v2 API are left out\n",
			  exported->v2_keys);
}

bool
gbe_verb_export(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeExported) exported = {0};
	GbeExport options = {.name = arguments[0],
			     .path = arguments[1],
			     .timeout = TIMEOUT_SECONDS,
			     .drop_wal = arg_drop_wal,
			     .v3_only = arg_v3_only,
			     .replace = arg_force,
			     .progress = gbe_progress_step};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error))
		return false;
	gbe_progress_begin(cli, "exported");
	ok = gbe_export(cli->app, &options, &exported, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok);
	if (ok)
		print_exported(cli, arguments[0], arguments[1], &exported);
	return ok;
}
