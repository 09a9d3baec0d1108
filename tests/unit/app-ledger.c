/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger's file, damaged in each way: cut, mangled, empty, missing, written by a later version, far too long, or
 * replaced by something else. Also a full and a read-only disk. Intact records stay known, and lost ones are unknown.
 * The message names the file and the line. The next append works, and its record is there when the file is read again.
 */
#include "app/state/ledger.h"

#include <sys/resource.h>

#include "app/state/state.h"
#include "base/crc32c.h"
#include "core/decide/past.h"
#include "core/json/parse.h"
#include "sys-root.h"
#include "sys/systemd/events.h"

#define A "test-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.0"
#define RUN_ID "0123456789abcdef0123456789abcdef"
#define STATE "var/lib/greenboot-etcd"
#define LEDGER STATE "/ledger"
#define SAID "said"
#define MIB ((gsize)1024 * 1024)

static GbeApp *app;

static void
open_app(void)
{
	g_clear_pointer(&app, gbe_app_free);
	ck_assert(gbe_app_new("test", root, &app, NULL));
}

static void
setup(void)
{
	root_setup();
	gbe_events_init("test", true, true, 0);
	open_app();
	ck_assert(gbe_app_lock(app, "test", 0, NULL));
}

static void
teardown(void)
{
	g_clear_pointer(&app, gbe_app_free);
	root_teardown();
}

/* Like the next program: takes the lock and reads the file again. */
static void
again(void)
{
	open_app();
	ck_assert(gbe_app_lock(app, "test", 0, NULL));
}

/* Captures stderr in SAID from here on. */
static void
listen_in(void)
{
	g_autofree char *path = root_path(SAID);
	gbe_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	gbe_events_init("test", true, false, 0);
	(void)fflush(stderr);
	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
}

static void
check_said(const char *what)
{
	g_autofree char *path = root_path(SAID);
	g_autofree char *text = NULL;

	(void)fflush(stderr);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_msg(strstr(text, what) != NULL, "\"%s\" is not in: %s", what, text);
}

static GString *
read_file(void)
{
	g_autofree char *path = root_path(LEDGER);
	g_autofree char *bytes = NULL;
	gsize size = 0;

	ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
	return g_string_new_len(bytes, (gssize)size);
}

static void
write_file(const GString *text)
{
	root_write_bytes(LEDGER, text->str, text->len);
}

static bool
take_over(guint64 sequence, GError **error)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();

	t->deployment.id = g_strdup(A);
	t->run = g_strdup(RUN_ID);
	t->sequence = sequence;
	return gbe_state_take_over(app, t, GBE_WRITE_DURABLE, error);
}

static GbeFacts *
observe(void)
{
	GbeFacts *facts = gbe_facts_new();

	gbe_state_observe(app, facts);
	return facts;
}

/* A head (1), a take-over (2), its use (3), and its end (4). */
static void
begin(void)
{
	ck_assert(take_over(2, NULL));
	ck_assert(gbe_state_note_used(app, 2, NULL));
	ck_assert(gbe_state_end_start(app, A, 2, false, false, NULL, NULL));
}

/* Appends, and reads all of it back. */
static void
check_append(void)
{
	guint64 sequence;
	g_autoptr(GbeFacts) before = observe(), after = NULL;
	g_autoptr(GError) error = NULL;
	bool ok;

	sequence = before->next_sequence;
	ok = take_over(sequence, &error);
	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	again();
	after = observe();
	ck_assert_uint_eq(after->take_overs->len, before->take_overs->len + 1);
	ck_assert_uint_ge(after->ledger_last, sequence);
	ck_assert(!after->lost);
	if (before->ledger_id != NULL)
		ck_assert_str_eq(after->ledger_id, before->ledger_id);
}

START_TEST(begins)
{
	g_autoptr(GbeFacts) none = observe(), facts = NULL;
	g_autoptr(GString) text = NULL;
	g_autofree char *path = root_path(LEDGER);
	struct stat st;

	ck_assert_int_eq(none->ledger, GBE_NO);
	begin();
	again();
	facts = observe();
	ck_assert_int_eq(facts->ledger, GBE_YES);
	ck_assert_uint_eq(strlen(facts->ledger_id), 16);
	ck_assert_uint_eq(facts->ledger_last, 4);
	ck_assert(((GbeTakeOver *)facts->take_overs->pdata[0])->used_beyond);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	text = read_file();
	ck_assert_ptr_nonnull(strstr(text->str, "\"kind\":\"ledger\""));
	check_append();
}
END_TEST

START_TEST(no_lock_no_record)
{
	g_autoptr(GError) error = NULL;

	gbe_app_unlock(app);
	ck_assert(!take_over(2, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY));
}
END_TEST

/* Wherever a power cut ends the file: whole lines count, the next append cuts off the rest. */
START_TEST(cut_anywhere)
{
	g_autoptr(GString) whole = NULL;

	begin();
	whole = read_file();
	for (gsize size = whole->len; size-- > 0;) {
		g_autoptr(GString) part = g_string_new_len(whole->str, (gssize)size);
		g_autoptr(GString) after = NULL;
		g_autoptr(GbeFacts) facts = NULL;
		guint lines = 0;

		for (gsize i = 0; i < size; i++)
			lines += part->str[i] == '\n';
		write_file(part);
		again();
		facts = observe();
		ck_assert(!facts->holes);
		ck_assert_uint_eq(facts->take_overs->len, lines >= 2);
		ck_assert_uint_eq(facts->ledger_last, lines);
		check_append();
		after = read_file();
		ck_assert(g_str_has_suffix(after->str, "\n"));
	}
}
END_TEST

START_TEST(a_tail_of_zeros)
{
	g_autoptr(GString) text = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	begin();
	text = read_file();
	for (guint i = 0; i < 5000; i++)
		g_string_append_c(text, '\0');
	write_file(text);
	again();
	facts = observe();
	ck_assert(!facts->holes);
	ck_assert_uint_eq(facts->take_overs->len, 1);
	check_append();
	g_string_free(g_steal_pointer(&text), true);
	text = read_file();
	ck_assert_uint_eq(strlen(text->str), text->len);
}
END_TEST

/* Each bit of each line in turn: that line becomes a hole, the others stay. */
START_TEST(mangled_in_the_middle)
{
	g_autoptr(GString) whole = NULL;

	begin();
	whole = read_file();
	for (gsize i = 0; i < whole->len; i += 7) {
		g_autoptr(GString) text = g_string_new_len(whole->str, (gssize)whole->len);
		g_autoptr(GbeFacts) facts = NULL;

		/* Another test joins or splits lines. */
		if (text->str[i] == '\n' || (text->str[i] ^ 4) == '\n')
			continue;
		text->str[i] ^= 4;
		write_file(text);
		again();
		facts = observe();
		ck_assert_msg(facts->holes, "byte %zu", i);
		ck_assert_uint_le(facts->take_overs->len, 1);
	}
	write_file(whole);
	again();
	check_append();
}
END_TEST

START_TEST(a_mangled_line_is_named)
{
	g_autoptr(GString) text = NULL;
	g_autoptr(GbeFacts) facts = NULL;
	char *used;

	begin();
	text = read_file();
	used = strstr(text->str, "\"kind\":\"used\"");
	used[1] = 'K';
	write_file(text);
	listen_in();
	again();
	facts = observe();
	check_said("/var/lib/greenboot-etcd/ledger, line 3: its checksum does not match");
	/* The take-over before it is known. The present owner of the data is unknown, because that line may have
	 * named it. */
	ck_assert_uint_eq(facts->take_overs->len, 1);
	ck_assert(facts->holes && facts->lost);
	facts->data = GBE_YES;
	gbe_identify(facts);
	ck_assert_ptr_null(facts->owner);
	check_append();
}
END_TEST

START_TEST(a_lost_newline)
{
	g_autoptr(GString) text = NULL;
	g_autoptr(GbeFacts) facts = NULL;
	char *newline;

	begin();
	text = read_file();
	newline = strchr(text->str, '\n');
	*newline = ' ';
	write_file(text);
	again();
	facts = observe();
	ck_assert(facts->holes);
	ck_assert_uint_eq(facts->take_overs->len, 0);
	check_append();
}
END_TEST

START_TEST(empty_and_gone)
{
	g_autoptr(GbeFacts) empty = NULL, gone = NULL;

	begin();
	root_write(LEDGER, "");
	again();
	empty = observe();
	ck_assert_int_eq(empty->ledger, GBE_NO);
	ck_assert_uint_eq(empty->take_overs->len, 0);
	check_append();
	root_remove(STATE);
	again();
	gone = observe();
	ck_assert_int_eq(gone->ledger, GBE_NO);
	check_append();
}
END_TEST

static void
append_json(GString *text, const char *json)
{
	g_string_append_printf(text, "%08x %s\n", gbe_crc32c(0, json, strlen(json)), json);
}

START_TEST(of_tomorrow)
{
	g_autoptr(GString) text = g_string_new(NULL), after = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	append_json(text, "{\"sequence\":1,\"kind\":\"ledger\",\"id\":\"00112233445566aa\","
			  "\"format\":9,\"written_by\":\"9.0\",\"mood\":[]}");
	append_json(text, "{\"sequence\":2,\"kind\":\"dream\",\"of\":1}");
	append_json(text, "{\"sequence\":3,\"kind\":\"take-over\",\"deployment\":{\"id\":\"" A "\","
			  "\"planet\":3},\"run\":null,\"mood\":\"fine\"}");
	write_file(text);
	again();
	facts = observe();
	ck_assert(!facts->holes);
	ck_assert_str_eq(facts->ledger_id, "00112233445566aa");
	ck_assert_uint_eq(facts->take_overs->len, 1);
	check_append();
	after = read_file();
	ck_assert(g_str_has_prefix(after->str, text->str));
}
END_TEST

static glong
peak_kib(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

/* Not with sanitizers, which keep freed memory. */
static void
check_cost(gint64 began, glong before)
{
#if !defined(__SANITIZE_ADDRESS__)
	ck_assert_int_lt(peak_kib() - before, 160 * 1024);
#endif
	ck_assert_int_lt(g_get_monotonic_time() - began, 60 * G_USEC_PER_SEC);
}

START_TEST(hundred_megabytes_of_lines)
{
	g_autoptr(GString) text = NULL;
	g_autoptr(GbeFacts) facts = NULL;
	g_autofree char *path = root_path(LEDGER);
	gbe_autofd int fd = -1;
	glong before;
	gint64 began;

	begin();
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	text = g_string_new(NULL);
	for (guint64 size = 0, i = 5; size < 100 * MIB; i++) {
		g_autofree char *json =
		    g_strdup_printf("{\"sequence\":%" G_GUINT64_FORMAT
				    ",\"kind\":\"take-over\",\"deployment\":{\"id\":\"" A
				    "\"},\"run\":\"" RUN_ID "\",\"trial\":{\"on\":false}}",
				    i);

		append_json(text, json);
		if (text->len < MIB)
			continue;
		ck_assert_int_eq(write(fd, text->str, text->len), (ssize_t)text->len);
		size += text->len;
		(void)g_string_truncate(text, 0);
	}
	before = peak_kib();
	began = g_get_monotonic_time();
	again();
	facts = observe();
	check_cost(began, before);
	ck_assert(facts->holes && !facts->lost);
	ck_assert_uint_gt(facts->take_overs->len, 32);
	ck_assert(take_over(facts->next_sequence, NULL));
}
END_TEST

START_TEST(hundred_megabytes_of_garbage)
{
	g_autofree char *path = root_path(LEDGER);
	g_autofree char *block = g_malloc(MIB);
	g_autoptr(GbeFacts) facts = NULL;
	gbe_autofd int fd = -1;
	glong before;
	gint64 began;
	struct stat st;

	begin();
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	for (gsize i = 0; i < MIB; i++)
		block[i] = (char)(11 + i * 7919 % 200);
	for (guint i = 0; i < 100; i++)
		ck_assert_int_eq(write(fd, block, MIB), (ssize_t)MIB);
	before = peak_kib();
	began = g_get_monotonic_time();
	again();
	facts = observe();
	check_cost(began, before);
	/* A part without a line end is no record: a torn tail of any length. */
	ck_assert(!facts->holes);
	ck_assert_uint_eq(facts->take_overs->len, 1);
	check_append();
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_lt(st.st_size, 4096);
}
END_TEST

/* Lines of garbage are one hole, and reported once. */
START_TEST(a_million_holes)
{
	g_autoptr(GString) text = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	begin();
	text = read_file();
	for (guint i = 0; i < 1000000; i++)
		g_string_append(text, "x\n");
	write_file(text);
	listen_in();
	again();
	facts = observe();
	check_said("line 5: not a record; what it said is not known; 1000000 lines are such");
	ck_assert(facts->holes && facts->lost);
	check_append();
}
END_TEST

START_TEST(too_long_a_line_is_not_written)
{
	g_autofree char *reason = g_strnfill(2 * MIB, 'x');
	g_autoptr(GError) error = NULL;

	begin();
	ck_assert(!gbe_state_carry_failure(app, "backup", reason, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "ledger"));
	check_append();
}
END_TEST

/* A file system of the test's own at the state directory. */
static bool
mount_state(const char *test, const char *options)
{
	g_autofree char *path = root_path(STATE);

	gbe_app_unlock(app);
	g_clear_pointer(&app, gbe_app_free);
	if (!have_root(test))
		return false;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", path, "tmpfs", 0, options) < 0) {
		gbe_unit_skip(test, "cannot mount here");
		return false;
	}
	again();
	return true;
}

static void
fill_state(void)
{
	g_autofree char *path = root_path(STATE "/filler");
	gbe_autofd int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char block[4096] = {0};

	while (write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
		continue;
}

/* A start needs room in the middle: the reserve is given back. */
START_TEST(a_full_disk)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GError) error = NULL;
	guint records = 0;

	if (!mount_state("a_full_disk", "size=4m"))
		return;
	begin();
	gbe_app_unlock(app);
	ck_assert(gbe_app_lock(app, "test", 0, NULL));
	fill_state();
	while (records < 100000 && gbe_state_note_used(app, 2, &error))
		records++;
	/* A block was left at the end of the file; records beyond it use the reserve's room. */
	ck_assert_uint_gt(records, 1000);
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_NO_SPACE));
	ck_assert_ptr_nonnull(strstr(error->message, "/var/lib/greenboot-etcd/ledger"));
	again();
	facts = observe();
	ck_assert(!facts->holes);
	ck_assert_uint_eq(facts->ledger_last, 4 + records);
	root_remove(STATE "/filler");
	check_append();
}
END_TEST

START_TEST(a_read_only_disk)
{
	g_autofree char *path = root_path(STATE);
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GError) error = NULL;

	if (!mount_state("a_read_only_disk", "size=4m"))
		return;
	begin();
	g_clear_pointer(&app, gbe_app_free);
	ck_assert_int_eq(mount("none", path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	open_app();
	facts = observe();
	ck_assert_uint_eq(facts->take_overs->len, 1);
	ck_assert(!gbe_app_lock(app, "test", 0, &error) || !take_over(9, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "Read-only file system"));
	ck_assert_int_eq(mount("none", path, NULL, MS_REMOUNT | MS_BIND, NULL), 0);
	again();
	check_append();
}
END_TEST

/* A directory, a FIFO, a symbolic link, a device. */
START_TEST(replaced_by_something_else)
{
	g_autofree char *path = root_path(LEDGER), *kept = root_path(LEDGER ".broken-1");
	g_autoptr(GbeFacts) facts = NULL;
	struct stat st;

	begin();
	root_remove(LEDGER);
	if (_i == 0)
		root_mkdir(LEDGER "/full");
	else if (_i == 1)
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	else if (_i == 2)
		root_link(LEDGER, "/dev/zero");
	else if (mknod(path, S_IFCHR | 0600, 0x0105) < 0) {
		gbe_unit_skip("replaced_by_something_else", "cannot make a device here");
		return;
	}
	again();
	facts = observe();
	ck_assert_int_eq(facts->ledger, GBE_UNKNOWN);
	ck_assert_str_eq(facts->ledger_why, "/var/lib/greenboot-etcd/ledger is no regular file");
	facts->data = GBE_YES;
	gbe_identify(facts);
	ck_assert_ptr_null(facts->owner);
	/* A writer sets it aside, and starts a new one. */
	listen_in();
	ck_assert(take_over(2, NULL));
	check_said("is no regular file");
	ck_assert_int_eq(lstat(kept, &st), 0);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	again();
	check_append();
}
END_TEST

/* One holds the lock; the other waits or is refused, and no record of either is lost. */
START_TEST(a_second_program_at_once)
{
	g_autoptr(GbeFacts) facts = NULL;
	pid_t pids[4];

	begin();
	gbe_app_unlock(app);
	g_clear_pointer(&app, gbe_app_free);
	for (guint i = 0; i < G_N_ELEMENTS(pids); i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		for (guint n = 0; n < 25; n++) {
			open_app();
			if (!gbe_app_lock(app, "other", 60000, NULL) ||
			    !gbe_state_note_used(app, 2, NULL))
				_exit(1);
			g_clear_pointer(&app, gbe_app_free);
		}
		_exit(0);
	}
	for (guint i = 0; i < G_N_ELEMENTS(pids); i++) {
		int status = -1;

		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(status, 0);
	}
	again();
	facts = observe();
	ck_assert_uint_eq(facts->ledger_last, 4 + 100);
	check_append();
}
END_TEST

static const struct {
	const char *fault;
	bool there; /* the record is in the file anyway */
} faults[] = {
    {"ledger-written=EIO", false},
    {"ledger-written=ENOSPC", true}, /* tried again after the reserve is given back */
    {"ledger-appended=EIO", true},
};

START_TEST(a_failing_append)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GError) error = NULL;
	bool ok;

	begin();
	again();
	ck_assert(g_setenv("GREENBOOT_ETCD_FAULT", faults[_i].fault, true));
	/* The points were passed before, so their first pass is over. */
	for (guint i = 0; i < 8; i++) {
		g_autofree char *fault = NULL;
		g_auto(GStrv) parts = g_strsplit(faults[_i].fault, "=", 2);

		fault = g_strdup_printf("%s@%u=%s", parts[0], 5 + i, parts[1]);
		ck_assert(g_setenv("GREENBOOT_ETCD_FAULT", fault, true));
		ok = take_over(7, &error);
		if (!ok)
			break;
	}
	g_unsetenv("GREENBOOT_ETCD_FAULT");
	if (!g_str_has_suffix(faults[_i].fault, "ENOSPC"))
		ck_assert_ptr_nonnull(error);
	again();
	facts = observe();
	ck_assert(!facts->holes);
	ck_assert(faults[_i].there ? facts->take_overs->len > 1 : facts->take_overs->len == 1);
	check_append();
}
END_TEST

/* The next append cuts off what the failing one could not take back. */
START_TEST(a_torn_append_is_cut_off)
{
	g_autoptr(GString) text = NULL;
	g_autoptr(GbeFacts) facts = NULL;
	int status = -1;
	pid_t pid;

	begin();
	gbe_app_unlock(app);
	pid = fork();
	if (pid == 0) {
		again();
		(void)g_setenv("GREENBOOT_ETCD_FAULT", "ledger-written@5=kill", true);
		(void)!take_over(7, NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	text = read_file();
	(void)g_string_truncate(text, text->len - 20);
	write_file(text);
	again();
	check_append();
	facts = observe();
	ck_assert(!facts->holes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-ledger");
	TCase *tcase = tcase_create("ledger");

	tcase_set_timeout(tcase, 180);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, begins);
	tcase_add_test(tcase, no_lock_no_record);
	tcase_add_test(tcase, cut_anywhere);
	tcase_add_test(tcase, a_tail_of_zeros);
	tcase_add_test(tcase, mangled_in_the_middle);
	tcase_add_test(tcase, a_mangled_line_is_named);
	tcase_add_test(tcase, a_lost_newline);
	tcase_add_test(tcase, empty_and_gone);
	tcase_add_test(tcase, of_tomorrow);
	tcase_add_test(tcase, hundred_megabytes_of_lines);
	tcase_add_test(tcase, hundred_megabytes_of_garbage);
	tcase_add_test(tcase, a_million_holes);
	tcase_add_test(tcase, too_long_a_line_is_not_written);
	tcase_add_test(tcase, a_full_disk);
	tcase_add_test(tcase, a_read_only_disk);
	tcase_add_loop_test(tcase, replaced_by_something_else, 0, 4);
	tcase_add_test(tcase, a_second_program_at_once);
	tcase_add_loop_test(tcase, a_failing_append, 0, (int)G_N_ELEMENTS(faults));
	tcase_add_test(tcase, a_torn_append_is_cut_off);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
