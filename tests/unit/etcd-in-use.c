/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A real etcd: what it locks and when, and that our lock keeps it out without harm. */
#include "etcd-real.h"

#include <sys/file.h>

#include "etcd/directory/member.h"

#define SEGMENT "0000000000000000-0000000000000000.wal"

static char *data;
static int data_fd = -1;

static void
setup(void)
{
	root_setup();
	root_mkdir("data");
	data = root_path("data");
	ck_assert_int_eq(chmod(data, 0700), 0);
	data_fd = open_dir(data);
}

static void
teardown(void)
{
	gbe_close_fd(&data_fd);
	g_clear_pointer(&data, g_free);
	root_teardown();
}

static GbeTri
ask(void)
{
	g_autoptr(GError) error = NULL;
	GbeTri used = gbe_in_use(data_fd, "", -1, NULL, &error);

	ck_assert_msg((used == GBE_UNKNOWN) == (error != NULL), "%u", (guint)used);
	return used;
}

START_TEST(nothing_there)
{
	int lock = 5;

	ck_assert_int_eq(ask(), GBE_NO);
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, NULL), GBE_NO);
	ck_assert_int_eq(lock, -1);
	root_write("data/member/wal/" SEGMENT, "");
	lock = 5;
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, NULL), GBE_NO);
	ck_assert_int_eq(lock, -1);
}
END_TEST

START_TEST(running_and_not)
{
	Etcd etcd;

	if (!have_etcd("running-and-not"))
		return;
	etcd_start(&etcd, data);
	ck_assert_int_eq(ask(), GBE_YES);
	/* A query does no harm. */
	for (guint i = 0; i < 20; i++)
		ck_assert_int_eq(ask(), GBE_YES);
	etcd_put(&etcd, "still", "writes");
	etcd_end(&etcd, SIGTERM);
	ck_assert_int_eq(ask(), GBE_NO);
	/* The kernel drops a dead process's locks. */
	etcd_start(&etcd, data);
	etcd_end(&etcd, SIGKILL);
	ck_assert_int_eq(ask(), GBE_NO);
}
END_TEST

/* Each of the two locks is enough. db's is free for a moment during a defragmentation, and the WAL's is missing
 * right after etcd's start. */
START_TEST(either_lock_is_enough)
{
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	g_autofree char *away = g_build_filename(data, "member/snap/away", NULL);
	g_autofree char *segment = g_build_filename(data, "member/wal", SEGMENT, NULL);
	int fd;
	Etcd etcd;

	if (!have_etcd("either-lock-is-enough"))
		return;
	etcd_start(&etcd, data);
	ck_assert_int_eq(rename(db, away), 0);
	ck_assert(g_file_set_contents(db, "another file", -1, NULL));
	ck_assert_int_eq(ask(), GBE_YES);
	ck_assert_int_eq(unlink(db), 0);
	ck_assert_int_eq(ask(), GBE_YES);
	ck_assert_int_eq(rename(away, db), 0);
	ck_assert_int_eq(unlink(segment), 0);
	ck_assert_int_eq(ask(), GBE_YES);
	etcd_end(&etcd, SIGKILL);
	ck_assert_int_eq(ask(), GBE_NO);
	/* Only db's lock, held by another process. */
	fd = open(db, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(ask(), GBE_YES);
	(void)close(fd);
	ck_assert_int_eq(ask(), GBE_NO);
}
END_TEST

START_TEST(our_lock_makes_etcd_wait)
{
	int lock = -1;
	Etcd etcd;

	if (!have_etcd("our-lock-makes-etcd-wait"))
		return;
	etcd_start(&etcd, data);
	etcd_put(&etcd, "a", "b");
	etcd_end(&etcd, SIGTERM);
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, NULL), GBE_NO);
	ck_assert_int_ge(lock, 0);
	/* While we hold it, another process of ours gets the answer yes. */
	ck_assert_int_eq(ask(), GBE_YES);
	etcd_spawn(&etcd, data, NULL, NULL);
	g_usleep(1500 * 1000);
	ck_assert(!etcd_answers(&etcd));
	gbe_close_fd(&lock);
	etcd_wait_until_healthy(&etcd);
	etcd_put(&etcd, "a", "c");
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(who_only_asks_is_not_etcd)
{
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	int shared;
	int lock = -1;
	pid_t pid;
	int status = 0;

	root_write("data/member/snap/db", "");
	shared = open(db, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(shared, LOCK_SH), 0);
	ck_assert_int_eq(ask(), GBE_NO);
	(void)close(shared);
	/* A short query of another process: our query for the lock waits for it. */
	pid = fork();
	if (pid == 0) {
		int fd = open(db, O_RDONLY | O_CLOEXEC);

		(void)flock(fd, LOCK_SH);
		g_usleep(80 * 1000);
		_exit(0);
	}
	g_usleep(20 * 1000);
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, NULL), GBE_NO);
	ck_assert_int_ge(lock, 0);
	(void)close(lock);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
END_TEST

/* During a defragmentation db is replaced again and again: it must never look unused. */
START_TEST(during_defragmentation)
{
	g_autofree char *endpoints = NULL;
	g_autofree char *filler = g_malloc0(60 * 1024 + 1);
	g_autofree char *script = NULL;
	guint asked = 0;
	int status = 0;
	pid_t pid;
	Etcd etcd;

	if (!have_etcd("during-defragmentation"))
		return;
	etcd_start(&etcd, data);
	memset(filler, 'x', 60 * 1024);
	for (guint i = 0; i < 20; i++) {
		g_autofree char *key = g_strdup_printf("k%u", i);

		etcd_put(&etcd, key, filler);
	}
	endpoints = g_strconcat("--endpoints=", etcd.endpoint, NULL);
	script = g_strdup_printf("for i in $(seq 15); do etcdctl %s defrag >/dev/null 2>&1; done",
				 endpoints);
	pid = fork();
	if (pid == 0) {
		(void)execlp("bash", "bash", "-c", script, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		int lock = -1;

		ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, NULL), GBE_YES);
		asked++;
	}
	ck_assert_int_eq(status, 0);
	ck_assert_uint_gt(asked, 20);
	etcd_put(&etcd, "and", "unharmed");
	etcd_end(&etcd, SIGTERM);
}
END_TEST

START_TEST(a_wal_directory_of_its_own)
{
	g_autofree char *wal = root_path("wal");
	g_autofree char *option = g_strconcat("--wal-dir=", wal, NULL);
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	const char *const options[] = {option, NULL};
	int wal_fd;
	int lock = -1;
	Etcd etcd;

	if (!have_etcd("a-wal-directory-of-its-own"))
		return;
	etcd_spawn(&etcd, data, NULL, options);
	etcd_wait_until_healthy(&etcd);
	wal_fd = open_dir(wal);
	ck_assert_int_eq(gbe_in_use(data_fd, "", wal_fd, &lock, NULL), GBE_YES);
	ck_assert_int_eq(unlink(db), 0);
	ck_assert_int_eq(gbe_in_use(data_fd, "", wal_fd, &lock, NULL), GBE_YES);
	ck_assert_int_eq(lock, -1);
	etcd_end(&etcd, SIGKILL);
	ck_assert_int_eq(gbe_in_use(data_fd, "", wal_fd, &lock, NULL), GBE_NO);
	(void)close(wal_fd);
}
END_TEST

START_TEST(undetermined)
{
	g_autoptr(GError) link = NULL;
	g_autoptr(GError) fifo = NULL;
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	int lock = 5;

	root_write("data/elsewhere", "");
	root_link("data/member/snap/db", "../../elsewhere");
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, &link), GBE_UNKNOWN);
	ck_assert_error(link, GBE_ERROR_UNSAFE_SOURCE);
	ck_assert_int_eq(unlink(db), 0);
	ck_assert_int_eq(mkfifo(db, 0600), 0);
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, &fifo), GBE_UNKNOWN);
	ck_assert_error(fifo, GBE_ERROR_UNSAFE_SOURCE);
	ck_assert_int_eq(lock, 5);
}
END_TEST

/* The directory's owner can make a name that sorts as the newest: it is no segment, and db has its own lock. */
START_TEST(newest_segment_is_not_a_segment)
{
	g_autoptr(GError) error = NULL;
	int lock = -1;

	root_write("data/member/snap/db", "x");
	root_link("data/member/wal/ffffffffffffffff-ffffffffffffffff.wal", "/dev/zero");
	ck_assert_int_eq(gbe_in_use(data_fd, "", -1, &lock, &error), GBE_NO);
	ck_assert_int_ge(lock, 0);
	(void)close(lock);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-in-use");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, setup, teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, nothing_there);
	tcase_add_test(files, running_and_not);
	tcase_add_test(files, either_lock_is_enough);
	tcase_add_test(files, our_lock_makes_etcd_wait);
	tcase_add_test(files, who_only_asks_is_not_etcd);
	tcase_add_test(files, during_defragmentation);
	tcase_add_test(files, a_wal_directory_of_its_own);
	tcase_add_test(files, undetermined);
	tcase_add_test(files, newest_segment_is_not_a_segment);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
