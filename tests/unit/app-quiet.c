/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits for the processes that have the data open: a real etcd, and processes that only hold a lock. */
#include "etcd-real.h"

#include <sys/file.h>

#include "app/backups/data.h"
#include "sys/systemd/events.h"

#define DATA "var/lib/etcd"
#define DB DATA "/member/snap/db"
#define SEGMENT DATA "/member/wal/0000000000000000-0000000000000000.wal"

static GbeApp *app;
static guint progressed;

static void
count(guint64 bytes, gpointer user_data)
{
	progressed++;
}

static void
setup(void)
{
	g_autofree char *data = NULL;

	root_setup();
	gbe_events_init("test", true, true, 0);
	root_mkdir(DATA);
	data = root_path(DATA);
	ck_assert_int_eq(chmod(data, 0700), 0);
	ck_assert(gbe_app_new("test", root, &app, NULL));
	app->configured = true;
	app->progress = count;
	progressed = 0;
}

static void
teardown(void)
{
	g_clear_pointer(&app, gbe_app_free);
	root_teardown();
}

/* NULL: the data is closed. Otherwise the reason, newly allocated. */
static char *
wait_closed(guint seconds, gint64 *ret_usec)
{
	gint64 began = g_get_monotonic_time();
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert(gbe_data_open(app, &data, NULL));
	if (gbe_data_wait_closed(app, data, seconds, &error))
		ck_assert_ptr_null(error);
	else
		ck_assert_error(error, GBE_ERROR_BUSY);
	*ret_usec = g_get_monotonic_time() - began;
	return error != NULL ? g_strdup(error->message) : NULL;
}

/* A process of another user, or of this one, that holds a lock on @path for so long. */
static pid_t
hold(const char *path, bool record, guint milliseconds)
{
	g_autofree char *file = root_path(path);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ends[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(file, O_RDWR | O_CLOEXEC);

		(void)prctl(PR_SET_NAME, "not\netcd");
		if (record ? fcntl(fd, F_SETLK, &lock) == 0 : flock(fd, LOCK_EX) == 0)
			(void)!write(ends[1], "x", 1);
		if (milliseconds > 0)
			g_usleep(milliseconds * 1000UL);
		else
			(void)pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return pid;
}

static void
end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(no_user)
{
	gint64 usec;

	ck_assert_ptr_null(wait_closed(30, &usec));
	root_write(DB, "");
	ck_assert_ptr_null(wait_closed(30, &usec));
	ck_assert_int_lt(usec, G_USEC_PER_SEC);
	ck_assert_uint_eq(progressed, 0);
}
END_TEST

/* Every process that may read the database may lock it. It chooses its own name. */
START_TEST(another_user)
{
	static const char *const locked[] = {DB, SEGMENT};
	g_autofree char *expected = NULL;
	g_autofree char *why = NULL;
	gint64 usec;
	pid_t pid;

	root_write(DB, "");
	root_write(SEGMENT, "");
	pid = hold(locked[_i], _i == 1, 0);
	why = wait_closed(1, &usec);
	expected = g_strdup_printf("(pid %d", (int)pid);
	ck_assert_ptr_nonnull(why);
	ck_assert_msg(g_str_has_prefix(why, "not") && strstr(why, expected) != NULL &&
			  strstr(why, "still has /var/lib/etcd open after 1 s") != NULL &&
			  strchr(why, '\n') == NULL,
		      "%s", why);
	ck_assert_int_ge(usec, G_USEC_PER_SEC);
	ck_assert_int_lt(usec, 5 * G_USEC_PER_SEC);
	ck_assert_uint_ge(progressed, 2);
	end(pid);
	ck_assert_ptr_null(wait_closed(0, &usec));
}
END_TEST

START_TEST(goes_in_time)
{
	gint64 usec;
	pid_t pid;

	root_write(DB, "");
	pid = hold(DB, false, 1500);
	ck_assert_ptr_null(wait_closed(30, &usec));
	ck_assert_int_ge(usec, G_USEC_PER_SEC);
	ck_assert_int_lt(usec, 10 * G_USEC_PER_SEC);
	end(pid);
}
END_TEST

START_TEST(undetermined)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;

	root_write(DATA "/elsewhere", "");
	root_link(DB, "../../elsewhere");
	ck_assert(gbe_data_open(app, &data, NULL));
	ck_assert(!gbe_data_wait_closed(app, data, 30, &error));
	ck_assert_error(error, GBE_ERROR_UNSAFE_SOURCE);
	ck_assert_ptr_nonnull(strstr(error->message, "/var/lib/etcd"));
}
END_TEST

START_TEST(etcd_itself)
{
	g_autofree char *path = root_path(DATA);
	g_autofree char *expected = NULL;
	g_autofree char *holder = NULL;
	g_autoptr(GbeData) data = NULL;
	gint64 usec;
	Etcd etcd;

	if (!have_etcd("etcd-itself"))
		return;
	etcd_start(&etcd, path);
	ck_assert(gbe_data_open(app, &data, NULL));
	holder = gbe_data_holder(data);
	expected = g_strdup_printf("etcd (pid %d", (int)etcd.pid);
	ck_assert_msg(g_str_has_prefix(holder, expected), "%s", holder);
	etcd_end(&etcd, SIGTERM);
	ck_assert_ptr_null(wait_closed(0, &usec));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-quiet");
	TCase *tcase = tcase_create("quiet");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, no_user);
	tcase_add_loop_test(tcase, another_user, 0, 2);
	tcase_add_test(tcase, goes_in_time);
	tcase_add_test(tcase, undetermined);
	tcase_add_test(tcase, etcd_itself);
	return scratch_main(suite);
}
