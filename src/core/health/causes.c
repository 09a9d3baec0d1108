/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of causes and verdicts, with its sentences. Its words and verdicts are in greenboot-etcd.conf(5), too. */
#include "core/health/health.h"
#include "core/space.h"

#include <string.h>

static const char *
or_else(const char *text, const char *otherwise)
{
	return text != NULL ? text : otherwise;
}

static bool
answered(const GbeQuestion *question)
{
	return question->reach == GBE_REACH_ANSWERED;
}

static bool
is_writing(const GbeHealthFacts *f)
{
	return answered(&f->write);
}

static bool
begins_later(const GbeHealthFacts *f, const GbeTlsFile *tls, const GbeTlsFile **ret_later)
{
	if (tls->begins > f->now)
		*ret_later = tls;
	return tls->expires >= 0;
}

bool
gbe_health_clock_is_behind(const GbeHealthFacts *f, const GbeTlsFile **ret_later)
{
	const GbeTlsFile *later = NULL;
	bool any = false;

	for (guint i = 0; i < G_N_ELEMENTS(f->tls); i++)
		any |= begins_later(f, &f->tls[i], &later);
	for (guint i = 0; f->certs != NULL && i < f->certs->len; i++)
		any |= begins_later(f, f->certs->pdata[i], &later);
	if (!any || (gbe_clock_is_set(f->now) && later == NULL))
		return false;
	*ret_later = gbe_clock_is_set(f->now) ? later : NULL;
	return true;
}

/* The first TLS file that cannot be used or has expired; NULL. */
static const GbeTlsFile *
bad_tls(const GbeHealthFacts *f)
{
	for (guint i = 0; i < G_N_ELEMENTS(f->tls); i++)
		if (f->tls[i].problem != NULL ||
		    (f->tls[i].expires >= 0 && f->tls[i].expires <= f->now))
			return &f->tls[i];
	return NULL;
}

static void
append_tls(GString *to, const GbeTlsFile *tls)
{
	if (tls == NULL)
		return;
	g_string_append_printf(to, "%s of [etcd], %s, %s", tls->key, tls->path,
			       or_else(tls->problem, "has expired"));
}

static void
append_clock(GString *to, gint64 now)
{
	g_autofree char *text = gbe_clock_to_text(now);

	(void)g_string_append(to, text);
}

static void
append_value(GString *to, const char *name, const GbeHealthFacts *f)
{
	if (g_str_has_prefix(name, "{unit}"))
		(void)g_string_append(to, or_else(f->unit, "the service"));
	else if (g_str_has_prefix(name, "{held}"))
		(void)g_string_append(to, or_else(f->held_why, "greenboot-etcd holds etcd back"));
	else if (g_str_has_prefix(name, "{data}"))
		(void)g_string_append(to, or_else(f->data_dir, "the data"));
	else if (g_str_has_prefix(name, "{tls}"))
		append_tls(to, bad_tls(f));
	else if (g_str_has_prefix(name, "{clock}"))
		append_clock(to, f->now);
	else if (g_str_has_prefix(name, "{endpoint}"))
		(void)g_string_append(to, or_else(f->endpoint, "its endpoint"));
	else if (g_str_has_prefix(name, "{why}"))
		(void)g_string_append(to, or_else(f->status.why, "not asked"));
	else if (g_str_has_prefix(name, "{write}"))
		(void)g_string_append(to, or_else(f->write.why, "not asked"));
	else
		(void)g_string_append(to, or_else(f->read.why, "not asked"));
}

/* Replaces every {name} in @text in one pass, because a value may hold any text, also a "{name}". */
static char *
sentence(const char *text, const GbeHealthFacts *f)
{
	GString *to = g_string_new(NULL);

	while (*text != '\0') {
		gsize plain = strcspn(text, "{");

		(void)g_string_append_len(to, text, (gssize)plain);
		text += plain;
		if (*text == '{') {
			append_value(to, text, f);
			text += strcspn(text, "}") + 1;
		}
	}
	return g_string_free(to, false);
}

char *
gbe_health_size_text(gint64 bytes)
{
	char *text = gbe_size_to_text((guint64)MAX(bytes, 0));
	char *dot = strchr(text, '.');

	if (dot != NULL && (dot[1] == '0' || dot - text > 1))
		memmove(dot, dot + 2, strlen(dot + 2) + 1);
	return text;
}

/* "healthy, leader, 1 member, 3.5.16, 41.0 MiB of 2.0 GiB, revision 81203". */
static char *
summary(const GbeHealthFacts *f)
{
	GString *text = g_string_new("healthy");
	g_autofree char *size = gbe_health_size_text(f->db_size);
	g_autofree char *quota = gbe_health_size_text(f->quota);

	(void)g_string_append(text, f->learner			? ", learner"
				    : f->leader == f->member_id ? ", leader"
								: ", follower");
	if (f->member_count > 0)
		g_string_append_printf(text, ", %u member%s", f->member_count,
				       f->member_count == 1 ? "" : "s");
	if (f->version != NULL)
		g_string_append_printf(text, ", %s", f->version);
	g_string_append_printf(text, ", %s%s%s, revision %" G_GINT64_FORMAT, size,
			       f->quota > 0 ? " of " : "", f->quota > 0 ? quota : "", f->revision);
	return g_string_free(text, false);
}

/* gRPC's number, as etcd answers it (etcd.md, sections 1 and 3). */
#define UNIMPLEMENTED 12

/* With less free space, etcd cannot preallocate its next WAL segment (64 MB). */
#define FULL_BYTES (64 * 1000 * 1000)

bool
gbe_health_is_full(const GbeHealthFacts *f)
{
	return (f->free >= 0 && f->free < FULL_BYTES) || (f->inodes > 0 && f->inodes_free == 0);
}

static bool
is_id(const char *expected, guint64 id)
{
	guint64 value;

	return expected == NULL || id == 0 ||
	       !g_ascii_string_to_unsigned(expected, 16, 0, G_MAXUINT64, &value, NULL) ||
	       value == id;
}

bool
gbe_health_is_elsewhere(const GbeHealthFacts *f)
{
	return f->opens_db == GBE_NO && f->opens_log == GBE_NO;
}

bool
gbe_health_is_other_data(const GbeHealthFacts *f)
{
	return gbe_health_is_elsewhere(f) || !is_id(f->expected_cluster_id, f->cluster_id) ||
	       !is_id(f->expected_member_id, f->member_id);
}

/* ---- the conditions of the causes ---- */

static bool
not_installed(const GbeHealthFacts *f)
{
	return f->service == GBE_SERVICE_NOT_FOUND;
}

static bool
masked(const GbeHealthFacts *f)
{
	return f->service == GBE_SERVICE_MASKED;
}

static bool
not_enabled(const GbeHealthFacts *f)
{
	return f->service == GBE_SERVICE_NOT_ENABLED;
}

static bool
held_on_trial(const GbeHealthFacts *f)
{
	return f->held && f->on_trial;
}

/* The data that an update lost comes back with the old system. */
static bool
empty_on_trial(const GbeHealthFacts *f)
{
	return f->began_empty && f->on_trial;
}

static bool
held(const GbeHealthFacts *f)
{
	return f->held;
}

static bool
corrupt(const GbeHealthFacts *f)
{
	return f->corrupt;
}

/* A full or read-only disk explains every other problem. Where writes succeed, it explains nothing. */
static bool
disk_full(const GbeHealthFacts *f)
{
	return gbe_health_is_full(f) && !is_writing(f) && !f->learner;
}

static bool
read_only(const GbeHealthFacts *f)
{
	return f->read_only == GBE_YES && !is_writing(f);
}

static bool
elsewhere_on_trial(const GbeHealthFacts *f)
{
	return gbe_health_is_elsewhere(f) && f->on_trial && f->opened_before;
}

static bool
read_only_on_trial(const GbeHealthFacts *f)
{
	return read_only(f) && f->on_trial;
}

static bool
data_refused(const GbeHealthFacts *f)
{
	return f->data_refused == GBE_YES && !answered(&f->status);
}

static bool
start_limit(const GbeHealthFacts *f)
{
	return f->service == GBE_SERVICE_START_LIMIT && !answered(&f->status);
}

static bool
service_failed(const GbeHealthFacts *f)
{
	return f->service == GBE_SERVICE_FAILED && !answered(&f->status);
}

static bool
bad_certificate(const GbeHealthFacts *f)
{
	return !answered(&f->status) && bad_tls(f) != NULL &&
	       (f->status.reach == GBE_REACH_TLS || f->status.reach == GBE_REACH_LOCAL);
}

static bool
clock_behind(const GbeHealthFacts *f)
{
	const GbeTlsFile *later = NULL;

	return f->status.reach == GBE_REACH_TLS && gbe_health_clock_is_behind(f, &later);
}

static bool
no_trust(const GbeHealthFacts *f)
{
	return f->status.reach == GBE_REACH_TLS;
}

static bool
bad_endpoint(const GbeHealthFacts *f)
{
	return f->status.reach == GBE_REACH_LOCAL || f->status.reach == GBE_REACH_NOT_ASKED;
}

static bool
not_etcd(const GbeHealthFacts *f)
{
	return f->status.reach == GBE_REACH_FOREIGN ||
	       (f->status.reach == GBE_REACH_DENIED && f->status.status == UNIMPLEMENTED);
}

static bool
is_forbidden(const GbeQuestion *question)
{
	return question->reach == GBE_REACH_NO_USER;
}

static bool
not_allowed(const GbeHealthFacts *f)
{
	return is_forbidden(&f->status);
}

static bool
defragmenting(const GbeHealthFacts *f)
{
	return f->defragmenting &&
	       (f->status.reach == GBE_REACH_LATE || f->write.reach == GBE_REACH_LATE ||
		f->read.reach == GBE_REACH_LATE);
}

static bool
wrong_endpoint(const GbeHealthFacts *f)
{
	return f->status.reach == GBE_REACH_DOWN && f->service == GBE_SERVICE_RUNNING &&
	       f->notifies;
}

static bool
not_started(const GbeHealthFacts *f)
{
	return !answered(&f->status) &&
	       (f->service == GBE_SERVICE_ACTIVATING || f->service == GBE_SERVICE_INACTIVE);
}

static bool
down(const GbeHealthFacts *f)
{
	return f->status.reach == GBE_REACH_DOWN;
}

static bool
mute(const GbeHealthFacts *f)
{
	return f->status.reach == GBE_REACH_LATE;
}

static bool
broke_off(const GbeHealthFacts *f)
{
	return !answered(&f->status);
}

static bool
no_leader(const GbeHealthFacts *f)
{
	return f->leader == 0;
}

static bool
no_quorum(const GbeHealthFacts *f)
{
	return no_leader(f) && f->voters > 1;
}

static bool
no_space_unhealthy(const GbeHealthFacts *f)
{
	return f->no_space && f->on_nospace == GBE_NOSPACE_UNHEALTHY;
}

static bool
no_space(const GbeHealthFacts *f)
{
	return f->no_space && f->on_nospace == GBE_NOSPACE_CANNOT_TELL;
}

static bool
other_alarm(const GbeHealthFacts *f)
{
	return f->other_alarm;
}

/* A learner has no vote and is not asked. Nor does this count if etcd asks for a user. */
static bool
no_writes(const GbeHealthFacts *f)
{
	return !is_writing(f) && !f->learner && !is_forbidden(&f->write);
}

static bool
no_reads(const GbeHealthFacts *f)
{
	return !answered(&f->read) && !f->learner && !is_forbidden(&f->read);
}

/* The other members may be gone before this one has noticed that it leads nobody. */
static bool
no_consent(const GbeHealthFacts *f)
{
	return f->voters > 1 && (no_writes(f) || no_reads(f));
}

static bool
behind(const GbeHealthFacts *f)
{
	return f->expected_revision >= 0 && f->revision >= 0 && f->revision < f->expected_revision;
}

static bool
always(const GbeHealthFacts *f)
{
	return true;
}

/* ---- the table ---- */

typedef struct {
	const char *word;
	bool (*is)(const GbeHealthFacts *facts);
	GbeHealth health;
	GbePatience patience;
	const char *text; /* {name}: see sentence() */
} Cause;

/* The first cause that fits decides. */
static const Cause causes[] = {
    {"not-installed", not_installed, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE,
     "there is no {unit}"},
    {"masked", masked, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE, "{unit} is masked"},
    {"not-enabled", not_enabled, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE,
     "{unit} is not enabled"},
    {"held-on-trial", held_on_trial, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE, "{held}"},
    {"empty-on-trial", empty_on_trial, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd began with an empty database in an update, although there was data before; "
     "`greenboot-etcd mark good` accepts that"},
    {"held", held, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE, "{held}"},
    {"corrupt", corrupt, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd at {endpoint} has the alarm CORRUPT: its data is not that of the other members"},
    {"disk-full", disk_full, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the disk of {data} is full, so that etcd cannot write"},
    {"read-only-on-trial", read_only_on_trial, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_SOME,
     "{data} is on a file system that is mounted read-only"},
    {"read-only", read_only, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "{data} is on a file system that is mounted read-only"},
    {"data-refused", data_refused, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "{data} was written by a newer etcd than the one that is installed"},
    {"start-limit", start_limit, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "{unit} failed again and again, and systemd starts it no more"},
    {"failed", service_failed, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_SOME, "{unit} has failed"},
    {"certificate", bad_certificate, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "etcd cannot be asked: {tls}"},
    {"clock", clock_behind, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} cannot be asked ({why}): the clock says {clock}, before the certificates "
     "are valid; set the clock"},
    {"no-trust", no_trust, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "no trust between etcd at {endpoint} and this program ({why}): see cacert=, cert= and key= of "
     "[etcd]"},
    {"bad-endpoint", bad_endpoint, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "cannot ask etcd at {endpoint}: {why}"},
    {"not-etcd", not_etcd, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "{endpoint} does not answer as etcd does ({why}): see endpoint= of [etcd]; is it https?"},
    {"not-allowed", not_allowed, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "etcd at {endpoint}: {why}"},
    {"defragmenting", defragmenting, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_MORE,
     "etcd at {endpoint} is defragmenting its database, and answers nobody meanwhile"},
    {"wrong-endpoint", wrong_endpoint, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the service says that it is ready, and nobody listens at {endpoint} ({why}): see endpoint= "
     "of [etcd]"},
    {"not-started", not_started, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "{unit} has not come up, and etcd does not answer"},
    {"down", down, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd does not answer at {endpoint}: {why}"},
    {"mute", mute, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd does not answer at {endpoint} in time: {why}"},
    {"broke-off", broke_off, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} did not answer to the end: {why}"},
    {"elsewhere-on-trial", elsewhere_on_trial, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_SOME,
     "the etcd that answers does not have {data} open, as it had before the update: see data-dir= "
     "of [etcd]"},
    {"elsewhere", gbe_health_is_elsewhere, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the etcd that answers does not have {data} open: see endpoint= and data-dir= of [etcd]"},
    {"other-data", gbe_health_is_other_data, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the etcd that answers serves other data than {data}: see endpoint= and data-dir= of [etcd]"},
    {"no-quorum", no_quorum, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} has no leader: most members of its cluster cannot be reached"},
    {"no-leader", no_leader, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} has no leader"},
    {"no-space-unhealthy", no_space_unhealthy, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd at {endpoint} has the alarm NOSPACE: its database is at its quota (`greenboot-etcd "
     "alarm clear`)"},
    {"no-space", no_space, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE,
     "etcd at {endpoint} has the alarm NOSPACE: its database is at its quota (`greenboot-etcd "
     "alarm clear`)"},
    {"other-alarm", other_alarm, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "etcd at {endpoint} has an alarm that this program does not know"},
    {"no-consent", no_consent, GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} answers, and its cluster does not agree to a write or a read in time"},
    {"no-writes", no_writes, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd answers, and cannot write: {write}"},
    {"no-reads", no_reads, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd answers, and cannot read with the consent of its cluster: {read}"},
    {"behind", behind, GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd has lost writes that {data} had already"},
    {"healthy", always, GBE_HEALTH_HEALTHY, GBE_PATIENCE_NONE, NULL},
};

static const Cause *
find_cause(const GbeHealthFacts *facts)
{
	guint i = 0;

	while (!causes[i].is(facts))
		i++;
	return &causes[i];
}

bool
gbe_health_needs_asking(const GbeHealthFacts *facts)
{
	return !not_installed(facts) && !masked(facts) && !not_enabled(facts) && !held(facts);
}

const char *
gbe_health_cause(guint index, GbeHealth *ret_health)
{
	if (index >= G_N_ELEMENTS(causes))
		return NULL;
	*ret_health = causes[index].health;
	return causes[index].word;
}

GbeHealthReport *
gbe_health_judge(const GbeHealthFacts *facts)
{
	GbeHealthReport *report = g_new0(GbeHealthReport, 1);
	const Cause *cause = find_cause(facts);

	report->health = cause->health;
	report->cause = cause->word;
	report->patience = cause->patience;
	report->reason = cause->text != NULL ? sentence(cause->text, facts) : summary(facts);
	gbe_health_fill_steps(facts, report);
	return report;
}
