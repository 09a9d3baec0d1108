/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of causes and verdicts: the facts that lead to each cause, and which cause comes first. */
#include "core/health/health.h"

#include <string.h>

#include "lib/unit.h"

#define NOW 1800000000
#define DAY (24 * 60 * 60)
#define GIB ((gint64)1024 * 1024 * 1024)

static void
answer(GbeQuestion *question, GbeReach reach, guint status, const char *why)
{
	g_free(question->why);
	*question = (GbeQuestion){reach, status, g_strdup(why)};
}

/* A single member without any fault. */
static GbeHealthFacts *
well(void)
{
	GbeHealthFacts *f = gbe_health_facts_new();
	g_autoptr(GbeConfig) config = gbe_config_new();

	gbe_health_facts_configure(f, config);
	f->service = GBE_SERVICE_RUNNING;
	f->notifies = true;
	f->read_only = GBE_NO;
	f->size = 100 * GIB;
	f->free = 50 * GIB;
	f->inodes = 1000;
	f->inodes_free = 500;
	answer(&f->status, GBE_REACH_ANSWERED, 0, NULL);
	answer(&f->members, GBE_REACH_ANSWERED, 0, NULL);
	answer(&f->write, GBE_REACH_ANSWERED, 0, NULL);
	answer(&f->read, GBE_REACH_ANSWERED, 0, NULL);
	f->version = g_strdup("3.5.16");
	f->cluster_id = 0xc1;
	f->member_id = f->leader = 0xa1;
	f->revision = 81203;
	f->db_size = 41 * 1024 * 1024;
	f->db_in_use = 20 * 1024 * 1024;
	f->quota = 2 * GIB;
	f->raft_index = f->raft_applied = 900;
	f->member_count = f->voters = 1;
	f->now = NOW;
	return f;
}

static void
down(GbeHealthFacts *f, GbeReach reach, guint status, const char *why)
{
	gbe_health_facts_reset(f);
	answer(&f->status, reach, status, why);
}

typedef void (*Change)(GbeHealthFacts *f);

#define CHANGE(name, ...)                                                                          \
	static void name(GbeHealthFacts *f)                                                        \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

CHANGE(none, (void)f)
CHANGE(not_installed, f->service = GBE_SERVICE_NOT_FOUND)
CHANGE(masked, f->service = GBE_SERVICE_MASKED)
CHANGE(not_enabled, f->service = GBE_SERVICE_NOT_ENABLED)
CHANGE(held, f->held = true; f->held_why = g_strdup("no backup"))
CHANGE(held_on_trial, held(f); f->on_trial = true)
CHANGE(empty_on_trial, f->began_empty = true; f->on_trial = true)
CHANGE(corrupt, f->corrupt = true)
CHANGE(corrupt_and_mute, f->corrupt = true; answer(&f->write, GBE_REACH_LATE, 0, "late"))
CHANGE(refused, down(f, GBE_REACH_DOWN, 0, "refused"); f->service = GBE_SERVICE_UNKNOWN)
CHANGE(disk_full, refused(f); f->free = 1000)
CHANGE(no_inodes, refused(f); f->inodes_free = 0)
CHANGE(full_and_failed, disk_full(f); f->service = GBE_SERVICE_START_LIMIT)
CHANGE(read_only, refused(f); f->read_only = GBE_YES)
CHANGE(read_only_on_trial, read_only(f); f->on_trial = true)
CHANGE(data_refused, refused(f); f->data_refused = GBE_YES; f->service = GBE_SERVICE_ACTIVATING)
CHANGE(start_limit, refused(f); f->service = GBE_SERVICE_START_LIMIT)
CHANGE(failed, refused(f); f->service = GBE_SERVICE_FAILED)
CHANGE(distrust, down(f, GBE_REACH_TLS, 0, "alert certificate required"))
CHANGE(expired, distrust(f); f->tls[1].key = "cert"; f->tls[1].path = g_strdup("/c.crt");
       f->tls[1].expires = NOW - 1)
CHANGE(expires_now, expired(f); f->tls[1].expires = NOW)
CHANGE(expired_in_1970, expired(f); f->tls[1].expires = 0)
CHANGE(in_1970, distrust(f); f->now = 60; f->tls[1].key = "cert";
       f->tls[1].path = g_strdup("/c.crt"); f->tls[1].begins = NOW - DAY;
       f->tls[1].expires = NOW + 99 * DAY)
CHANGE(only_later, distrust(f); f->tls[1].key = "cert"; f->tls[1].path = g_strdup("/c.crt");
       f->tls[1].begins = NOW + 1; f->tls[1].expires = NOW + 99 * DAY)
CHANGE(in_1970_without_tls, f->now = 60)
CHANGE(unreadable, down(f, GBE_REACH_LOCAL, 0, "could not load"); f->tls[2].key = "key";
       f->tls[2].path = g_strdup("/c.key"); f->tls[2].problem = g_strdup("cannot be read"))
CHANGE(local, down(f, GBE_REACH_LOCAL, 0, "could not resolve host"))
CHANGE(foreign, down(f, GBE_REACH_FOREIGN, 0, "it sent nonsense"))
CHANGE(unimplemented, down(f, GBE_REACH_DENIED, 12, "unknown service"))
CHANGE(forbidden, down(f, GBE_REACH_NO_USER, 16, "invalid auth token"))
CHANGE(defragmenting, down(f, GBE_REACH_LATE, 0, "timed out"); f->defragmenting = true)
CHANGE(defragmenting_writes, answer(&f->write, GBE_REACH_LATE, 0, "timed out");
       f->defragmenting = true)
CHANGE(nobody_there, refused(f); f->service = GBE_SERVICE_RUNNING)
CHANGE(simple_service, nobody_there(f); f->notifies = false)
CHANGE(activating, refused(f); f->service = GBE_SERVICE_ACTIVATING)
CHANGE(inactive, refused(f); f->service = GBE_SERVICE_INACTIVE)
CHANGE(mute, down(f, GBE_REACH_LATE, 0, "timed out"))
CHANGE(dropped, down(f, GBE_REACH_DROPPED, 0, "reset"))
CHANGE(denied, down(f, GBE_REACH_DENIED, 14, "etcdserver: server stopped"))
CHANGE(other_cluster, f->expected_cluster_id = g_strdup("00000000000000c2"))
CHANGE(other_member, f->expected_member_id = g_strdup("00000000000000a2"))
CHANGE(elsewhere, f->opens_db = f->opens_log = GBE_NO)
CHANGE(elsewhere_on_trial, elsewhere(f); f->on_trial = true)
CHANGE(elsewhere_since_update, elsewhere_on_trial(f); f->opened_before = true)
CHANGE(log_elsewhere, f->opens_db = GBE_YES; f->opens_log = GBE_NO)
CHANGE(defragments, f->opens_db = GBE_NO; f->opens_log = GBE_YES)
CHANGE(not_looked, f->opens_db = GBE_NO; f->opens_log = GBE_UNKNOWN)
CHANGE(same_data, f->expected_cluster_id = g_strdup("00000000000000c1");
       f->expected_member_id = g_strdup("00000000000000a1"); f->expected_revision = 81203)
CHANGE(no_leader, f->leader = 0; answer(&f->write, GBE_REACH_DENIED, 14, "etcdserver: no leader"))
CHANGE(no_quorum, no_leader(f); f->voters = f->member_count = 3)
CHANGE(no_space, f->no_space = true)
CHANGE(no_space_unhealthy, no_space(f); f->on_nospace = GBE_NOSPACE_UNHEALTHY)
CHANGE(no_space_healthy, no_space(f); f->on_nospace = GBE_NOSPACE_HEALTHY)
CHANGE(no_space_and_mute, no_space_healthy(f); answer(&f->write, GBE_REACH_LATE, 0, "late"))
CHANGE(other_alarm, f->other_alarm = true)
CHANGE(no_writes, answer(&f->write, GBE_REACH_LATE, 0, "etcdserver: request timed out"))
CHANGE(no_consent, no_writes(f); f->voters = f->member_count = 3)
CHANGE(no_reads, answer(&f->read, GBE_REACH_LATE, 0, "timed out"))
CHANGE(learner, f->learner = true; f->leader = 0xa2;
       answer(&f->write, GBE_REACH_NOT_ASKED, 0, NULL);
       answer(&f->read, GBE_REACH_NOT_ASKED, 0, NULL))
CHANGE(with_passwords, answer(&f->write, GBE_REACH_NO_USER, 16, "invalid auth token");
       answer(&f->read, GBE_REACH_NO_USER, 7, "permission denied"))
CHANGE(behind, f->expected_revision = 81204)
CHANGE(full_and_well, f->free = 1000)
CHANGE(little_space, f->free = 4 * GIB)
CHANGE(near_quota, f->db_size = 2 * GIB * 8 / 10 + 1)
CHANGE(near_expiry, f->tls[1].key = "cert"; f->tls[1].path = g_strdup("/c.crt");
       f->tls[1].expires = NOW + 29 * DAY)
static void
add_cert(GbeHealthFacts *f, const char *path, gint64 expires)
{
	GbeTlsFile *file = g_new0(GbeTlsFile, 1);

	*file = (GbeTlsFile){.path = g_strdup(path), .expires = expires};
	if (f->certs == NULL)
		f->certs = g_ptr_array_new_with_free_func(gbe_tls_file_free);
	g_ptr_array_add(f->certs, file);
}

CHANGE(others_expired, add_cert(f, "/o.crt", NOW - 1); add_cert(f, "/p.crt", NOW + 29 * DAY);
       add_cert(f, "/q.crt", NOW + 31 * DAY))
CHANGE(others_later, add_cert(f, "/o.crt", NOW + 31 * DAY);
       ((GbeTlsFile *)f->certs->pdata[0])->begins = NOW + 1)
CHANGE(others_last, add_cert(f, "/o.crt", NOW + 31 * DAY))
CHANGE(lagging, f->raft_applied = f->raft_index - 1 - 1000 + 101; f->raft_index += 1000)
CHANGE(starting_and_well, f->service = GBE_SERVICE_ACTIVATING)

#define HEALTHY GBE_HEALTH_HEALTHY
#define UNHEALTHY GBE_HEALTH_UNHEALTHY
#define UNTOLD GBE_HEALTH_CANNOT_TELL

static const struct {
	Change change;
	const char *cause;
	GbeHealth health;
	GbePatience patience;
	const char *says;
} table[] = {
    {none, "healthy", HEALTHY, GBE_PATIENCE_NONE,
     "healthy, 3.5.16, one member, revision 81203, 41 MiB of 2 GiB"},
    {not_installed, "not-installed", UNTOLD, GBE_PATIENCE_NONE, "there is no etcd.service"},
    {masked, "masked", UNTOLD, GBE_PATIENCE_NONE, "etcd.service is masked"},
    {not_enabled, "not-enabled", UNTOLD, GBE_PATIENCE_NONE, "etcd.service is not enabled"},
    {held, "held", UNTOLD, GBE_PATIENCE_NONE, "no backup"},
    {held_on_trial, "held-on-trial", UNHEALTHY, GBE_PATIENCE_NONE, "no backup"},
    {empty_on_trial, "empty-on-trial", UNHEALTHY, GBE_PATIENCE_NONE, "empty database"},
    {corrupt, "corrupt", UNHEALTHY, GBE_PATIENCE_NONE, "CORRUPT"},
    {corrupt_and_mute, "corrupt", UNHEALTHY, GBE_PATIENCE_NONE, "CORRUPT"},
    {disk_full, "disk-full", UNTOLD, GBE_PATIENCE_SOME, "disk of /var/lib/etcd is full"},
    {no_inodes, "disk-full", UNTOLD, GBE_PATIENCE_SOME, "full"},
    {full_and_failed, "disk-full", UNTOLD, GBE_PATIENCE_SOME, "full"},
    {read_only, "read-only", UNTOLD, GBE_PATIENCE_SOME, "read-only"},
    {read_only_on_trial, "read-only-on-trial", UNHEALTHY, GBE_PATIENCE_SOME, "read-only"},
    {data_refused, "data-refused", UNHEALTHY, GBE_PATIENCE_NONE, "newer etcd"},
    {start_limit, "start-limit", UNHEALTHY, GBE_PATIENCE_NONE, "etcd.service failed again"},
    {failed, "failed", UNHEALTHY, GBE_PATIENCE_SOME, "etcd.service has failed"},
    {expires_now, "certificate", UNTOLD, GBE_PATIENCE_SOME, "/c.crt, has expired"},
    {expired_in_1970, "certificate", UNTOLD, GBE_PATIENCE_SOME, "/c.crt, has expired"},
    {expired, "certificate", UNTOLD, GBE_PATIENCE_SOME, "cert of [etcd], /c.crt, has expired"},
    {in_1970, "clock", UNTOLD, GBE_PATIENCE_DEADLINE, "the clock says 1970-01-01 00:01 UTC"},
    {only_later, "clock", UNTOLD, GBE_PATIENCE_DEADLINE, "the clock says 2027-01-15 08:00 UTC"},
    {in_1970_without_tls, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {unreadable, "certificate", UNTOLD, GBE_PATIENCE_SOME, "/c.key, cannot be read"},
    {distrust, "no-trust", UNTOLD, GBE_PATIENCE_SOME, "alert certificate required"},
    {local, "bad-endpoint", UNTOLD, GBE_PATIENCE_SOME, "could not resolve host"},
    {foreign, "not-etcd", UNTOLD, GBE_PATIENCE_SOME, "endpoint="},
    {unimplemented, "not-etcd", UNTOLD, GBE_PATIENCE_SOME, "unknown service"},
    {forbidden, "not-allowed", UNTOLD, GBE_PATIENCE_SOME, "invalid auth token"},
    {defragmenting, "defragmenting", UNTOLD, GBE_PATIENCE_MORE, "defragmenting"},
    {defragmenting_writes, "defragmenting", UNTOLD, GBE_PATIENCE_MORE, "defragmenting"},
    {nobody_there, "wrong-endpoint", UNTOLD, GBE_PATIENCE_SOME, "endpoint="},
    {simple_service, "down", UNHEALTHY, GBE_PATIENCE_DEADLINE, "http://127.0.0.1:2379: refused"},
    {activating, "not-started", UNHEALTHY, GBE_PATIENCE_DEADLINE, "has not come up"},
    {inactive, "not-started", UNHEALTHY, GBE_PATIENCE_DEADLINE, "has not come up"},
    {refused, "down", UNHEALTHY, GBE_PATIENCE_DEADLINE, "does not answer"},
    {mute, "mute", UNHEALTHY, GBE_PATIENCE_DEADLINE, "in time"},
    {dropped, "broke-off", UNHEALTHY, GBE_PATIENCE_DEADLINE, "reset"},
    {denied, "broke-off", UNHEALTHY, GBE_PATIENCE_DEADLINE, "server stopped"},
    {elsewhere, "elsewhere", UNTOLD, GBE_PATIENCE_SOME, "does not have /var/lib/etcd open"},
    {elsewhere_on_trial, "elsewhere", UNTOLD, GBE_PATIENCE_SOME, "data-dir="},
    {elsewhere_since_update, "elsewhere-on-trial", UNHEALTHY, GBE_PATIENCE_SOME,
     "before the update"},
    {log_elsewhere, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {defragments, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {not_looked, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {other_cluster, "other-data", UNTOLD, GBE_PATIENCE_SOME, "other data than /var/lib/etcd"},
    {other_member, "other-data", UNTOLD, GBE_PATIENCE_SOME, "other data"},
    {same_data, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {no_quorum, "no-quorum", UNTOLD, GBE_PATIENCE_DEADLINE, "most members"},
    {no_leader, "no-leader", UNHEALTHY, GBE_PATIENCE_DEADLINE, "no leader"},
    {no_space, "no-space", UNTOLD, GBE_PATIENCE_NONE, "NOSPACE"},
    {no_space_unhealthy, "no-space-unhealthy", UNHEALTHY, GBE_PATIENCE_NONE, "NOSPACE"},
    {no_space_healthy, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {no_space_and_mute, "no-writes", UNHEALTHY, GBE_PATIENCE_DEADLINE, "late"},
    {other_alarm, "other-alarm", UNTOLD, GBE_PATIENCE_SOME, "alarm"},
    {no_writes, "no-writes", UNHEALTHY, GBE_PATIENCE_DEADLINE, "cannot write: etcdserver"},
    {no_consent, "no-consent", UNTOLD, GBE_PATIENCE_DEADLINE, "does not agree"},
    {no_reads, "no-reads", UNHEALTHY, GBE_PATIENCE_DEADLINE, "of its cluster: timed out"},
    {behind, "behind", UNHEALTHY, GBE_PATIENCE_NONE, "lost writes"},
    {learner, "healthy", HEALTHY, GBE_PATIENCE_NONE, "learner"},
    {with_passwords, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {starting_and_well, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    /* Only warnings. */
    {full_and_well, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {little_space, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {near_quota, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {near_expiry, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {others_expired, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
    {lagging, "healthy", HEALTHY, GBE_PATIENCE_NONE, "healthy"},
};

START_TEST(a_row)
{
	g_autoptr(GbeHealthFacts) facts = well();
	g_autoptr(GbeHealthReport) report = NULL;

	table[_i].change(facts);
	report = gbe_health_judge(facts);
	ck_assert_str_eq(report->cause, table[_i].cause);
	ck_assert_int_eq((int)report->health, (int)table[_i].health);
	ck_assert_int_eq((int)report->patience, (int)table[_i].patience);
	ck_assert_msg(strstr(report->reason, table[_i].says) != NULL, "%s", report->reason);
	ck_assert_msg(strpbrk(report->reason, "{}\n") == NULL, "%s", report->reason);
	ck_assert(report->health != GBE_HEALTH_HEALTHY || report->patience == GBE_PATIENCE_NONE);
}
END_TEST

/* A row of this table brings about every cause of the program's table. */
START_TEST(every_cause_has_a_row)
{
	const char *word;
	GbeHealth health;

	for (guint i = 0; (word = gbe_health_cause(i, &health)) != NULL; i++) {
		bool found = false;

		for (gsize row = 0; row < G_N_ELEMENTS(table); row++)
			found = found || strcmp(table[row].cause, word) == 0;
		ck_assert_msg(found, "no row for %s", word);
	}
}
END_TEST

/* The man page's table equals the program's. */
START_TEST(the_man_page_has_them)
{
	const char *top = g_getenv("TOP");
	g_autofree char *path =
	    g_build_filename(top != NULL ? top : ".", "data/man/greenboot-etcd.conf.5", NULL);
	g_autofree char *page = NULL;
	const char *word;
	GbeHealth health;

	ck_assert(g_file_get_contents(path, &page, NULL, NULL));
	for (guint i = 0; (word = gbe_health_cause(i, &health)) != NULL; i++) {
		/* "not-installed cannot-tell ...", with dashes as roff needs them. */
		g_auto(GStrv) parts = g_strsplit(word, "-", -1);
		g_autofree char *escaped = g_strjoinv("\\-", parts);
		g_auto(GStrv) verdict = g_strsplit(gbe_health_to_string(health), "-", -1);
		g_autofree char *said = g_strjoinv("\\-", verdict);
		g_autofree char *row = g_strdup_printf("\n.B %s\n.I %s\n", escaped, said);

		ck_assert_msg(strstr(page, row) != NULL, "no \".B %s\" with \".I %s\"", escaped,
			      said);
	}
}
END_TEST

START_TEST(asking_is_needed)
{
	static const Change without[] = {not_installed, masked, not_enabled, held, held_on_trial};

	for (gsize row = 0; row < G_N_ELEMENTS(table); row++) {
		g_autoptr(GbeHealthFacts) facts = well();
		bool needed = true;

		table[row].change(facts);
		for (gsize i = 0; i < G_N_ELEMENTS(without); i++)
			needed = needed && table[row].change != without[i];
		ck_assert_msg(gbe_health_needs_asking(facts) == needed, "%s", table[row].cause);
	}
}
END_TEST

static const struct {
	Change change;
	GbeCheckKind step;
	GbeCheckResult result;
	gint64 figure, limit;
} steps[] = {
    {none, GBE_CHECK_SERVICE, GBE_CHECK_PASSED, -1, -1},
    {none, GBE_CHECK_DISK, GBE_CHECK_PASSED, 50, 5},
    {none, GBE_CHECK_QUOTA, GBE_CHECK_PASSED, 2, 80},
    {none, GBE_CHECK_CERTIFICATES, GBE_CHECK_NOT_APPLICABLE, -1, -1},
    {none, GBE_CHECK_REVISION, GBE_CHECK_PASSED, 81203, -1},
    {none, GBE_CHECK_MEMBER, GBE_CHECK_PASSED, 1, -1},
    {none, GBE_CHECK_LAG, GBE_CHECK_PASSED, 0, 5000},
    {little_space, GBE_CHECK_DISK, GBE_CHECK_WARNING, 4, 5},
    {full_and_well, GBE_CHECK_DISK, GBE_CHECK_FAILED, 0, 5},
    {near_quota, GBE_CHECK_QUOTA, GBE_CHECK_WARNING, 80, 80},
    {near_expiry, GBE_CHECK_CERTIFICATES, GBE_CHECK_WARNING, 29, 30},
    {others_expired, GBE_CHECK_CERTIFICATES, GBE_CHECK_WARNING, 0, 30},
    {others_last, GBE_CHECK_CERTIFICATES, GBE_CHECK_PASSED, 31, 30},
    {expired, GBE_CHECK_CERTIFICATES, GBE_CHECK_FAILED, 0, 30},
    {in_1970, GBE_CHECK_CERTIFICATES, GBE_CHECK_WARNING, -1, 30},
    {in_1970_without_tls, GBE_CHECK_CERTIFICATES, GBE_CHECK_NOT_APPLICABLE, -1, -1},
    {only_later, GBE_CHECK_CERTIFICATES, GBE_CHECK_WARNING, -1, 30},
    {others_later, GBE_CHECK_CERTIFICATES, GBE_CHECK_WARNING, -1, -1},
    {unreadable, GBE_CHECK_CERTIFICATES, GBE_CHECK_FAILED, -1, 30},
    {lagging, GBE_CHECK_LAG, GBE_CHECK_WARNING, 1900, 5000},
    {behind, GBE_CHECK_REVISION, GBE_CHECK_FAILED, 81203, 81204},
    {other_member, GBE_CHECK_MEMBER, GBE_CHECK_FAILED, 1, -1},
    {learner, GBE_CHECK_MEMBER, GBE_CHECK_WARNING, 1, -1},
    {learner, GBE_CHECK_WRITE, GBE_CHECK_NOT_APPLICABLE, -1, -1},
    {no_writes, GBE_CHECK_WRITE, GBE_CHECK_FAILED, -1, -1},
    {no_writes, GBE_CHECK_READ, GBE_CHECK_PASSED, -1, -1},
    {no_space, GBE_CHECK_ALARMS, GBE_CHECK_FAILED, -1, -1},
    {no_space_healthy, GBE_CHECK_ALARMS, GBE_CHECK_WARNING, -1, -1},
    {refused, GBE_CHECK_REACHED, GBE_CHECK_FAILED, -1, -1},
    {refused, GBE_CHECK_LEADER, GBE_CHECK_NOT_APPLICABLE, -1, -1},
    {read_only, GBE_CHECK_DATA, GBE_CHECK_FAILED, -1, -1},
    {held, GBE_CHECK_SERVICE, GBE_CHECK_FAILED, -1, -1},
    {activating, GBE_CHECK_SERVICE, GBE_CHECK_WARNING, -1, -1},
};

START_TEST(a_step)
{
	g_autoptr(GbeHealthFacts) facts = well();
	g_autoptr(GbeHealthReport) report = NULL;
	const GbeCheck *step;

	steps[_i].change(facts);
	report = gbe_health_judge(facts);
	step = &report->steps[steps[_i].step];
	ck_assert_msg(step->result == steps[_i].result, "%s: %s: %s",
		      gbe_check_to_string(steps[_i].step), gbe_check_result_to_string(step->result),
		      step->detail);
	ck_assert_int_eq(step->figure, steps[_i].figure);
	ck_assert_int_eq(step->limit, steps[_i].limit);
	ck_assert(step->result == GBE_CHECK_NOT_APPLICABLE || step->detail != NULL);
}
END_TEST

/* With any facts unknown: no crash, and no verdict without a reason. */
START_TEST(nothing_is_known)
{
	g_autoptr(GbeHealthFacts) facts = gbe_health_facts_new();
	g_autoptr(GbeHealthReport) report = gbe_health_judge(facts);

	ck_assert_str_eq(report->cause, "bad-endpoint");
	ck_assert_int_eq((int)report->health, (int)GBE_HEALTH_CANNOT_TELL);
	for (guint i = 0; i < GBE_N_CHECKS; i++)
		ck_assert_int_eq((int)report->steps[i].result, (int)GBE_CHECK_NOT_APPLICABLE);
}
END_TEST

CHANGE(mute_and_activating, mute(f); f->service = GBE_SERVICE_ACTIVATING)

/* An answer that is late after a brief question says nothing of etcd. Every other cause stays. */
START_TEST(a_brief_question_is_not_blamed_on_etcd)
{
	static const struct {
		Change change;
		bool late;
	} cases[] = {{mute, true},	     {mute_and_activating, true},
		     {no_reads, true},	     {corrupt_and_mute, false},
		     {defragmenting, false}, {activating, false},
		     {dropped, false},	     {no_space_and_mute, true}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeHealthFacts) f = well();
		g_autoptr(GbeHealthReport) patient = NULL, brief = NULL;

		cases[i].change(f);
		patient = gbe_health_judge(f);
		ck_assert(!patient->late);
		f->brief = true;
		brief = gbe_health_judge(f);
		ck_assert_str_eq(brief->cause, patient->cause);
		ck_assert_msg(brief->late == cases[i].late, "%s", brief->cause);
		ck_assert_int_eq((int)brief->health, cases[i].late ? (int)GBE_HEALTH_CANNOT_TELL
								   : (int)patient->health);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-health");
	TCase *tests = tcase_create("health");

	tcase_add_loop_test(tests, a_row, 0, G_N_ELEMENTS(table));
	tcase_add_loop_test(tests, a_step, 0, G_N_ELEMENTS(steps));
	tcase_add_test(tests, every_cause_has_a_row);
	tcase_add_test(tests, the_man_page_has_them);
	tcase_add_test(tests, asking_is_needed);
	tcase_add_test(tests, nothing_is_known);
	tcase_add_test(tests, a_brief_question_is_not_blamed_on_etcd);
	suite_add_tcase(suite, tests);
	return gbe_unit_main(suite);
}
