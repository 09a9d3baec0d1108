/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/monitor/monitor.h"

#include <string.h>

#include "app/health/certificates.h"
#include "app/report/records.h"
#include "app/state/history.h"
#include "core/decide/situation.h"

#define PREFIX "greenboot_etcd_"
/* Limit: only the certificates that expire next, because each is a series of its own. */
#define CERTS_MAX 256

typedef enum {
	METRIC_BUILD_INFO,
	METRIC_UPDATED,
	METRIC_HEALTH,
	METRIC_HEALTHY,
	METRIC_WARNINGS,
	METRIC_ALARM,
	METRIC_QUOTA,
	METRIC_REVISION,
	METRIC_DB_SIZE,
	METRIC_DB_IN_USE,
	METRIC_HELD,
	METRIC_EXPIRY,
	METRIC_VERDICT,
	METRIC_RESTORED,
	METRIC_RESTORES,
	METRIC_BACKUPS,
	METRIC_GOOD_AGE,
	METRIC_GOOD_REVISION,
	METRIC_REHEARSAL,
	METRIC_REHEARSED,
	METRIC_LAST,
	METRIC_OVERDUE,
	METRIC_PERIODIC,
	METRIC_PERIODIC_AGE,
	METRIC_PROVED,
	METRIC_PROVED_AGE,
	METRIC_WAITING,
	METRIC_PUSHED,
	METRIC_PUSHED_BYTES,
	METRIC_PUSHED_REQUESTS,
	METRIC_PROTECTED,
	METRIC_NEEDS_PERSON,
	METRIC_REWINDS,
	N_METRICS
} Metric;

/* tests/lint/monitoring.sh compares the documentation, the alert rules and the dashboard with this table. */
static const struct {
	const char *name, *label, *help;
} metrics[N_METRICS] = {
    [METRIC_BUILD_INFO] = {"build_info", "version", "1 for the version of greenboot-etcd."},
    [METRIC_UPDATED] = {"updated_time_seconds", "",
			"Time of this file, in seconds since the epoch."},
    [METRIC_HEALTH] = {"health", "health", "1 for etcd's present health."},
    [METRIC_HEALTHY] = {"healthy", "", "1 if etcd is healthy."},
    [METRIC_WARNINGS] = {"warnings", "", "Number of warnings of the health check."},
    [METRIC_ALARM] = {"alarm", "alarm", "1 if etcd has raised this alarm."},
    [METRIC_QUOTA] = {"quota_bytes", "", "Quota of etcd's database."},
    [METRIC_REVISION] = {"revision", "", "Revision of etcd's data."},
    [METRIC_DB_SIZE] = {"db_size_bytes", "", "Size of etcd's database."},
    [METRIC_DB_IN_USE] = {"db_in_use_bytes", "", "Part of etcd's database that is in use."},
    [METRIC_HELD] = {"held", "reason", "1 if etcd is held back for this reason."},
    [METRIC_EXPIRY] = {"certificate_expiry_seconds", "file",
		       "Expiry of a certificate, in seconds since the epoch."},
    [METRIC_VERDICT] = {"verdict", "verdict", "1 for greenboot's verdict on this boot."},
    [METRIC_RESTORED] = {"restored", "", "1 if the data in use was restored from a backup."},
    [METRIC_RESTORES] = {"restores", "",
			 "Number of restores in the history of the data in use, at most 64."},
    [METRIC_BACKUPS] = {"backups", "grade", "Number of backups of this grade."},
    [METRIC_GOOD_AGE] = {"last_good_age_seconds", "", "Age of the last good backup."},
    [METRIC_GOOD_REVISION] = {"last_good_revision", "", "Revision of the last good backup."},
    [METRIC_REHEARSAL] = {"rehearsal", "result",
			  "1 for the result of the staged update's rehearsal."},
    [METRIC_REHEARSED] = {"rehearsal_time_seconds", "",
			  "Time of that rehearsal, in seconds since the epoch."},
    [METRIC_LAST] = {"last_operation_time_seconds", "operation,result",
		     "Start of the last operation, in seconds since the epoch."},
    [METRIC_OVERDUE] = {"periodic_backup_overdue", "",
			"1 if the last periodic backup that was due was not taken."},
    [METRIC_PERIODIC] = {"periodic_backup_success_time_seconds", "",
			 "Last time at which a periodic backup contained all of the data, in "
			 "seconds since the epoch."},
    [METRIC_PERIODIC_AGE] = {"periodic_backup_age_seconds", "",
			     "Time since a periodic backup contained all of the data."},
    [METRIC_PROVED] = {"offsite_proved_time_seconds", "",
		       "Last proof of a snapshot off the device, in seconds since the epoch."},
    [METRIC_PROVED_AGE] = {"offsite_proved_age_seconds", "",
			   "Time since the last proof of a snapshot off the device."},
    [METRIC_WAITING] = {"offsite_waiting", "", "Number of snapshots that wait to be sent."},
    [METRIC_PUSHED] = {"offsite_pushed_time_seconds", "",
		       "Last push of a snapshot, in seconds since the epoch."},
    [METRIC_PUSHED_BYTES] = {"offsite_pushed_bytes", "", "Bytes that the last push sent."},
    [METRIC_PUSHED_REQUESTS] = {"offsite_pushed_requests", "",
				"Number of requests of the last push."},
    [METRIC_PROTECTED] = {"protected", "",
			  "1 if greenboot-etcd status begins with Protected, else 0."},
    [METRIC_NEEDS_PERSON] = {"needs_person", "reason", "1 if a person must act for this reason."},
    [METRIC_REWINDS] = {"next_boot_rewinds", "", "1 if the next boot restores a backup."},
};

static void
put_help(GString *to, Metric metric)
{
	const char *name = metrics[metric].name;

	g_string_append_printf(to, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s gauge\n", name,
			       metrics[metric].help, name);
}

/* Writes nothing when @value is below zero: not known. */
static void
put(GString *to, Metric metric, gint64 value)
{
	if (value < 0)
		return;
	put_help(to, metric);
	g_string_append_printf(to, PREFIX "%s %" G_GINT64_FORMAT "\n", metrics[metric].name, value);
}

static void
put_labelled(GString *to, Metric metric, const char *label, gint64 value)
{
	g_string_append_printf(to, PREFIX "%s{%s=\"%s\"} %" G_GINT64_FORMAT "\n",
			       metrics[metric].name, metrics[metric].label, label, value);
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
	put_help(to, METRIC_BACKUPS);
	for (guint grade = 0; grade < G_N_ELEMENTS(count); grade++)
		put_labelled(to, METRIC_BACKUPS, gbe_grade_to_string((GbeGrade)grade),
			     count[grade]);
	if (good == NULL)
		return;
	put(to, METRIC_GOOD_AGE,
	    good->created > 0 && facts->now >= good->created ? facts->now - good->created : -1);
	put(to, METRIC_GOOD_REVISION, good->revision);
}

static void
put_verdict(GString *to, const GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;
	const GbeRunRecord *run = gbe_facts_this_run(facts);
	const char *own = gbe_verdict_to_public(run != NULL ? run->verdict : GBE_VERDICT_NONE);

	put_help(to, METRIC_VERDICT);
	for (guint i = GBE_VERDICT_NONE; i <= GBE_VERDICT_RED; i++)
		if (i != GBE_VERDICT_JUDGING)
			put_labelled(to, METRIC_VERDICT, gbe_verdict_to_string((GbeVerdict)i),
				     g_str_equal(gbe_verdict_to_string((GbeVerdict)i), own));
	if (owner == NULL)
		return;
	put(to, METRIC_RESTORED, owner->source != NULL);
	put(to, METRIC_RESTORES,
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
	put_help(to, METRIC_LAST);
	g_string_append_printf(to,
			       PREFIX "%s{operation=\"%s\",result=\"%s\"} %" G_GINT64_FORMAT "\n",
			       metrics[METRIC_LAST].name, operation, result, last->started);
}

static void
put_health(GString *to, const GbeHealthFacts *facts, const GbeHealthReport *report)
{
	put_help(to, METRIC_HEALTH);
	for (guint i = GBE_HEALTH_HEALTHY; i <= GBE_HEALTH_CANNOT_TELL; i++)
		put_labelled(to, METRIC_HEALTH, gbe_health_to_string((GbeHealth)i),
			     i == (guint)report->health);
	put(to, METRIC_HEALTHY, report->health == GBE_HEALTH_HEALTHY);
	put(to, METRIC_WARNINGS, report->warnings);
	if (facts->status.reach == GBE_REACH_ANSWERED) {
		put_help(to, METRIC_ALARM);
		put_labelled(to, METRIC_ALARM, "NOSPACE", facts->no_space ? 1 : 0);
		put_labelled(to, METRIC_ALARM, "CORRUPT", facts->corrupt ? 1 : 0);
		put(to, METRIC_QUOTA, facts->quota);
	}
	put(to, METRIC_REVISION, facts->revision);
	put(to, METRIC_DB_SIZE, facts->db_size);
	put(to, METRIC_DB_IN_USE, facts->db_in_use);
	put_help(to, METRIC_HELD);
	for (guint hold = GBE_HOLD_NO; hold < GBE_N_HOLDS; hold++)
		put_labelled(to, METRIC_HELD,
			     hold == GBE_HOLD_NO ? "unknown" : gbe_words_get(&gbe_hold_words, hold),
			     facts->held && facts->hold == hold);
}

static void
put_expiry(GString *to, bool *any, const char *file, gint64 expires)
{
	g_autofree char *escaped = escape(file);

	if (expires < 0)
		return;
	if (!*any)
		put_help(to, METRIC_EXPIRY);
	*any = true;
	put_labelled(to, METRIC_EXPIRY, escaped, expires);
}

static void
put_certificates(GString *to, const GbeHealthFacts *facts)
{
	guint certs = facts->certs != NULL ? MIN(facts->certs->len, CERTS_MAX) : 0;
	bool any = false;

	for (guint i = 0; i < G_N_ELEMENTS(facts->tls); i++)
		if (facts->tls[i].key != NULL)
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
	put(to, METRIC_OVERDUE, trouble != NULL);
	put(to, METRIC_PERIODIC, periodic.succeeded);
	put(to, METRIC_PERIODIC_AGE,
	    periodic.succeeded >= 0 && now >= periodic.succeeded ? now - periodic.succeeded : -1);
}

/* Writes nothing before the first push, proof or queued snapshot. */
static void
put_offsite(GString *to, const GbeHealthLook *look)
{
	gint64 now = look->facts->now;
	g_autoptr(GPtrArray) waiting = gbe_history_waiting(look->app);
	g_auto(GbeOffsite) offsite = {0};

	if (!gbe_offsite_load(look->app, &offsite) ||
	    (offsite.pushed_at < 0 && offsite.proved_at < 0 && waiting->len == 0))
		return;
	put(to, METRIC_PROVED, offsite.proved_at);
	put(to, METRIC_PROVED_AGE,
	    offsite.proved_at >= 0 && now >= offsite.proved_at ? now - offsite.proved_at : -1);
	put(to, METRIC_WAITING, waiting->len);
	put(to, METRIC_PUSHED, offsite.pushed_at);
	put(to, METRIC_PUSHED_BYTES, offsite.sent);
	put(to, METRIC_PUSHED_REQUESTS, offsite.requests);
}

static void
put_rehearsal(GString *to, const GbeHealthLook *look, const GbeObserved *observed)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};

	if (!gbe_rehearsal_load(look->app, observed->deployments, &rehearsal))
		return;
	put_help(to, METRIC_REHEARSAL);
	for (guint i = GBE_REHEARSAL_PASSED; i <= GBE_REHEARSAL_NOT_REHEARSED; i++)
		put_labelled(to, METRIC_REHEARSAL,
			     gbe_rehearsal_result_to_string((GbeRehearsalResult)i),
			     i == (guint)rehearsal.result);
	put(to, METRIC_REHEARSED, rehearsal.at);
}

GString *
gbe_metrics_new(const GbeHealthLook *look, GbeObserved *observed)
{
	GString *text = g_string_new(NULL);

	put_help(text, METRIC_BUILD_INFO);
	put_labelled(text, METRIC_BUILD_INFO, GBE_VERSION, 1);
	put(text, METRIC_UPDATED, look->facts->now);
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
	return text;
}

void
gbe_metrics_add_status(GString *to, const GbeStatus *status)
{
	const GbeProtection *protection = status->protection;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	if (protection->certain)
		put(to, METRIC_PROTECTED, protection->state == GBE_PROTECTED);
	put_help(to, METRIC_NEEDS_PERSON);
	/* Every reason has a line, so that an alert ends with its reason. */
	for (guint kind = 0; kind < GBE_NOTICE_UNTOLD; kind++) {
		const char *check = gbe_notice_kind_check((GbeNoticeKind)kind);

		if (g_hash_table_add(seen, (gpointer)check))
			put_labelled(to, METRIC_NEEDS_PERSON, check,
				     g_ptr_array_find_with_equal_func(protection->needs, check,
								      g_str_equal, NULL));
	}
	if (status->next.action != NULL)
		put(to, METRIC_REWINDS, g_str_equal(status->next.action, "restore"));
}
