/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* defrag: frees the unused space in etcd's database. */
#include "app/upkeep/defrag.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"

#define TIMEOUT_SECONDS 600
#define TIMEOUT_MOST 86400

static gboolean arg_data, arg_if_needed, arg_dry_run, arg_no_backup;
static char *arg_timeout;

const GbeOption gbe_options_defrag[] = {
    {"data", 0, &arg_data, "Defragment the stopped data directory by etcd's own tool"},
    {"if-needed", 0, &arg_if_needed,
     "Only if min-size and max-fragmentation of [defrag] are reached"},
    {"no-backup", 0, &arg_no_backup, "Take no copy first"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for etcd or its tool (10min)", "DURATION"},
    {GBE_DRY_RUN(arg_dry_run)},
    {NULL},
};

typedef struct {
	GbeDefragResult done;
	bool dry_run;
	guint fragmentation;
} Answer;

const GbeField gbe_defrag_fields[] = {
    GBE_FIELD(Answer, done.endpoint, "endpoint", TEXT),
    GBE_FIELD(Answer, done.data, "data", TEXT),
    GBE_FIELD(Answer, done.of, "of", TEXT),
    GBE_FIELD(Answer, done.made, "made", TEXT),
    GBE_FIELD_OF(Answer, done.need, "need", SAID, gbe_defrag_need_to_string, 0),
    GBE_FIELD(Answer, done.done, "done", FLAG),
    GBE_FIELD(Answer, dry_run, "dry_run", FLAG),
    GBE_FIELD(Answer, done.healthy, "healthy", FLAG),
    GBE_FIELD(Answer, done.reason, "reason", TEXT),
    GBE_FIELD(Answer, done.backup, "backup", TEXT),
    GBE_FIELD(Answer, done.before.size, "size_before", KNOWN),
    GBE_FIELD(Answer, done.before.in_use, "in_use_before", KNOWN),
    GBE_FIELD(Answer, fragmentation, "fragmentation", COUNT),
    GBE_FIELD(Answer, done.after.size, "size_after", KNOWN),
    GBE_FIELD(Answer, done.after.in_use, "in_use_after", KNOWN),
    GBE_FIELD(Answer, done.duration_usec, "duration_usec", KNOWN),
    {0},
};

static void
print_json(const GbeDefragResult *result)
{
	Answer answer = {*result, arg_dry_run,
			 gbe_defrag_fragmentation(result->before.size, result->before.in_use)};

	if (!result->done) {
		answer.done.after = (GbeDefragSizes){-1, -1};
		answer.done.duration_usec = -1;
	}
	gbe_print_answer(gbe_defrag_fields, &answer);
}

static char *
size_text(gint64 bytes)
{
	return bytes < 0 ? g_strdup("unknown") : gbe_size_to_text((guint64)bytes);
}

static const char *
place_of(const GbeDefragResult *result)
{
	return result->endpoint != NULL ? result->endpoint
	       : result->data != NULL	? result->data
	       : result->made != NULL	? result->made
					: result->of;
}

static void
print_done(const GbeDefragResult *result)
{
	g_autofree char *before = size_text(result->before.size);
	g_autofree char *after = size_text(result->after.size);

	if (result->backup != NULL)
		gbe_print("kept as it was: %s\n", result->backup);
	gbe_print("%s: %s, was %s; took %.2f s\n", place_of(result), after, before,
		  (double)result->duration_usec / G_USEC_PER_SEC);
	if (!result->healthy)
		gbe_print("etcd is not healthy since then: %s\n", result->reason);
}

static void
print_not_done(const GbeDefragResult *result)
{
	bool would = arg_dry_run && (!arg_if_needed || result->need == GBE_DEFRAG_DUE);
	g_autofree char *size = size_text(result->before.size);
	g_autofree char *used = size_text(result->before.in_use);

	gbe_print("%s: %s, %s of it in use, %u%% free: %s\n", place_of(result), size, used,
		  gbe_defrag_fragmentation(result->before.size, result->before.in_use),
		  would				     ? "is defragmented"
		  : result->need == GBE_DEFRAG_SMALL ? "too small to be worth it"
						     : "dense enough");
}

static bool
defragment(GbeCli *cli, char **arguments, const GbeDefrag *options, GbeDefragResult *result,
	   GError **error)
{
	if (arguments[0] == NULL)
		return (arg_data ? gbe_defrag_data : gbe_defrag)(cli->app, options, result, error);
	if (arg_data || arg_no_backup)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s is not for a backup, of which another one is made",
				 arg_data ? "--data" : "--no-backup");
	return gbe_defrag_backup(cli->app, arguments[0], arguments[1], options, result, error);
}

bool
gbe_verb_defrag(GbeCli *cli, char **arguments, GError **error)
{
	GbeDefrag options = {.if_needed = arg_if_needed,
			     .no_backup = arg_no_backup,
			     .dry_run = arg_dry_run,
			     .timeout = TIMEOUT_SECONDS};
	g_auto(GbeDefragResult) result = {0};

	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error) ||
	    !defragment(cli, arguments, &options, &result, error))
		return false;
	gbe_cli_changed(cli, !result.done);
	if (cli->json)
		print_json(&result);
	else if (!cli->quiet && result.done)
		print_done(&result);
	else if (!cli->quiet)
		print_not_done(&result);
	if (result.done && !result.healthy)
		cli->status = GBE_EXIT_UNHEALTHY;
	return true;
}
