/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/shown.h"

#include <string.h>
#include <unistd.h>

static char *arg_since, *arg_backup;
static gboolean arg_full;

const GbeOption gbe_options_log[] = {
    {"since", 0, &arg_since, "Print events since TIME: 2d, 2026-05-01, \"2026-05-01 12:00\"",
     "TIME", .type = G_OPTION_ARG_STRING},
    {"backup", 0, &arg_backup, "Print events of backup NAME", "NAME", GBE_A_BACKUP},
    {"full", 0, &arg_full, "Print whole names and long lines, also on a terminal"},
    {NULL},
};

/* Parses a time of day, a day, or an age. */
static bool
parse_since(gint64 *ret_since, GError **error)
{
	g_autoptr(GTimeZone) zone = g_time_zone_new_local();
	g_autoptr(GDateTime) time = NULL;
	g_autofree char *text = NULL;
	guint64 ago = 0;
	gsize len;

	if (arg_since == NULL)
		return true;
	if (gbe_duration_parse(arg_since, &ago, NULL)) {
		*ret_since =
		    MAX(g_get_real_time() / G_USEC_PER_SEC - (gint64)MIN(ago, G_MAXINT32), 1);
		return true;
	}
	len = strlen(arg_since);
	text = g_strconcat(arg_since, len == strlen("2026-05-01") ? "T00:00" : "", NULL);
	len = strlen(text);
	if (len > 10 && text[10] == ' ')
		text[10] = 'T';
	if (len == strlen("2026-05-01T00:00")) {
		g_autofree char *minutes = g_steal_pointer(&text);

		text = g_strconcat(minutes, ":00", NULL);
	}
	time = g_date_time_new_from_iso8601(text, zone);
	if (time == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--since=%s: use a time (2026-05-01, \"2026-05-01 12:00\") or "
				 "how long ago (30min, 12h, 7d)",
				 arg_since);
	*ret_since = g_date_time_to_unix(time);
	return true;
}

static guint
print_text(GbeCli *cli, const GPtrArray *log)
{
	const GbeLogEvent *before = NULL;
	guint printed = 0;

	for (guint i = 0; i < log->len; i++) {
		const GbeLogEvent *event = log->pdata[i];
		g_autofree char *harmless = gbe_shown_text(event->text);
		g_autofree char *when = gbe_text_time(event->time);
		const char *rule;

		if (event->detail && !cli->verbose)
			continue;
		if (before == NULL || g_strcmp0(before->deployment, event->deployment) != 0 ||
		    g_strcmp0(before->run, event->run) != 0)
			gbe_print("%s, run %s\n",
				  event->deployment != NULL ? event->deployment : "no deployment",
				  event->run != NULL ? event->run : "unknown");
		rule = cli->verbose ? gbe_json_string(event->record, "rule", NULL) : NULL;
		gbe_print("  %-16s  %s%s%s%s\n", when, g_strdelimit(harmless, "\n", ' '),
			  rule != NULL ? " (rule " : "", rule != NULL ? rule : "",
			  rule != NULL ? ")" : "");
		before = event;
		printed++;
	}
	return printed;
}

/* A backup that no record names, since the beginning, does not exist and never did. */
static bool
check_backup(GbeCli *cli, const char *name, const GPtrArray *found, GError **error)
{
	g_autoptr(GPtrArray) ever = NULL;

	if (name == NULL || found->len > 0)
		return true;
	if (!gbe_log_read(cli->app, 0, name, &ever, error))
		return false;
	return ever->len > 0 ||
	       gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "backup %s: no record names it; run `greenboot-etcd list`", name);
}

bool
gbe_verb_log(GbeCli *cli, char **arguments, GError **error)
{
	char *backup[] = {arg_backup, NULL};
	g_autoptr(GPtrArray) log = NULL;
	gint64 since = 0;

	if (!parse_since(&since, error) || !gbe_cli_open_state(cli, error) ||
	    (arg_backup != NULL && !gbe_cli_resolve_names(cli, backup, error)) ||
	    !gbe_log_read(cli->app, since, backup[0], &log, error) ||
	    !check_backup(cli, backup[0], log, error))
		return false;
	if (!arg_full)
		gbe_cli_fit(cli, NULL);
	if (cli->json)
		gbe_print_answers(gbe_log_items.fields, log);
	else if (print_text(cli, log) == 0 && !cli->quiet)
		gbe_print("nothing is recorded%s\n",
			  arg_since != NULL || arg_backup != NULL ? " of that kind" : "");
	return true;
}
