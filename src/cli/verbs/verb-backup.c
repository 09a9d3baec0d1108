/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* backup, restore, undo: the verbs that work on the data. */
#include "app/by-hand/by-hand.h"
#include "app/upkeep/live-etcd.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/space.h"
#include "fs/open.h"

#include <stdio.h>

static char *arg_description;
static gboolean arg_stop, arg_live, arg_pin, arg_digest, arg_dry_run;
static gboolean arg_last_good, arg_next_boot, arg_cancel, arg_force, arg_skip_backup;
static char *arg_keep_existing;

#define OPTION_STOP "stop", 0, &arg_stop, "Stop etcd's service for it, and start it again"
#define OPTION_FORCE "force", 0, &arg_force, "Do what is refused as unsafe without it"

#define OPTION_NEXT_BOOT                                                                           \
	"next-boot", 0, &arg_next_boot, "Restore at the next boot, before etcd starts"
#define OPTION_CANCEL "cancel", 0, &arg_cancel, "Cancel the request of --next-boot"

const GbeOption gbe_options_backup[] = {
    {"description", 'd', &arg_description, "Describe the backup", "TEXT"},
    {OPTION_STOP},
    {"live", 0, &arg_live, "Back up a running etcd; needs a file system that clones"},
    {"pin", 0, &arg_pin, "Keep the backup until it is unpinned"},
    {"digest", 0, &arg_digest, "Read every file for its SHA-256 in the manifest"},
    {GBE_DRY_RUN(arg_dry_run)},
    {NULL},
};

const GbeOption gbe_options_restore[] = {
    {"last-good", 0, &arg_last_good, "Restore the newest good backup"},
    {OPTION_STOP},
    {OPTION_NEXT_BOOT},
    {OPTION_CANCEL},
    {"keep-existing", 0, &arg_keep_existing,
     "Move the present data to DIR, and make no backup of it", "DIR", GBE_A_DIRECTORY},
    {"skip-backup", 0, &arg_skip_backup,
     "Remove the present data once etcd is healthy after the restore"},
    {OPTION_FORCE},
    {GBE_DRY_RUN(arg_dry_run)},
    {NULL},
};

const GbeOption gbe_options_undo[] = {
    {OPTION_STOP},  {OPTION_NEXT_BOOT},		{OPTION_CANCEL},
    {OPTION_FORCE}, {GBE_DRY_RUN(arg_dry_run)}, {NULL},
};

typedef struct {
	GbeByHandResult done;
	bool removed;	   /* --skip-backup: the displaced data is gone */
	const char *stays; /* why it is not; NULL */
} Restored;

static const GbeField timing_fields[] = {
    GBE_FIELD(GbeTiming, total_usec, "total_usec", TIME),
    GBE_FIELD(GbeTiming, clone_usec, "clone_usec", TIME),
    GBE_FIELD(GbeTiming, verify_usec, "verify_usec", TIME),
    GBE_FIELD(GbeTiming, sync_usec, "sync_usec", TIME),
    GBE_FIELD(GbeTiming, publish_usec, "publish_usec", TIME),
    GBE_FIELD(GbeTiming, flushes, "flushes", COUNT),
    {0},
};

static const GbeField result_fields[] = {
    GBE_FIELD_SET(GbeByHandResult, name, "name", TEXT),
    GBE_FIELD_OF(GbeByHandResult, method, "method", SAID, gbe_method_to_string, 0),
    GBE_FIELD_BY(GbeByHandResult, timing, "timing", PART, timing_fields, 0),
    GBE_FIELD(GbeByHandResult, timing.look_usec, "look_usec", TIME),
    GBE_FIELD(GbeByHandResult, timing.bytes_written, "bytes_written", NUMBER),
    GBE_FIELD(GbeByHandResult, size, "size", NUMBER),
    GBE_FIELD_OF(GbeByHandResult, grade, "grade", SAID, gbe_grade_to_string, 0),
    GBE_FIELD(GbeByHandResult, dry_run, "dry_run", FLAG),
    GBE_FIELD(GbeByHandResult, service_restarted, "service_restarted", FLAG),
    {0},
};

const GbeField gbe_backup_fields[] = {
    {"", GBE_FIELD_MORE, 0, result_fields, 0},
    GBE_FIELD_SET(GbeByHandResult, path, "path", TEXT),
    GBE_FIELD(GbeByHandResult, sha256, "sha256", TEXT),
    {0},
};

const GbeField gbe_restore_fields[] = {
    GBE_FIELD_BY(Restored, done, "", MORE, result_fields, 0),
    GBE_FIELD(Restored, done.displaced, "displaced", TEXT),
    GBE_FIELD(Restored, done.kept, "kept_existing", TEXT),
    GBE_FIELD(Restored, removed, "displaced_removed", FLAG),
    GBE_FIELD(Restored, stays, "displaced_stays", TEXT),
    GBE_FIELD_SET(Restored, done.loss, "loss", TEXT),
    {0},
};

static void
print_cost(const GbeByHandResult *result)
{
	g_autofree char *written = gbe_size_to_text(result->timing.bytes_written);

	gbe_print("took %.1f ms, %s of data written\n", (double)result->timing.total_usec / 1000.0,
		  written);
}

bool
gbe_verb_backup(GbeCli *cli, char **arguments, GError **error)
{
	GbeByHandBackup options = {.name = arguments[0],
				   .description = arg_description,
				   .stop = arg_stop,
				   .live = arg_live,
				   .pin = arg_pin,
				   .digest = arg_digest,
				   .dry_run = arg_dry_run};
	g_auto(GbeByHandResult) result = {0};
	g_autofree char *size = NULL;

	if (!gbe_by_hand_backup(cli->app, &options, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json) {
		gbe_print_answer(gbe_backup_fields, &result);
	} else if (result.dry_run) {
		gbe_print("backs up as %s\n", result.name);
	} else if (!cli->quiet) {
		size = gbe_size_to_text(result.size);
		gbe_print("%s: %s, %s, graded %s\n", result.name, size,
			  gbe_method_to_string(result.method), gbe_grade_to_string(result.grade));
		gbe_print("%s, SHA-256 of its " GBE_MANIFEST_NAME ": %s\n", result.path,
			  result.sha256 != NULL ? result.sha256 : "not known");
		if (cli->verbose)
			print_cost(&result);
	}
	return true;
}

/* A person at a terminal is told before the restore, when it is not too late. A program that reads the output gets the
 * text afterwards, and no text when the restore fails. */
static bool
announces(const GbeCli *cli)
{
	return !cli->json && !cli->quiet && isatty(STDOUT_FILENO);
}

static void
announce(const GbeByHandResult *result, gpointer data)
{
	const GbeCli *cli = data;

	if (!announces(cli))
		return;
	gbe_print("restoring %s; this loses %s\n", result->name, result->loss);
	(void)fflush(stdout);
}

/* Prints where the displaced data is. @stays: why it is not removed although that was wanted; NULL. */
static void
print_displaced(const GbeByHandResult *result, bool removed, const char *stays)
{
	if (result->kept != NULL)
		gbe_print("the data that was there is %s\n", result->kept);
	else if (removed)
		gbe_print("etcd is healthy, and the data that was there is removed\n");
	else if (stays != NULL)
		gbe_print("the data that was there stays as %s: %s\n", result->displaced, stays);
	else if (result->displaced != NULL && arg_skip_backup)
		gbe_print("the data that was there goes once etcd is healthy and its run green; "
			  "until then it is %s, and `greenboot-etcd undo --stop` brings it "
			  "back\n",
			  result->displaced);
	else if (result->displaced != NULL)
		gbe_print("the data that was there is kept as %s; `greenboot-etcd undo --stop` "
			  "brings it back\n",
			  result->displaced);
}

static void
print_restored(GbeCli *cli, const GbeByHandResult *result, bool removed, const char *stays)
{
	if (cli->json) {
		Restored answer = {*result, removed, stays};

		if (removed)
			answer.done.displaced = NULL;
		gbe_print_answer(gbe_restore_fields, &answer);
		return;
	}
	if (result->dry_run) {
		gbe_print("restores %s; this loses %s\n", result->name, result->loss);
		if (result->displaced != NULL || result->kept != NULL)
			gbe_print("the present data is kept as %s%s\n",
				  result->kept != NULL ? result->kept : result->displaced,
				  arg_skip_backup ? " until etcd is healthy" : "");
		return;
	}
	if (cli->quiet)
		return;
	if (announces(cli))
		gbe_print("restored %s\n", result->name);
	else
		gbe_print("restored %s; this lost %s\n", result->name, result->loss);
	print_displaced(result, removed, stays);
	/* Without --stop, the restore found etcd stopped. */
	if (!result->service_restarted && !cli->app->below_root && !cli->app->initramfs &&
	    !gbe_config_is_off(cli->app->config))
		gbe_print("etcd is not running: `systemctl start %s` starts it\n",
			  cli->app->config->etcd.service);
	if (cli->verbose)
		print_cost(result);
}

/* With --skip-backup, where this command restarted the service: waits until etcd is healthy and discards the displaced
 * data. The data is restored, whatever the result. */
static void
settle(GbeCli *cli, const GbeByHandResult *result)
{
	guint seconds = (guint)cli->app->config->health.timeout;
	g_autoptr(GError) error = NULL;

	if (!arg_skip_backup || result->displaced == NULL || !result->service_restarted) {
		print_restored(cli, result, false, NULL);
	} else if (gbe_displaced_discard(cli->app, result->displaced, result->name, seconds,
					 &error)) {
		print_restored(cli, result, true, NULL);
	} else {
		print_restored(cli, result, false, error->message);
		cli->status = gbe_exit_status_of(error);
	}
}

typedef struct {
	const char *name;
	bool next_boot, cancelled, dry_run;
} Requested;

const GbeField gbe_cancel_fields[] = {
    GBE_FIELD(Requested, cancelled, "cancelled", FLAG),
    GBE_FIELD(Requested, dry_run, "dry_run", FLAG),
    {0},
};

const GbeField gbe_request_fields[] = {
    GBE_FIELD(Requested, name, "name", TEXT),
    GBE_FIELD(Requested, next_boot, "next_boot", FLAG),
    GBE_FIELD(Requested, dry_run, "dry_run", FLAG),
    {0},
};

static bool
cancel(GbeCli *cli, GError **error)
{
	Requested answer = {.dry_run = arg_dry_run};

	if (!gbe_by_hand_cancel(cli->app, arg_dry_run, &answer.cancelled, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json)
		gbe_print_answer(gbe_cancel_fields, &answer);
	else if (!cli->quiet)
		gbe_print(answer.cancelled ? "the request is taken back\n"
					   : "no restore was asked for\n");
	return true;
}

static bool
request(GbeCli *cli, const GbeByHandRestore *options, GError **error)
{
	g_autofree char *name = NULL;

	if (!gbe_by_hand_request(cli->app, options, &name, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json) {
		const Requested answer = {name, .next_boot = true, .dry_run = arg_dry_run};

		gbe_print_answer(gbe_request_fields, &answer);
	} else if (!cli->quiet) {
		/* Resolved when it is due. */
		bool last = options->target == GBE_BY_HAND_LAST_GOOD;

		gbe_print("restores %s%s%s at the next boot%s\n",
			  last ? "the last good backup (now " : "", name,
			  last ? ", unless the shutdown takes a newer one)" : "",
			  arg_dry_run ? "" : "; `greenboot-etcd restore --cancel` takes that back");
	}
	return true;
}

static bool
check_restore(GError **error)
{
	if (arg_cancel && (arg_stop || arg_next_boot || arg_force || arg_keep_existing != NULL ||
			   arg_skip_backup))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--cancel can be combined with --dry-run only");
	if (arg_stop && arg_next_boot)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--stop and --next-boot exclude each other");
	if (arg_skip_backup + arg_next_boot + (arg_keep_existing != NULL) > 1)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--keep-existing, --skip-backup and --next-boot exclude each "
				 "other");
	return true;
}

/* With --root, a path below it, like all paths that are kept there. Else relative to the caller's directory. */
static bool
resolve_place(const GbeApp *app, char **ret_path, GError **error)
{
	g_autofree char *absolute = NULL;

	if (arg_keep_existing == NULL)
		return true;
	absolute = app->below_root ? g_strdup(arg_keep_existing)
				   : g_canonicalize_filename(arg_keep_existing, NULL);
	/* The path is written to the ledger before it is used. */
	if (!g_utf8_validate(absolute, -1, NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "--keep-existing is not UTF-8");
	return gbe_path_normalize(absolute, "--keep-existing", ret_path, error);
}

bool
gbe_verb_restore(GbeCli *cli, char **arguments, GError **error)
{
	GbeByHandRestore options = {.target =
					arg_last_good ? GBE_BY_HAND_LAST_GOOD : GBE_BY_HAND_NAMED,
				    .name = arguments[0],
				    .stop = arg_stop,
				    .force = arg_force,
				    .dry_run = arg_dry_run,
				    .skip_backup = arg_skip_backup,
				    .announce = announce,
				    .announce_data = cli};
	g_auto(GbeByHandResult) result = {0};
	g_autofree char *place = NULL;

	if (!check_restore(error) || !resolve_place(cli->app, &place, error))
		return false;
	options.keep_existing = place;
	if (arg_cancel)
		return cancel(cli, error);
	if (arg_next_boot)
		return request(cli, &options, error);
	if (!gbe_by_hand_restore(cli->app, &options, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	settle(cli, &result);
	return true;
}

bool
gbe_verb_undo(GbeCli *cli, char **arguments, GError **error)
{
	GbeByHandRestore options = {.target = GBE_BY_HAND_UNDO,
				    .stop = arg_stop,
				    .force = arg_force,
				    .dry_run = arg_dry_run,
				    .announce = announce,
				    .announce_data = cli};
	g_auto(GbeByHandResult) result = {0};

	if (!check_restore(error))
		return false;
	if (arg_cancel)
		return cancel(cli, error);
	if (arg_next_boot)
		return request(cli, &options, error);
	if (!gbe_by_hand_restore(cli->app, &options, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_restored(cli, &result, false, NULL);
	return true;
}
