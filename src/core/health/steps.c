/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows the facts to people: each step with its figure and its limit. Decides nothing. */
#include "core/health/health.h"

#include "base/format.h"
#include "core/space.h"

/* etcd refuses writes when it lags by more than 5000 entries (etcdserver, maxGapBetweenApplyAndCommitIndex). */
#define LAG_MAX 5000
#define LAG_WARN 1000

#define DAY ((gint64)24 * 60 * 60)

static void set(GbeCheck *step, GbeCheckResult result, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Keeps the worst result, with its detail. */
static void
set(GbeCheck *step, GbeCheckResult result, const char *format, ...)
{
	if (step->detail != NULL && result <= step->result)
		return;
	step->result = result;
	g_free(step->detail);
	step->detail = GBE_VFORMAT(format);
}

static bool
answered(const GbeQuestion *question)
{
	return question->reach == GBE_REACH_ANSWERED;
}

static void
service_step(const GbeHealthFacts *f, GbeCheck *step)
{
	static const struct {
		GbeCheckResult result;
		const char *text;
	} states[] = {
	    [GBE_SERVICE_UNKNOWN] = {GBE_CHECK_NOT_APPLICABLE, "systemd was not asked"},
	    [GBE_SERVICE_NOT_FOUND] = {GBE_CHECK_FAILED, "not installed"},
	    [GBE_SERVICE_MASKED] = {GBE_CHECK_FAILED, "masked"},
	    [GBE_SERVICE_NOT_ENABLED] = {GBE_CHECK_FAILED, "not enabled"},
	    [GBE_SERVICE_INACTIVE] = {GBE_CHECK_FAILED, "not started"},
	    [GBE_SERVICE_ACTIVATING] = {GBE_CHECK_WARNING, "starting"},
	    [GBE_SERVICE_RUNNING] = {GBE_CHECK_PASSED, "running"},
	    [GBE_SERVICE_FAILED] = {GBE_CHECK_FAILED, "failed"},
	    [GBE_SERVICE_START_LIMIT] = {GBE_CHECK_FAILED, "failed too often to be started again"},
	};

	if (f->held)
		set(step, GBE_CHECK_FAILED, "held back: %s",
		    f->held_why != NULL ? f->held_why : "by prerun");
	else
		set(step, states[f->service].result, "%s: %s",
		    f->unit != NULL ? f->unit : "the service", states[f->service].text);
}

static void
data_step(const GbeHealthFacts *f, GbeCheck *step)
{
	const char *path = f->data_dir != NULL ? f->data_dir : "the data";

	if (f->data_refused == GBE_YES)
		set(step, GBE_CHECK_FAILED, "%s: written by a newer etcd", path);
	if (f->read_only == GBE_YES)
		set(step, GBE_CHECK_FAILED, "%s: the file system is read-only", path);
	else if (gbe_health_is_elsewhere(f))
		set(step, GBE_CHECK_FAILED, "%s: the etcd that answers does not have it open",
		    path);
	else if (f->opens_log == GBE_NO)
		set(step, GBE_CHECK_WARNING,
		    "%s: etcd has its log elsewhere: see wal-dir= of [etcd]", path);
	else if (f->read_only == GBE_NO)
		set(step, GBE_CHECK_PASSED, "%s can be written to", path);
}

static gint64
percent(gint64 part, gint64 whole)
{
	return whole > 0 ? (gint64)((double)part * 100.0 / (double)whole) : 0;
}

static void
disk_step(const GbeHealthFacts *f, GbeCheck *step)
{
	g_autofree char *free_text = NULL;
	gint64 share;

	if (f->free < 0 || f->size <= 0)
		return;
	share = percent(f->free, f->size);
	step->figure = share;
	step->limit = f->min_free;
	free_text = gbe_size_to_text((guint64)f->free);
	if (f->inodes > 0 && percent(f->inodes_free, f->inodes) < f->min_free)
		set(step, f->inodes_free == 0 ? GBE_CHECK_FAILED : GBE_CHECK_WARNING,
		    "%" G_GINT64_FORMAT " inodes free of %" G_GINT64_FORMAT, f->inodes_free,
		    f->inodes);
	set(step,
	    gbe_health_is_full(f) ? GBE_CHECK_FAILED
	    : share < f->min_free ? GBE_CHECK_WARNING
				  : GBE_CHECK_PASSED,
	    "%s free, %" G_GINT64_FORMAT "%% (warned of below %u%%)", free_text, share,
	    f->min_free);
}

/* Certificates that are not used for asking etcd. They cannot be the reason that etcd does not answer, so they only
 * warn. */
static void
other_certificates(const GbeHealthFacts *f, GbeCheck *step)
{
	const GbeTlsFile *next = f->certs != NULL && f->certs->len > 0 ? f->certs->pdata[0] : NULL;
	gint64 days = next != NULL ? (next->expires - f->now) / DAY : -1;
	g_autofree char *before = NULL;
	g_autofree char *when = NULL;
	g_autofree char *more = NULL;
	guint soon = 0;

	if (next == NULL)
		return;
	if (step->figure < 0 || days < step->figure)
		step->figure = MAX(days, 0);
	step->limit = (gint64)f->cert_warn / DAY;
	while (soon < f->certs->len &&
	       ((const GbeTlsFile *)f->certs->pdata[soon])->expires - f->now <=
		   (gint64)f->cert_warn)
		soon++;
	if (soon == 0)
		return;
	when = next->expires <= f->now
		   ? g_strdup("has expired")
		   : g_strdup_printf("expires in %" G_GINT64_FORMAT " days", days);
	more = soon > 1 ? g_strdup_printf(", and %u more", soon - 1) : g_strdup("");
	before = g_steal_pointer(&step->detail);
	step->detail = g_strdup_printf("%s%s%s %s%s (warned of at %" G_GINT64_FORMAT
				       " days); see `greenboot-etcd certs list`",
				       before != NULL ? before : "", before != NULL ? "; " : "",
				       next->path, when, more, step->limit);
	step->result = MAX(step->result, GBE_CHECK_WARNING);
}

/* Expiry in whole days; the figure is the shortest. */
static void
certificates_step(const GbeHealthFacts *f, GbeCheck *step)
{
	const GbeTlsFile *later = NULL;
	bool behind = gbe_health_clock_is_behind(f, &later);

	/* The dates of certificates mean nothing while the clock is slow. */
	if (behind) {
		g_autofree char *clock = gbe_clock_to_text(f->now);
		g_autofree char *begins = gbe_clock_to_text(later != NULL ? later->begins : 0);

		if (later == NULL)
			set(step, GBE_CHECK_WARNING,
			    "the clock says %s and cannot be right: the validity is unknown; set "
			    "the clock",
			    clock);
		else
			set(step, GBE_CHECK_WARNING,
			    "%s is valid from %s on, and the clock says %s: the validity is "
			    "unknown; set the clock",
			    later->path, begins, clock);
	}
	for (guint i = 0; i < G_N_ELEMENTS(f->tls); i++) {
		const GbeTlsFile *tls = &f->tls[i];
		gint64 days = (tls->expires - f->now) / DAY;

		if (tls->key == NULL)
			continue;
		step->limit = (gint64)f->cert_warn / DAY;
		if (tls->problem != NULL)
			set(step, GBE_CHECK_FAILED, "%s, %s, %s", tls->key, tls->path,
			    tls->problem);
		if (tls->problem != NULL || behind || tls->expires < 0)
			continue;
		if (step->figure < 0 || days < step->figure)
			step->figure = MAX(days, 0);
		if (tls->expires <= f->now)
			set(step, GBE_CHECK_FAILED, "%s, %s, has expired", tls->key, tls->path);
		else if (tls->expires - f->now <= (gint64)f->cert_warn)
			set(step, GBE_CHECK_WARNING,
			    "%s, %s, expires in %" G_GINT64_FORMAT
			    " days (warned of at %" G_GINT64_FORMAT ")",
			    tls->key, tls->path, days, step->limit);
	}
	if (!behind)
		other_certificates(f, step);
	if (step->detail == NULL && step->figure >= 0)
		set(step, GBE_CHECK_PASSED, "valid for %" G_GINT64_FORMAT " days", step->figure);
}

static void
question_step(const GbeQuestion *question, GbeCheck *step, const char *passed)
{
	if (question->reach == GBE_REACH_NOT_ASKED)
		return;
	if (answered(question))
		set(step, GBE_CHECK_PASSED, "%s", passed);
	else
		set(step,
		    question->reach == GBE_REACH_NO_USER ? GBE_CHECK_WARNING : GBE_CHECK_FAILED,
		    "%s", question->why != NULL ? question->why : "no");
}

static void
quota_step(const GbeHealthFacts *f, GbeCheck *step)
{
	g_autofree char *size = gbe_health_size_text(f->db_size);
	g_autofree char *in_use = gbe_health_size_text(f->db_in_use);
	g_autofree char *limit = gbe_health_size_text(f->quota);

	step->limit = f->quota_warn;
	if (f->quota <= 0) {
		set(step, GBE_CHECK_PASSED, "%s, %s in use; etcd reports no quota", size, in_use);
		return;
	}
	step->figure = percent(f->db_size, f->quota);
	set(step, step->figure >= step->limit ? GBE_CHECK_WARNING : GBE_CHECK_PASSED,
	    "%s of %s, %" G_GINT64_FORMAT "%% (warned of at %u%%), %s in use", size, limit,
	    step->figure, f->quota_warn, in_use);
}

/* The steps that etcd's answers fill in. */
static void
answered_steps(const GbeHealthFacts *f, GbeCheck *steps)
{
	GbeCheck *alarms = &steps[GBE_CHECK_ALARMS], *member = &steps[GBE_CHECK_MEMBER];
	GbeCheck *revision = &steps[GBE_CHECK_REVISION], *lag = &steps[GBE_CHECK_LAG];

	set(&steps[GBE_CHECK_LEADER], f->leader == 0 ? GBE_CHECK_FAILED : GBE_CHECK_PASSED, "%s",
	    f->leader == 0		? "none"
	    : f->leader == f->member_id ? "this member"
					: "another member");
	if (f->corrupt)
		set(alarms, GBE_CHECK_FAILED, "CORRUPT");
	else if (f->other_alarm)
		set(alarms, GBE_CHECK_FAILED, "an alarm that is not known here");
	else if (f->no_space)
		set(alarms,
		    f->on_nospace == GBE_NOSPACE_HEALTHY ? GBE_CHECK_WARNING : GBE_CHECK_FAILED,
		    "NOSPACE");
	else
		set(alarms, GBE_CHECK_PASSED, "none");
	member->figure = f->member_count > 0 ? (gint64)f->member_count : -1;
	if (gbe_health_is_other_data(f) && !gbe_health_is_elsewhere(f))
		set(member, GBE_CHECK_FAILED,
		    "member %016" G_GINT64_MODIFIER "x of cluster %016" G_GINT64_MODIFIER
		    "x, not that of the data",
		    f->member_id, f->cluster_id);
	else
		set(member, f->learner ? GBE_CHECK_WARNING : GBE_CHECK_PASSED,
		    "%s%016" G_GINT64_MODIFIER "x of cluster %016" G_GINT64_MODIFIER "x",
		    f->learner ? "learner " : "", f->member_id, f->cluster_id);
	revision->figure = f->revision;
	revision->limit = f->expected_revision;
	if (f->expected_revision >= 0 && f->revision < f->expected_revision)
		set(revision, GBE_CHECK_FAILED,
		    "%" G_GINT64_FORMAT ", and it was %" G_GINT64_FORMAT " already", f->revision,
		    f->expected_revision);
	else
		set(revision, GBE_CHECK_PASSED, "%" G_GINT64_FORMAT, f->revision);
	quota_step(f, &steps[GBE_CHECK_QUOTA]);
	lag->figure = f->raft_index > f->raft_applied
			  ? (gint64)MIN(f->raft_index - f->raft_applied, G_MAXINT32)
			  : 0;
	lag->limit = LAG_MAX;
	set(lag,
	    lag->figure >= LAG_MAX    ? GBE_CHECK_FAILED
	    : lag->figure >= LAG_WARN ? GBE_CHECK_WARNING
				      : GBE_CHECK_PASSED,
	    "%" G_GINT64_FORMAT " entries are to be applied", lag->figure);
}

void
gbe_health_fill_steps(const GbeHealthFacts *facts, GbeHealthReport *report)
{
	GbeCheck *steps = report->steps;

	for (guint i = 0; i < GBE_N_CHECKS; i++)
		steps[i].figure = steps[i].limit = -1;
	service_step(facts, &steps[GBE_CHECK_SERVICE]);
	data_step(facts, &steps[GBE_CHECK_DATA]);
	disk_step(facts, &steps[GBE_CHECK_DISK]);
	certificates_step(facts, &steps[GBE_CHECK_CERTIFICATES]);
	question_step(&facts->status, &steps[GBE_CHECK_REACHED],
		      facts->endpoint != NULL ? facts->endpoint : "");
	question_step(&facts->write, &steps[GBE_CHECK_WRITE], "a proposal was written and applied");
	question_step(&facts->read, &steps[GBE_CHECK_READ], "linearizable");
	if (answered(&facts->status))
		answered_steps(facts, steps);
	for (guint i = 0; i < GBE_N_CHECKS; i++)
		report->warnings += steps[i].result == GBE_CHECK_WARNING;
}
