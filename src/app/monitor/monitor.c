/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/monitor/monitor.h"

#include <string.h>

#include "app/backup/observe.h"
#include "app/health/certificates.h"
#include "app/health/look.h"
#include "app/health/verdict.h"
#include "app/report/records.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/state/history.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "fs/write.h"

#define PREFIX "greenboot_etcd_"
/* Limit: only the certificates that expire next, because each is a series of its own. */
#define CERTS_MAX 256

static void
put_help(GString *to, const char *name, const char *help)
{
	g_string_append_printf(to, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s gauge\n", name,
			       help, name);
}

/* Writes nothing when @value is below zero: not known. */
static void
put(GString *to, const char *name, const char *help, gint64 value)
{
	if (value < 0)
		return;
	put_help(to, name, help);
	g_string_append_printf(to, PREFIX "%s %" G_GINT64_FORMAT "\n", name, value);
}

static void
put_labelled(GString *to, const char *name, const char *label, const char *value, guint number)
{
	g_string_append_printf(to, PREFIX "%s{%s=\"%s\"} %u\n", name, label, value, number);
}

/* Escapes the characters that a label's value may not have. */
static char *
escape(const char *text)
{
	GString *escaped = g_string_new(NULL);

	for (; *text != '\0'; text++) {
		if (*text == '\n')
			g_string_append(escaped, "\\n");
		else if (*text == '\\' || *text == '"')
			g_string_append_printf(escaped, "\\%c", *text);
		else
			g_string_append_c(escaped, *text);
	}
	return g_string_free(escaped, false);
}

static void
put_backups(GString *to, GbeFacts *facts)
{
	guint count[GBE_GRADE_BAD + 1] = {0};
	const GbeManifest *good = gbe_situation_last_good(facts);

	for (guint i = 0; i < facts->backups->len; i++)
		count[((const GbeManifest *)facts->backups->pdata[i])->grade]++;
	put_help(to, "backups", "Backups by grade.");
	for (guint grade = 0; grade < G_N_ELEMENTS(count); grade++)
		put_labelled(to, "backups", "grade", gbe_grade_to_string((GbeGrade)grade),
			     count[grade]);
	if (good == NULL)
		return;
	put(to, "last_good_age_seconds", "Age of the last good backup.",
	    good->created > 0 && facts->now >= good->created ? facts->now - good->created : -1);
	put(to, "last_good_revision", "Revision of the last good backup.", good->revision);
}

static void
put_verdict(GString *to, const GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;
	const GbeRunRecord *run = gbe_facts_this_run(facts);
	const char *own = gbe_verdict_to_public(run != NULL ? run->verdict : GBE_VERDICT_NONE);

	put_help(to, "verdict", "greenboot's verdict of this run: 1 for the one that it is.");
	for (guint i = GBE_VERDICT_NONE; i <= GBE_VERDICT_RED; i++)
		if (i != GBE_VERDICT_JUDGING)
			put_labelled(to, "verdict", "verdict", gbe_verdict_to_string((GbeVerdict)i),
				     g_str_equal(gbe_verdict_to_string((GbeVerdict)i), own));
	if (owner == NULL)
		return;
	put(to, "restored", "1: the data in use came out of a backup.", owner->source != NULL);
	put(to, "restores", "How often what is in use went through a restore; 64 at most.",
	    owner->lineage.ancestors != NULL ? owner->lineage.ancestors->len : 0);
}

static void
put_last(GString *to, const GbeLastOperation *last)
{
	g_autofree char *operation = NULL;
	g_autofree char *result = NULL;

	if (last->operation == NULL || last->result == NULL || last->started <= 0)
		return;
	operation = escape(last->operation);
	result = escape(last->result);
	put_help(to, "last_operation_time_seconds",
		 "When the last operation began, in seconds since the epoch.");
	g_string_append_printf(to,
			       PREFIX "last_operation_time_seconds{operation=\"%s\",result=\"%s\"} "
				      "%" G_GINT64_FORMAT "\n",
			       operation, result, last->started);
}

static void
put_health(GString *to, const GbeHealthFacts *facts, const GbeHealthReport *report)
{
	put_help(to, "health", "etcd's health: 1 for the one that it is.");
	for (guint i = GBE_HEALTH_HEALTHY; i <= GBE_HEALTH_CANNOT_TELL; i++)
		put_labelled(to, "health", "health", gbe_health_to_string((GbeHealth)i),
			     i == (guint)report->health);
	put(to, "healthy", "1: etcd is healthy.", report->health == GBE_HEALTH_HEALTHY);
	put(to, "warnings", "Checks of etcd's health that warn.", report->warnings);
	if (facts->status.reach == GBE_REACH_ANSWERED) {
		put_help(to, "alarm", "Alarms of etcd: 1 where it is up.");
		put_labelled(to, "alarm", "alarm", "NOSPACE", facts->no_space ? 1 : 0);
		put_labelled(to, "alarm", "alarm", "CORRUPT", facts->corrupt ? 1 : 0);
		put(to, "quota_bytes", "Quota of the database.", facts->quota);
	}
	put(to, "revision", "etcd's revision.", facts->revision);
	put(to, "db_size_bytes", "Size of the database.", facts->db_size);
	put(to, "db_in_use_bytes", "Of that, what is in use.", facts->db_in_use);
}

static void
put_expiry(GString *to, bool *any, const char *file, gint64 expires)
{
	g_autofree char *escaped = escape(file);

	if (!*any)
		put_help(to, "certificate_expiry_seconds",
			 "When a certificate expires, in seconds since the epoch.");
	*any = true;
	g_string_append_printf(
	    to, PREFIX "certificate_expiry_seconds{file=\"%s\"} %" G_GINT64_FORMAT "\n", escaped,
	    expires);
}

static void
put_certificates(GString *to, const GbeHealthFacts *facts)
{
	guint certs = facts->certs != NULL ? MIN(facts->certs->len, CERTS_MAX) : 0;
	bool any = false;

	for (guint i = 0; i < G_N_ELEMENTS(facts->tls); i++)
		if (facts->tls[i].key != NULL && facts->tls[i].expires >= 0)
			put_expiry(to, &any, facts->tls[i].key, facts->tls[i].expires);
	for (guint i = 0; i < certs; i++) {
		const GbeTlsFile *file = facts->certs->pdata[i];

		put_expiry(to, &any, file->path, file->expires);
	}
}

/* Writes nothing without a schedule: an alert on an overdue backup would otherwise fire on devices without one. */
static void
put_periodic(GString *to, const GbeHealthLook *look)
{
	gint64 now = look->facts->now;
	g_auto(GbePeriodic) periodic = {0};
	g_autofree char *trouble = NULL;

	if (!gbe_periodic_load(look->app, &periodic))
		return;
	trouble = gbe_periodic_trouble(look->app, look);
	put(to, "periodic_backup_overdue",
	    "1: the last periodic backup that was due was not taken.", trouble != NULL);
	put(to, "periodic_backup_success_time_seconds",
	    "When all was in a periodic backup, in seconds since the epoch.", periodic.succeeded);
	put(to, "periodic_backup_age_seconds", "How long ago that was.",
	    periodic.succeeded >= 0 && now >= periodic.succeeded ? now - periodic.succeeded : -1);
}

/* Writes nothing where nothing was pushed or proved. */
static void
put_offsite(GString *to, const GbeHealthLook *look)
{
	gint64 now = look->facts->now;
	g_autoptr(GPtrArray) waiting = gbe_history_waiting(look->app);
	g_auto(GbeOffsite) offsite = {0};

	if (!gbe_offsite_load(look->app, &offsite) ||
	    (offsite.pushed_at < 0 && offsite.proved_at < 0 && waiting->len == 0))
		return;
	put(to, "offsite_proved_time_seconds",
	    "When a snapshot off the device was last proved, in seconds since the epoch.",
	    offsite.proved_at);
	put(to, "offsite_proved_age_seconds", "How long ago that was.",
	    offsite.proved_at >= 0 && now >= offsite.proved_at ? now - offsite.proved_at : -1);
	put(to, "offsite_waiting", "Snapshots that wait to be sent.", waiting->len);
	put(to, "offsite_pushed_time_seconds",
	    "When a snapshot was last pushed, in seconds since the epoch.", offsite.pushed_at);
	put(to, "offsite_pushed_bytes", "Bytes that the last push sent.", offsite.sent);
	put(to, "offsite_pushed_requests", "Requests of the last push.", offsite.requests);
}

static void
put_rehearsal(GString *to, const GbeHealthLook *look, const GbeObserved *observed)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};

	if (!gbe_rehearsal_load(look->app, observed->deployments, &rehearsal))
		return;
	put_help(to, "rehearsal", "Result of the update's rehearsal: 1 for the one that it is.");
	for (guint i = GBE_REHEARSAL_PASSED; i <= GBE_REHEARSAL_NOT_REHEARSED; i++)
		put_labelled(to, "rehearsal", "result",
			     gbe_rehearsal_result_to_string((GbeRehearsalResult)i),
			     i == (guint)rehearsal.result);
	put(to, "rehearsal_time_seconds", "When that was, in seconds since the epoch.",
	    rehearsal.at);
}

/* The text file for Prometheus' node_exporter ([metrics] textfile); greenboot-etcd-monitor(8) has the names. An unknown
 * value has no line. @observed: NULL when observing failed; etcd's part is then still written. */
static char *
metrics_text(const GbeHealthLook *look, GbeObserved *observed)
{
	GString *text = g_string_new(NULL);

	put_health(text, look->facts, look->report);
	put_certificates(text, look->facts);
	if (observed != NULL) {
		put_verdict(text, observed->facts);
		put_backups(text, observed->facts);
		put_rehearsal(text, look, observed);
		put_last(text, &observed->facts->last);
	}
	put_periodic(text, look);
	put_offsite(text, look);
	return g_string_free(text, false);
}

/* Only changes go to the journal: a new problem, and its end. */
static void
say_change(GbeApp *app, const GbeHealthReport *report)
{
	GbeEventFields fields = {0};
	/* The result that the last look has shown. */
	g_autoptr(JsonObject) whole = gbe_status_read_file(app, GBE_STATUS_FILE);
	JsonObject *status = whole != NULL ? gbe_json_object(whole, "status") : NULL;
	JsonObject *before = status != NULL ? gbe_json_object(status, "etcd") : NULL;
	const char *reason =
	    before != NULL ? gbe_json_string(before, "reason", NULL) : GBE_STATUS_NOT_ASKED;
	bool known;

	known = g_strcmp0(reason, GBE_STATUS_NOT_ASKED) != 0;
	if (report->health == GBE_HEALTH_HEALTHY ? known && !gbe_json_bool(before, "healthy", false)
						 : g_strcmp0(reason, report->reason) != 0)
		gbe_verdict_say_health(report, &fields);
}

/* Writes each of the three on its own: a failure of one does not stop the others. */
static bool
show(GbeApp *app, const GbeHealthLook *look, GError **error)
{
	GbeObserveOptions options = {0};
	const char *path = app->config->metrics.textfile;
	g_autoptr(GbeObserved) observed = NULL;
	bool seen = gbe_observe(app, &options, &observed, error);
	GError **first = seen ? error : NULL;
	g_autofree char *text = metrics_text(look, observed);
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	bool written = true;

	/* node_exporter may read the file at any time: it gets the old file or the new one, never half of one. */
	if (path != NULL && *path != '\0')
		written = (gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, first) &&
			   gbe_write_file_at(dir_fd, name, text, strlen(text), 0644,
					     GBE_WRITE_LATER, first)) ||
			  gbe_prefix(first, "[metrics] textfile=%s", path);
	if (seen)
		gbe_status_write(app, observed, look);
	return seen && written;
}

bool
gbe_monitor_run(GbeApp *app, GError **error)
{
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_autofree char *complaint = NULL;
	g_autoptr(GbeHealthLook) look = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	/* Loads the configuration like the programs of the boot, but does not remember it: the monitor writes nothing
	 * into the state. */
	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, deployments->booted.id, &complaint);
	if (gbe_config_is_off(app->config) || app->config->health.monitor == 0)
		return true;
	look = gbe_health_look_new(app);
	if (app->state_fd >= 0 && gbe_verdict_look(app, &deployments->booted, &facts, NULL))
		gbe_health_look_expect(look, facts);
	g_clear_pointer(&facts, gbe_facts_free);
	g_clear_pointer(&deployments, gbe_deployments_free);
	gbe_certs_add_to_health(app, look->facts);
	gbe_health_look_now(look, (guint)app->config->health.request_timeout * 1000);
	say_change(app, look->report);
	return show(app, look, error);
}
