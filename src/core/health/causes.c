/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of causes and verdicts, with its sentences. Its words and verdicts are also in greenboot-etcd.conf(5). */
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

bool
gbe_health_clock_is_behind(const GbeHealthFacts *f, const GbeTlsFile **ret_later)
{
	const GbeTlsFile *later = NULL;
	guint count = f->certs != NULL ? f->certs->len : 0;
	bool any = false;

	for (guint i = 0; i < G_N_ELEMENTS(f->tls) + count; i++) {
		const GbeTlsFile *tls = i < G_N_ELEMENTS(f->tls)
					    ? &f->tls[i]
					    : f->certs->pdata[i - G_N_ELEMENTS(f->tls)];

		if (tls->begins > f->now)
			later = tls;
		any = any || tls->expires >= 0;
	}
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

/* Replaces every {name} in @text in one pass, because a value may hold any text, also a "{name}". */
static char *
sentence(const char *text, const GbeHealthFacts *f)
{
	const GbeTlsFile *tls = bad_tls(f);
	g_autofree char *now = gbe_clock_to_text(f->now);
	g_autofree char *file = tls != NULL
				    ? g_strdup_printf("%s of [etcd], %s, %s", tls->key, tls->path,
						      or_else(tls->problem, "has expired"))
				    : g_strdup("");
	const struct {
		const char *name, *value;
	} values[] = {
	    {"{unit}", or_else(f->unit, "the service")},
	    {"{held}", or_else(f->held_why, "greenboot-etcd holds etcd back")},
	    {"{data}", or_else(f->data_dir, "the data")},
	    {"{tls}", file},
	    {"{clock}", now},
	    {"{endpoint}", or_else(f->endpoint, "its endpoint")},
	    {"{why}", or_else(f->status.why, "not asked")},
	    {"{write}", or_else(f->write.why, "not asked")},
	    {"{read}", or_else(f->read.why, "not asked")},
	};
	GString *to = g_string_new(NULL);

	while (*text != '\0') {
		gsize plain = strcspn(text, "{");

		(void)g_string_append_len(to, text, (gssize)plain);
		text += plain;
		for (gsize i = 0; *text == '{' && i < G_N_ELEMENTS(values); i++)
			if (g_str_has_prefix(text, values[i].name)) {
				(void)g_string_append(to, values[i].value);
				break;
			}
		if (*text == '{')
			text += strcspn(text, "}") + 1;
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

/* "healthy, 3.5.16, one member, revision 81203, 41 MiB of 2 GiB", and "leader of 3 members". */
static char *
summary(const GbeHealthFacts *f)
{
	GString *text = g_string_new("healthy");
	g_autofree char *size = gbe_health_size_text(f->db_size);
	g_autofree char *quota = gbe_health_size_text(f->quota);
	const char *role = f->learner		       ? "learner"
			   : f->leader == f->member_id ? "leader"
						       : "follower";

	if (f->version != NULL)
		g_string_append_printf(text, ", %s", f->version);
	if (f->member_count == 1 && !f->learner)
		g_string_append(text, ", one member");
	else if (f->member_count > 1)
		g_string_append_printf(text, ", %s of %u members", role, f->member_count);
	else
		g_string_append_printf(text, ", %s", role);
	g_string_append_printf(text, ", revision %" G_GINT64_FORMAT ", %s%s%s", f->revision, size,
			       f->quota > 0 ? " of " : "", f->quota > 0 ? quota : "");
	return g_string_free(text, false);
}

/* gRPC's number, as etcd answers it (etcd.md, sections 1 and 3). */
#define UNIMPLEMENTED 12

/* With less free space, etcd cannot preallocate its next WAL segment (64 MB). */
#define FULL_BYTES (64 * 1000 * 1000)

static bool
is_defragmenting(const GbeHealthFacts *f)
{
	return f->defragmenting &&
	       (f->status.reach == GBE_REACH_LATE || f->write.reach == GBE_REACH_LATE ||
		f->read.reach == GBE_REACH_LATE);
}

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

/* ---- the causes ---- */

typedef struct {
	const char *word;
	GbeHealth health;
	GbePatience patience;
	const char *text; /* {name}: see sentence() */
} Cause;

/* In the order of find_cause(), as greenboot-etcd.conf(5) has them. */
static const Cause causes[] = {
    {"not-installed", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE, "there is no {unit}"},
    {"masked", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE, "{unit} is masked"},
    {"not-enabled", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE, "{unit} is not enabled"},
    {"held-on-trial", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE, "{held}"},
    {"empty-on-trial", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd began with an empty database in an update, although there was data before; "
     "`greenboot-etcd mark good` accepts that"},
    {"held", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE, "{held}"},
    {"corrupt", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd at {endpoint} has the alarm CORRUPT: its data is not that of the other members"},
    {"disk-full", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the disk of {data} is full, so that etcd cannot write"},
    {"read-only-on-trial", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_SOME,
     "{data} is on a file system that is mounted read-only"},
    {"read-only", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "{data} is on a file system that is mounted read-only"},
    {"data-refused", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "{data} was written by a newer etcd than the one that is installed"},
    {"start-limit", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "{unit} failed again and again, and systemd starts it no more"},
    {"failed", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_SOME, "{unit} has failed"},
    {"certificate", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME, "etcd cannot be asked: {tls}"},
    {"clock", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} cannot be asked ({why}): the clock says {clock}, before the certificates "
     "are valid; set the clock"},
    {"no-trust", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "no trust between etcd at {endpoint} and this program ({why}): see cacert=, cert= and key= of "
     "[etcd]"},
    {"bad-endpoint", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "cannot ask etcd at {endpoint}: {why}"},
    {"not-etcd", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "{endpoint} does not answer as etcd does ({why}): see endpoint= of [etcd]; is it https?"},
    {"not-allowed", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME, "etcd at {endpoint}: {why}"},
    {"defragmenting", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_MORE,
     "etcd at {endpoint} is defragmenting its database, and does not answer meanwhile"},
    {"wrong-endpoint", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the service reports that it is ready, but no process listens at {endpoint} ({why}); see "
     "endpoint= of [etcd]"},
    {"not-started", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "{unit} has not come up, and etcd does not answer"},
    {"down", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd does not answer at {endpoint}: {why}"},
    {"mute", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd does not answer at {endpoint} in time: {why}"},
    {"broke-off", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} did not answer to the end: {why}"},
    {"elsewhere-on-trial", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_SOME,
     "the etcd that answers does not have {data} open, as it had before the update: see data-dir= "
     "of [etcd]"},
    {"elsewhere", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the etcd that answers does not have {data} open: see endpoint= and data-dir= of [etcd]"},
    {"other-data", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "the etcd that answers serves other data than {data}: see endpoint= and data-dir= of [etcd]"},
    {"no-quorum", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} has no leader: most members of its cluster cannot be reached"},
    {"no-leader", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE, "etcd at {endpoint} has no leader"},
    {"no-space-unhealthy", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd at {endpoint} has the alarm NOSPACE: its database is at its quota (`greenboot-etcd "
     "alarm clear`)"},
    {"no-space", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_NONE,
     "etcd at {endpoint} has the alarm NOSPACE: its database is at its quota (`greenboot-etcd "
     "alarm clear`)"},
    {"other-alarm", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_SOME,
     "etcd at {endpoint} has an alarm that this program does not know"},
    {"no-consent", GBE_HEALTH_CANNOT_TELL, GBE_PATIENCE_DEADLINE,
     "etcd at {endpoint} answers, and its cluster does not agree to a write or a read in time"},
    {"no-writes", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd answers, and cannot write: {write}"},
    {"no-reads", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_DEADLINE,
     "etcd answers, and cannot read with the consent of its cluster: {read}"},
    {"behind", GBE_HEALTH_UNHEALTHY, GBE_PATIENCE_NONE,
     "etcd has lost writes that {data} had already"},
    {"healthy", GBE_HEALTH_HEALTHY, GBE_PATIENCE_NONE, NULL},
};

/* The word of a cause that is known without asking etcd; NULL: none is. */
static const char *
cause_unasked(const GbeHealthFacts *f)
{
	if (f->service == GBE_SERVICE_NOT_FOUND)
		return "not-installed";
	if (f->service == GBE_SERVICE_MASKED)
		return "masked";
	if (f->service == GBE_SERVICE_NOT_ENABLED)
		return "not-enabled";
	if (f->held)
		return f->on_trial ? "held-on-trial" : "held";
	return NULL;
}

/* Why etcd gave no answer to the first question. */
static const char *
cause_without_answer(const GbeHealthFacts *f)
{
	GbeReach reach = f->status.reach;
	const GbeTlsFile *later = NULL;

	if (f->data_refused == GBE_YES)
		return "data-refused";
	if (f->service == GBE_SERVICE_START_LIMIT)
		return "start-limit";
	if (f->service == GBE_SERVICE_FAILED)
		return "failed";
	if ((reach == GBE_REACH_TLS || reach == GBE_REACH_LOCAL) && bad_tls(f) != NULL)
		return "certificate";
	if (reach == GBE_REACH_TLS)
		return gbe_health_clock_is_behind(f, &later) ? "clock" : "no-trust";
	if (reach == GBE_REACH_LOCAL || reach == GBE_REACH_NOT_ASKED)
		return "bad-endpoint";
	if (reach == GBE_REACH_FOREIGN ||
	    (reach == GBE_REACH_DENIED && f->status.status == UNIMPLEMENTED))
		return "not-etcd";
	if (reach == GBE_REACH_NO_USER)
		return "not-allowed";
	if (is_defragmenting(f))
		return "defragmenting";
	if (reach == GBE_REACH_DOWN && f->service == GBE_SERVICE_RUNNING && f->notifies)
		return "wrong-endpoint";
	if (f->service == GBE_SERVICE_ACTIVATING || f->service == GBE_SERVICE_INACTIVE)
		return "not-started";
	if (reach == GBE_REACH_DOWN)
		return "down";
	return reach == GBE_REACH_LATE ? "mute" : "broke-off";
}

/* The word of the first cause that fits. */
static const char *
find_cause(const GbeHealthFacts *f)
{
	const char *unasked = cause_unasked(f);
	bool writes = answered(&f->write);
	/* A learner has no vote and is not asked. A refusal does not count where etcd asks for a user. */
	bool no_writes = !writes && !f->learner && f->write.reach != GBE_REACH_NO_USER;
	bool no_reads = !answered(&f->read) && !f->learner && f->read.reach != GBE_REACH_NO_USER;

	if (unasked != NULL)
		return unasked;
	/* The data that an update lost comes back with the old system. */
	if (f->began_empty && f->on_trial)
		return "empty-on-trial";
	if (f->corrupt)
		return "corrupt";
	/* A full or read-only disk explains every other problem, unless writes succeed. */
	if (gbe_health_is_full(f) && !writes && !f->learner)
		return "disk-full";
	if (f->read_only == GBE_YES && !writes)
		return f->on_trial ? "read-only-on-trial" : "read-only";
	if (!answered(&f->status))
		return cause_without_answer(f);
	if (is_defragmenting(f))
		return "defragmenting";
	if (gbe_health_is_elsewhere(f))
		return f->on_trial && f->opened_before ? "elsewhere-on-trial" : "elsewhere";
	if (gbe_health_is_other_data(f))
		return "other-data";
	if (f->leader == 0)
		return f->voters > 1 ? "no-quorum" : "no-leader";
	if (f->no_space && f->on_nospace == GBE_NOSPACE_UNHEALTHY)
		return "no-space-unhealthy";
	if (f->no_space && f->on_nospace == GBE_NOSPACE_CANNOT_TELL)
		return "no-space";
	if (f->other_alarm)
		return "other-alarm";
	/* The other members may be gone before this one has noticed that it has no followers. */
	if (f->voters > 1 && (no_writes || no_reads))
		return "no-consent";
	if (no_writes)
		return "no-writes";
	if (no_reads)
		return "no-reads";
	if (f->expected_revision >= 0 && f->revision >= 0 && f->revision < f->expected_revision)
		return "behind";
	return "healthy";
}

bool
gbe_health_needs_asking(const GbeHealthFacts *facts)
{
	return cause_unasked(facts) == NULL;
}

const char *
gbe_health_cause(guint index, GbeHealth *ret_health)
{
	if (index >= G_N_ELEMENTS(causes))
		return NULL;
	*ret_health = causes[index].health;
	return causes[index].word;
}

/* Does the cause follow only from an answer that a longer wait may bring? */
static bool
is_late(const GbeHealthFacts *f, const char *word)
{
	const GbeQuestion *asked = g_str_equal(word, "no-writes")  ? &f->write
				   : g_str_equal(word, "no-reads") ? &f->read
								   : &f->status;

	return asked->reach == GBE_REACH_LATE &&
	       (asked != &f->status || g_str_equal(word, "mute") ||
		g_str_equal(word, "not-started"));
}

GbeHealthReport *
gbe_health_judge(const GbeHealthFacts *facts)
{
	GbeHealthReport *report = g_new0(GbeHealthReport, 1);
	const char *word = find_cause(facts);
	const Cause *cause = causes;

	while (!g_str_equal(cause->word, word))
		cause++;
	report->health = cause->health;
	report->cause = cause->word;
	report->patience = cause->patience;
	report->late = facts->brief && is_late(facts, word);
	if (report->late)
		report->health = GBE_HEALTH_CANNOT_TELL;
	report->reason = cause->text != NULL ? sentence(cause->text, facts) : summary(facts);
	gbe_health_fill_steps(facts, report);
	return report;
}
