/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The health of a real etcd that was started on damaged data (etcd.md, section 12). It is down, unable to write, or
 * healthy because it repairs or overlooks the damage. */
#include "etcd-real.h"

#include "core/health/health.h"
#include "etcd/api/client.h"

typedef struct {
	const char *name;
	const char *damage;	   /* for bash: $0 is the data directory */
	const char *word[N_ETCDS]; /* the cause, by version */
} Fault;

/* end FILE: prints where the log ends; only zeros follow. at FILE OFFSET: writes its input there. */
#define HELPERS                                                                                    \
	"cd $0/member\n"                                                                           \
	"end() { local last; last=$(grep -obUaP '[^\\0]' $1 | tail -n 1 | cut -d: -f1)\n"          \
	"	echo $((last / 8 * 8 + 8)); }\n"                                                         \
	"at() { dd of=$1 bs=1 seek=$2 conv=notrunc status=none; }\n"                               \
	"wal=$(echo wal/*.wal)\n"

#define BOTH(word)                                                                                 \
	{                                                                                          \
		word, word                                                                         \
	}

static const Fault faults[] = {
    {"none", "true", BOTH("healthy")},
    {"database cut", "truncate -s 12288 snap/db", BOTH("down")},
    {"database empty", ": >snap/db", BOTH("down")},
    {"database gone", "rm snap/db", BOTH("down")},
    {"database and .snap gone", "rm snap/*", BOTH("healthy")},
    {"one meta page bad", "head -c 64 /dev/zero | tr '\\0' x | at snap/db 16", BOTH("healthy")},
    {"both meta pages bad", "head -c 8192 /dev/zero | tr '\\0' x | at snap/db 0", BOTH("down")},
    {"a value changed",
     "printf N | at snap/db $(grep -obUa needle snap/db | head -n 1 | cut -d: -f1)",
     BOTH("healthy")},
    {"log, a record changed",
     "printf N | at $wal $(grep -obUa needle $wal | sed -n 300p | cut -d: -f1)", BOTH("down")},
    {"log cut in its last record", "truncate -s $(($(end $wal) - 20)) $wal", BOTH("healthy")},
    {"log cut in its middle", "truncate -s $(($(end $wal) / 2)) $wal", BOTH("no-writes")},
    {"log ends in other bytes",
     "head -c 64 /dev/zero | tr '\\0' '\\1' | at $wal $(end $wal)",
     {"down", "healthy"}},
    {"log, bytes after a gap",
     "head -c 64 /dev/zero | tr '\\0' '\\1' | at $wal $(($(end $wal) + 4096))", BOTH("healthy")},
    {"log empty", ": >$wal", BOTH("down")},
    {"log gone", "rm $wal", BOTH("no-writes")},
    {"newest .snap bad", "echo nonsense >$(ls snap/*.snap | tail -n 1)", BOTH("healthy")},
    {"every .snap gone", "rm snap/*.snap", BOTH("healthy")},
    {"what a crash leaves", "echo x >snap/db.tmp.123; echo x >wal/0.tmp", BOTH("healthy")},
};

/* Some snapshots, and a log that continues after the last one. */
static void
make_base(const char *data)
{
	const char *const options[] = {"--snapshot-count=50", NULL};
	g_autofree char *url = NULL;
	Etcd etcd;

	etcd_spawn(&etcd, data, NULL, options);
	etcd_wait_until_healthy(&etcd);
	url = g_strconcat(etcd.endpoint, "/v3/kv/put?n=[1-330]", NULL);
	/* "k", "needle" and more of it: one request for each number, over one connection. */
	ck_assert_int_eq(RUN("curl", "-sf", "-o", "/dev/null", "-d",
			     "{\"key\":\"aw==\",\"value\":\"bmVlZGxlbmVlZGxlbmVlZGxl\"}", url),
			 0);
	etcd_end(&etcd, SIGTERM);
}

/* Asks until the cause is @word, or etcd has ended. */
static void
look_until(const Etcd *etcd, const char *word, const char *fault)
{
	GbeEndpoint endpoint = {.endpoint = etcd->endpoint};
	g_autoptr(GbeHealthFacts) facts = gbe_health_facts_new();
	g_autoptr(GbeHealthReport) report = NULL;
	g_autoptr(GbeClient) client = NULL;
	bool ended = false;

	for (guint try = 0; try < 60 && !ended; try++) {
		siginfo_t info = {0};

		ck_assert_int_eq(waitid(P_PID, (id_t)etcd->pid, &info, WEXITED | WNOHANG | WNOWAIT),
				 0);
		ended = info.si_pid == etcd->pid;
		gbe_health_facts_reset(facts);
		gbe_health_inquire(&endpoint, g_get_monotonic_time() + 1500 * 1000, &client, facts);
		gbe_health_report_free(report);
		report = gbe_health_judge(facts);
		/* etcd is also down in the beginning. */
		if (strcmp(report->cause, word) == 0 && (ended || strcmp(word, "down") != 0))
			return;
		g_usleep(50 * 1000);
	}
	ck_abort_msg("%s, %s: %s and not %s: %s", etcd_program, fault, report->cause, word,
		     report->reason);
}

START_TEST(of_data_that_is_damaged)
{
	g_autofree char *base = root_path("base");
	g_autofree char *data = root_path("data");

	if (!have_etcd_of("of-damaged-data", _i))
		return;
	make_base(base);
	for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
		g_autofree char *script = g_strconcat(HELPERS, faults[i].damage, NULL);
		Etcd etcd;

		ck_assert_int_eq(RUN("rm", "-rf", "--", data), 0);
		ck_assert_int_eq(RUN("cp", "-a", "--sparse=always", "--", base, data), 0);
		ck_assert_msg(RUN("bash", "-euc", script, data) == 0, "%s", faults[i].name);
		etcd_spawn(&etcd, data, NULL, NULL);
		look_until(&etcd, faults[i].word[_i], faults[i].name);
		etcd_end(&etcd, SIGKILL);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-health-faults");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 240);
	tcase_add_loop_test(files, of_data_that_is_damaged, 0, N_ETCDS);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
