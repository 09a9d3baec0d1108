/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A socket of our own takes the journal's place: the test reads and parses what journald would get. */
#include "sys-root.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "sys/systemd/events.h"

#define ID "fedora-iot-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.0"

static int journal = -1;
static int captured = -1; /* what goes to stderr */

static void
capture_stderr(void)
{
	g_autofree char *path = root_path("stderr");

	captured = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	ck_assert_int_ge(captured, 0);
	ck_assert_int_ge(dup2(captured, STDERR_FILENO), 0);
}

/* The text that was written since the last call. */
static char *
on_stderr(void)
{
	char *text = g_malloc0(4096);

	(void)fflush(stderr);
	ck_assert_int_ge(pread(captured, text, 4095, 0), 0);
	ck_assert_int_eq(ftruncate(captured, 0), 0);
	return text;
}

static bool
make_journal(const char *test)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX,
				      .sun_path = "/run/systemd/journal/socket"};

	if (!own_mounts(test))
		return false;
	ck_assert_int_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(g_mkdir_with_parents("/run/systemd/journal", 0755), 0);
	journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(journal, (struct sockaddr *)&address, sizeof(address)), 0);
	return true;
}

/* The next entry: field -> value. NULL: nothing was sent. */
static GHashTable *
received(void)
{
	g_autofree char *bytes = g_malloc(65536);
	ssize_t size = recv(journal, bytes, 65536, 0);
	GHashTable *entry;

	if (size < 0)
		return NULL;
	entry = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (char *at = bytes; at < bytes + size;) {
		char *end = memchr(at, '\n', (gsize)(bytes + size - at));
		char *equals = memchr(at, '=', (gsize)(end - at));
		guint64 length = 0;

		if (equals != NULL) {
			g_hash_table_insert(entry, g_strndup(at, (gsize)(equals - at)),
					    g_strndup(equals + 1, (gsize)(end - equals - 1)));
			at = end + 1;
			continue;
		}
		/* A value with a newline has its length before it. */
		memcpy(&length, end + 1, sizeof(length));
		length = GUINT64_FROM_LE(length);
		g_hash_table_insert(entry, g_strndup(at, (gsize)(end - at)),
				    g_strndup(end + 9, length));
		at = end + 9 + length + 1;
	}
	return entry;
}

#define FIELD(entry, name) ((const char *)g_hash_table_lookup((entry), (name)))

START_TEST(to_the_journal)
{
	GbeEventFields fields = {
	    .rule = "10a",
	    .action = "restore",
	    .backup = "before",
	    .deployment = ID,
	    .from_deployment = ID,
	    .run = "8d1f8a349a5b4c3ea1110123456789ab+1",
	    .revision = "81203",
	    .reason = "the update failed",
	    .displaced = "after",
	    .duration_usec = 1500,
	};
	g_autoptr(GHashTable) entry = NULL;
	g_autofree char *text = NULL;

	if (!make_journal("to-the-journal"))
		return;
	capture_stderr();
	gbe_events_init("prerun", false, false, 0);
	gbe_event_restored(&fields);
	entry = received();
	ck_assert_ptr_nonnull(entry);
	ck_assert_str_eq(FIELD(entry, "MESSAGE_ID"), "abce6674737a4c728de1ca859f87484c");
	ck_assert_str_eq(FIELD(entry, "PRIORITY"), "5");
	ck_assert_str_eq(FIELD(entry, "SYSLOG_IDENTIFIER"), "greenboot-etcd-prerun");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_RULE"), "10a");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_ACTION"), "restore");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_BACKUP"), "before");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_DEPLOYMENT"), ID);
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_FROM_DEPLOYMENT"), ID);
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_RUN"), "8d1f8a349a5b4c3ea1110123456789ab+1");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_REVISION"), "81203");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_REASON"), "the update failed");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_DURATION_USEC"), "1500");
	ck_assert_str_eq(FIELD(entry, "MESSAGE"),
			 "Restored the data of etcd from before: the update failed "
			 "(`greenboot-etcd undo --stop` puts the replaced data back)");
	text = on_stderr();
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(absent_fields_are_left_out)
{
	GbeEventFields fields = {.reason = "two\nlines"};
	g_autoptr(GHashTable) entry = NULL;
	g_autoptr(GHashTable) bare = NULL;

	if (!make_journal("absent-fields-are-left-out"))
		return;
	gbe_events_init("greenboot-etcd", false, true, 0);
	gbe_event_fresh(&fields);
	entry = received();
	ck_assert_ptr_nonnull(entry);
	ck_assert_uint_eq(g_hash_table_size(entry), 5);
	ck_assert_str_eq(FIELD(entry, "SYSLOG_IDENTIFIER"), "greenboot-etcd");
	ck_assert_str_eq(FIELD(entry, "GREENBOOT_ETCD_REASON"), "two\nlines");
	gbe_event_closed(NULL);
	bare = received();
	ck_assert_ptr_nonnull(bare);
	ck_assert_uint_eq(g_hash_table_size(bare), 4);
}
END_TEST

static const struct {
	void (*emit)(const GbeEventFields *fields);
	const char *priority;
} all[] = {
    {gbe_event_decided, "6"},	     {gbe_event_backed_up, "6"},
    {gbe_event_backup_skipped, "6"}, {gbe_event_backup_failed, "3"},
    {gbe_event_restored, "5"},	     {gbe_event_restore_failed, "3"},
    {gbe_event_candidate_bad, "4"},  {gbe_event_recovered, "5"},
    {gbe_event_held_back, "2"},	     {gbe_event_took_over, "6"},
    {gbe_event_verdict, "5"},	     {gbe_event_graded, "6"},
    {gbe_event_deleted, "6"},	     {gbe_event_request_failed, "3"},
    {gbe_event_state_broken, "4"},   {gbe_event_config_bad, "3"},
    {gbe_event_unhealthy, "3"},	     {gbe_event_healthy, "6"},
    {gbe_event_cannot_tell, "4"},    {gbe_event_preflight, "4"},
    {gbe_event_carried, "4"},	     {gbe_event_closed, "6"},
    {gbe_event_fresh, "5"},	     {gbe_event_rotted, "3"},
    {gbe_event_defragmented, "6"},   {gbe_event_defrag_failed, "4"},
    {gbe_event_alarm_cleared, "5"},  {gbe_event_certs_changed, "5"},
    {gbe_event_start_failed, "3"},   {gbe_event_set_aside, "5"},
    {gbe_event_rejoined, "4"},
};

START_TEST(each_has_an_id_and_a_priority)
{
	g_autoptr(GHashTable) ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GbeEventFields fields = {.reason = "why"};
	GbeEventFields red = {.action = "red"};
	g_autoptr(GHashTable) verdict = NULL;

	if (!make_journal("each-has-an-id-and-a-priority"))
		return;
	gbe_events_init("prerun", false, false, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		g_autoptr(GHashTable) entry = NULL;

		all[i].emit(&fields);
		entry = received();
		ck_assert_ptr_nonnull(entry);
		ck_assert_uint_eq(strlen(FIELD(entry, "MESSAGE_ID")), 32);
		ck_assert_msg(g_hash_table_add(ids, g_strdup(FIELD(entry, "MESSAGE_ID"))),
			      "the id of %s is another's", FIELD(entry, "MESSAGE"));
		ck_assert_str_eq(FIELD(entry, "PRIORITY"), all[i].priority);
		ck_assert_ptr_nonnull(strstr(FIELD(entry, "MESSAGE"), ": why"));
	}
	gbe_event_verdict(&red);
	verdict = received();
	ck_assert_str_eq(FIELD(verdict, "PRIORITY"), "4");
	ck_assert_str_eq(FIELD(verdict, "MESSAGE"), "This run of the system was judged red");
}
END_TEST

START_TEST(below_a_root_only_stderr)
{
	GbeEventFields fields = {.deployment = ID, .reason = "a\nb\x1b[31m"};
	g_autofree char *text = NULL;
	g_autofree char *unknown = NULL;

	if (!make_journal("below-a-root-only-stderr"))
		return;
	capture_stderr();
	gbe_events_init("finalize", true, false, 0);
	gbe_event_took_over(&fields);
	text = on_stderr();
	ck_assert_str_eq(text, "greenboot-etcd-finalize: From now on the data of etcd belongs to "
			       "fedora-iot-aaaaaaaaaaaa.0: a b [31m\n");
	fields.deployment = NULL;
	gbe_event_took_over(&fields);
	unknown = on_stderr();
	ck_assert_str_eq(unknown,
			 "greenboot-etcd-finalize: From now on the data of etcd belongs to a "
			 "deployment that is not known: a b [31m\n");
	ck_assert_ptr_null(received());
}
END_TEST

START_TEST(quiet_says_errors_only)
{
	GbeEventFields fields = {.reason = "why"};
	g_autofree char *text = NULL;

	capture_stderr();
	gbe_events_init("prerun", true, true, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		g_autofree char *line = NULL;

		all[i].emit(&fields);
		line = on_stderr();
		ck_assert_msg((*line != '\0') == (*all[i].priority <= '3'), "%s", line);
	}
	gbe_note("an uninteresting line");
	text = on_stderr();
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(notes_are_for_who_asked)
{
	g_autofree char *silent = NULL;
	g_autofree char *text = NULL;

	capture_stderr();
	gbe_events_init("greenboot-etcd", true, false, 0);
	gbe_note("copied %d files", 3);
	silent = on_stderr();
	ck_assert_str_eq(silent, "");
	gbe_events_init("greenboot-etcd", true, false, 1);
	gbe_note("copied %d files", 3);
	text = on_stderr();
	ck_assert_str_eq(text, "greenboot-etcd: copied 3 files\n");
}
END_TEST

START_TEST(prefix_for_greenboot)
{
	GbeEventFields fields = {.reason = "no answer"};
	g_autoptr(GHashTable) entry = NULL;
	g_autofree char *text = NULL;
	g_autofree char *none = NULL;

	if (!make_journal("prefix-for-greenboot"))
		return;
	capture_stderr();
	gbe_events_init("health", false, false, 0);
	gbe_events_set_prefix(2);
	gbe_event_unhealthy(&fields);
	entry = received();
	ck_assert_ptr_nonnull(entry);
	ck_assert_str_eq(FIELD(entry, "MESSAGE"), "etcd is not healthy: no answer");
	text = on_stderr();
	ck_assert_str_eq(text, "<2>greenboot-etcd-health: etcd is not healthy: no answer\n");
	/* Never broadcast to every terminal of the machine. */
	gbe_events_set_prefix(0);
	gbe_event_unhealthy(&fields);
	none = on_stderr();
	ck_assert_str_eq(none, "");
}
END_TEST

/* The journal does not take the line: it must be visible anyway. */
START_TEST(without_a_journal)
{
	GbeEventFields fields = {.reason = "why"};
	g_autofree char *gone = NULL;
	g_autofree char *dead = NULL;

	if (!own_mounts("without-a-journal"))
		return;
	capture_stderr();
	ck_assert_int_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
	gbe_events_init("prerun", false, false, 0);
	gbe_event_held_back(&fields);
	gone = on_stderr();
	ck_assert_str_eq(gone, "greenboot-etcd-prerun: etcd is held back: why\n");
	ck_assert_int_eq(g_mkdir_with_parents("/run/systemd/journal", 0755), 0);
	ck_assert(g_file_set_contents("/run/systemd/journal/socket", "", 0, NULL));
	gbe_event_held_back(&fields);
	dead = on_stderr();
	ck_assert_str_eq(dead, gone);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-events");
	TCase *events = tcase_create("events");

	tcase_add_checked_fixture(events, root_setup, root_teardown);
	tcase_add_test(events, to_the_journal);
	tcase_add_test(events, absent_fields_are_left_out);
	tcase_add_test(events, each_has_an_id_and_a_priority);
	tcase_add_test(events, below_a_root_only_stderr);
	tcase_add_test(events, quiet_says_errors_only);
	tcase_add_test(events, notes_are_for_who_asked);
	tcase_add_test(events, prefix_for_greenboot);
	tcase_add_test(events, without_a_journal);
	suite_add_tcase(suite, events);
	return scratch_main(suite);
}
