/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* import: makes a backup from etcd's own snapshot, or from a copied data directory. */
#include "app/snapshot/import.h"
#include "cli/print.h"
#include "core/json/parse.h"
#include "core/space.h"

#define TIMEOUT_SECONDS 300
#define TIMEOUT_MOST 86400

static gboolean arg_no_checksum, arg_etcd_only, arg_keep_owners;
static gboolean arg_mark_compacted;
static gint64 arg_bump = -1;
static char *arg_timeout;

const GbeOption gbe_options_import[] = {
    {"no-checksum", 0, &arg_no_checksum, "Accept a copied database, which has no checksum"},
    {"etcd-only", 0, &arg_etcd_only, "Accept that a restore removes other files of data-dir"},
    {"keep-owners", 0, &arg_keep_owners,
     "Keep owners, setuid bits, capabilities and ACLs of a directory"},
    {"bump-revision", 0, &arg_bump, "Skip N revisions; 0 skips none, also for Kubernetes", "N",
     .type = G_OPTION_ARG_INT64},
    {"mark-compacted", 0, &arg_mark_compacted,
     "Mark older revisions as compacted; needs --bump-revision"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for etcd's tool (5min)", "DURATION"},
    {NULL},
};

const GbeField gbe_import_fields[] = {
    GBE_FIELD_SET(GbeImported, name, "name", TEXT),
    GBE_FIELD(GbeImported, size, "size", NUMBER),
    GBE_FIELD(GbeImported, revision, "revision", TIME),
    GBE_FIELD(GbeImported, bump, "bump_revision", NUMBER),
    GBE_FIELD_OF(GbeImported, grade, "grade", SAID, gbe_grade_to_string, 0),
    {0},
};

static void
print_imported(const GbeCli *cli, const GbeImported *imported)
{
	g_autofree char *size = gbe_size_to_text(imported->size);

	if (cli->json) {
		gbe_print_answer(gbe_import_fields, imported);
	} else if (!cli->quiet) {
		gbe_print("%s: %s, revision %" G_GINT64_FORMAT ", graded unproven\n",
			  imported->name, size, imported->revision);
		gbe_print("To put it in the data's place: greenboot-etcd restore --stop %s\n",
			  imported->name);
		if (imported->bump > 0)
			gbe_print("%" G_GUINT64_FORMAT " revisions were skipped%s\n",
				  imported->bump,
				  arg_bump < 0 ? ", because the keys are Kubernetes': "
						 "--bump-revision=0 keeps the snapshot's revision"
					       : "");
	}
}

static bool
check_bump(GbeImport *options, GError **error)
{
	if (arg_mark_compacted != (arg_bump > 0))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--bump-revision=N and --mark-compacted go together");
	if (arg_bump < -1 || arg_bump > (gint64)GBE_IMPORT_BUMP_MOST)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--bump-revision=%" G_GINT64_FORMAT
				 ": a number from 0 to %" G_GUINT64_FORMAT,
				 arg_bump, GBE_IMPORT_BUMP_MOST);
	options->bump = (guint64)MAX(arg_bump, 0);
	options->no_bump = arg_bump == 0;
	return true;
}

bool
gbe_verb_import(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeImported) imported = {0};
	GbeImport options = {.path = arguments[0],
			     .name = arguments[1],
			     .timeout = TIMEOUT_SECONDS,
			     .no_checksum = arg_no_checksum,
			     .etcd_only = arg_etcd_only,
			     .keep_owners = arg_keep_owners,
			     .progress = gbe_progress_step};
	bool ok;

	if (!check_bump(&options, error) ||
	    !gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error))
		return false;
	gbe_progress_begin(cli, "read");
	ok = gbe_import(cli->app, &options, &imported, error);
	gbe_progress_end();
	gbe_cli_changed(cli, !ok);
	if (ok)
		print_imported(cli, &imported);
	return ok;
}
