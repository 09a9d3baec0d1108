/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* alarm clear. (verb-endpoint.c has alarm list, with the other questions.) */
#include "app/upkeep/alarm.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"

#define TIMEOUT_SECONDS 600
#define TIMEOUT_MOST 86400

static gboolean arg_dry_run, arg_no_backup;
static char *arg_timeout;

const GbeOption gbe_options_alarm[] = {
    {"no-backup", 0, &arg_no_backup, "Take no copy first", .words = "clear"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for etcd in each step (10min)", "DURATION",
     .words = "clear"},
    {GBE_DRY_RUN(arg_dry_run), .words = "clear"},
    {NULL},
};

static void
print_step(const GbeAlarmStep *step, gpointer data)
{
	const GbeCli *cli = data;

	if (!cli->json && !cli->quiet)
		gbe_print("%-8s %-8s %s\n", step->step, gbe_step_result_to_string(step->result),
			  step->detail);
}

typedef struct {
	GbeAlarmCleared done;
	bool dry_run;
} Answer;

static const GbeField step_fields[] = {
    GBE_FIELD_SET(GbeAlarmStep, step, "step", TEXT),
    GBE_FIELD_OF(GbeAlarmStep, result, "result", SAID, gbe_step_result_to_string, 0),
    GBE_FIELD_SET(GbeAlarmStep, detail, "detail", TEXT),
    {0},
};
static const GbeFieldItems step_items = {step_fields, sizeof(GbeAlarmStep)};

const GbeField gbe_alarm_clear_fields[] = {
    GBE_FIELD(Answer, done.was_up, "was_up", FLAG),
    GBE_FIELD(Answer, done.cleared, "cleared", FLAG),
    GBE_FIELD(Answer, dry_run, "dry_run", FLAG),
    GBE_FIELD(Answer, done.reason, "reason", TEXT),
    GBE_FIELD(Answer, done.backup, "backup", TEXT),
    GBE_FIELD_OF(Answer, done.steps, "steps", LIST, &step_items, 0),
    {0},
};

static void
print_end(const GbeAlarmCleared *cleared)
{
	if (!cleared->was_up)
		gbe_print("etcd has no alarm NOSPACE\n");
	else if (cleared->cleared)
		gbe_print("the alarm NOSPACE is cleared\n");
	else if (cleared->reason != NULL)
		gbe_print("the alarm NOSPACE stays: %s\n", cleared->reason);
}

bool
gbe_verb_alarm_clear(GbeCli *cli, char **arguments, GError **error)
{
	GbeAlarmClear options = {.no_backup = arg_no_backup,
				 .dry_run = arg_dry_run,
				 .timeout = TIMEOUT_SECONDS,
				 .stepped = print_step,
				 .data = cli};
	g_autoptr(GbeAlarmCleared) cleared = NULL;
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error))
		return false;
	ok = gbe_alarm_clear(cli->app, &options, &cleared, error);
	gbe_cli_changed(cli, !ok || !cleared->cleared);
	if (cleared != NULL && cli->json)
		gbe_print_answer(gbe_alarm_clear_fields, &(const Answer){*cleared, arg_dry_run});
	if (ok && !cli->json && !cli->quiet)
		print_end(cleared);
	if (ok && !cleared->cleared && !arg_dry_run)
		cli->status = GBE_EXIT_UNHEALTHY;
	return ok;
}
