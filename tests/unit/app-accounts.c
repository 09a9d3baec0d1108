/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs tell and record what they do, each on a device of its own (lib/device.h). A scene is a list of programs
 * and operations. Its account has the journal's entries with all fields, the notes, the ledger, each manifest and the files
 * below /run. tests/data/accounts has the account of each scene. Values of the place and of the moment are replaced:
 * see `volatiles`.
 *
 * A new scene is a line in the table. After a change, GBE_TEST_ACCOUNTS=DIR writes the accounts to DIR, for a person to
 * compare.
 */
#include "lib/device.h"
#include "lib/skipped-time.h"

#include "sys/systemd/journal.h"

#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* ---- the journal ---- */

/* This program has these instead of sys/systemd/journal.c. */
bool
gbe_journal_send(const struct iovec *fields, guint count)
{
	GString *entry = g_string_new("journal");

	for (guint i = 0; i < count; i++) {
		const char *field = fields[i].iov_base;

		/* tests/lint compares the ids and priorities. */
		if (!g_str_has_prefix(field, "MESSAGE_ID=") &&
		    !g_str_has_prefix(field, "PRIORITY=") &&
		    !g_str_has_prefix(field, "SYSLOG_IDENTIFIER="))
			g_string_append_printf(
			    entry, " | %s",
			    field + (g_str_has_prefix(field, "GREENBOOT_ETCD_") ? 15 : 0));
	}
	g_string_append_c(entry, '\n');
	(void)!write(STDERR_FILENO, entry->str, entry->len);
	g_string_free(entry, true);
	return true;
}

void
gbe_journal_sync(guint seconds)
{
}

bool
gbe_journal_read(int dir_fd, const char *const *identifiers, const char *const *units, guint max,
		 JsonArray *lines, GError **error)
{
	return gbe_throw(error, GBE_ERROR_FAILED, "no journal here");
}

bool
gbe_journal_tail(const char *unit, guint64 since, guint max, GPtrArray **ret_lines, GError **error)
{
	return gbe_throw(error, GBE_ERROR_FAILED, "no journal here");
}

/* ---- the file system ---- */

static bool clones;

/* No file system clones here, or each of them does, so that an account does not depend on it. */
int
ioctl(int fd, unsigned long number, ...)
{
	va_list args;
	void *argument;
	gint64 done = 0;
	char part[65536];
	ssize_t got;

	va_start(args, number);
	argument = va_arg(args, void *);
	va_end(args);
	if (number != FICLONE)
		return (int)syscall(SYS_ioctl, fd, number, argument);
	if (!clones) {
		errno = EOPNOTSUPP;
		return -1;
	}
	while ((got = pread(GPOINTER_TO_INT(argument), part, sizeof(part), done)) > 0) {
		if (pwrite(fd, part, (size_t)got, done) != got)
			return -1;
		done += got;
	}
	return (int)got;
}

/* ---- the account of a scene ---- */

/* Text that differs between two tries, two file systems or two versions, and its replacement. */
static const struct {
	const char *pattern, *text;
} volatiles[] = {
    {"\\b([abc])\\1{63}", "\\1"}, /* the checksum of a deployment */
    {"\\b[0-9a-f]{64}\\b", "SHA256"},
    {"\\b20[0-9]{6}T[0-9]{6}Z", "TIME"},
    {"\\b1[0-9]{9}\\b", "TIME"},
    {"\\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]+Z?", "TIME"},
    {"(?m)^[0-9a-f]{8} (?=\\{)", ""}, /* the CRC of a line of the ledger */
    {"(_USEC|_usec\":)=?[0-9]+", "\\1 USEC"},
    {"\"(uptime|hmac|written_by|method|exclusive|duration|used|age|store_fs|store_tree|nonce|"
     "verified)"
     "\":"
     "[^,}]*,?",
     ""},
    {"(?<=\"id\":\")[0-9a-f]{16}\\b", "ID"}, /* of the ledger */
    {"[0-9.]+ [KMGT]i?B", "SIZE"},
    {"\"[a-z_0-9]+\":(null|false|0|\"\"|\\[\\]|\\{\\})(,|(?=\\}))", ""},
    {"(?<![0-9a-f])0000000(.)000040008000000000000000", "RUN\\1"},
    {"\"fingerprint\":\\{[^}]*\"wal_size\":([0-9]+)[^}]*\\}", "\"fingerprint\":\\1"},
    {"\\(pid [0-9]+\\)", "(PID)"},
    {"in the last [0-9]+ s", "in the last seconds"},
    {"for [0-9]+ s more", "for seconds more"},
};

/* Each identity of a tree gets a number, in the order in which the account has them. */
static gboolean
number_tree(const GMatchInfo *match, GString *result, gpointer data)
{
	g_autofree char *tree = g_match_info_fetch(match, 0);
	GHashTable *numbers = data;
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, tree));

	if (number == 0) {
		number = g_hash_table_size(numbers) + 1;
		g_hash_table_insert(numbers, g_steal_pointer(&tree), GUINT_TO_POINTER(number));
	}
	g_string_append_printf(result, "TREE%u", number);
	return FALSE;
}

static char *
without_volatiles(const char *text)
{
	g_autoptr(GHashTable) numbers =
	    g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GRegex) tree = g_regex_new("\\b[0-9a-f-]{16,36}:[0-9a-f]{6,}\\b", 0, 0, NULL);
	g_auto(GStrv) parts = g_strsplit(text, root, -1);
	g_autofree char *placeless = g_strjoinv("", parts);
	char *now = g_regex_replace_eval(tree, placeless, -1, 0, 0, number_tree, numbers, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(volatiles); i++) {
		g_autoptr(GRegex) regex = g_regex_new(volatiles[i].pattern, 0, 0, NULL);
		g_autofree char *before = now;

		ck_assert_ptr_nonnull(regex);
		now = g_regex_replace(regex, before, -1, 0, volatiles[i].text, 0, NULL);
	}
	return now;
}

static GString *account;

/* JSON in one line; @text is what it is, if it is not JSON. */
static char *
in_one_line(const char *text)
{
	g_autoptr(JsonParser) parser = json_parser_new();

	return json_parser_load_from_data(parser, text, -1, NULL)
		   ? json_to_string(json_parser_get_root(parser), false)
		   : g_strdup(text);
}

/* Adds each file below @path that is not empty, by name. The content of the data is not text. */
static void
tell_files(const char *path)
{
	g_autofree char *full = root_path(path);
	g_autofree char *text = NULL;
	g_autofree char *line = NULL;
	g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
		if (!g_str_equal(name, "data"))
			g_ptr_array_add(names, g_build_filename(path, name, NULL));
	g_ptr_array_sort(names, device_by_text);
	for (guint i = 0; i < names->len; i++)
		tell_files(names->pdata[i]);
	if (dir != NULL || !g_file_get_contents(full, &text, NULL, NULL) || *text == '\0')
		return;
	line = in_one_line(text);
	g_string_append_printf(account, "%s:\n%s\n", path, line);
}

/* ---- the steps of a scene ---- */

static char *fault, *cmdline;

/* Runs @program as the program @name, and tells its exit status. */
static void
tell_program(const char *name, int (*program)(GbeApp *app))
{
	g_autofree char *path = g_build_filename(scratch, "told", NULL);
	g_autofree char *told = NULL;
	int status = 0;
	pid_t pid = device_forks();

	if (pid == 0) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

		(void)dup2(fd, STDERR_FILENO);
		if (fault != NULL)
			(void)g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
		if (program == NULL) {
			gbe_events_init(name, false, false, 1);
			_exit(gbe_prerun_start(root, NULL));
		} else {
			GbeApp *app = device_app();

			gbe_events_init(name, false, false, 1);
			_exit(program(app));
		}
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(g_file_get_contents(path, &told, NULL, NULL));
	g_string_append(account, told);
	if (WIFSIGNALED(status))
		g_string_append_printf(account, "killed by signal %d\n", WTERMSIG(status));
	else if (status != 0)
		g_string_append_printf(account, "exit status %d\n", WEXITSTATUS(status));
	g_clear_pointer(&fault, g_free);
}

static char *name; /* the second word of the step */

static int
end_operation(bool ok, GError *const *error)
{
	if (!ok)
		(void)fprintf(stderr, "error %d: %s\n", (*error)->code, (*error)->message);
	return ok ? 0 : 1;
}

static void
tell_result(const GbeByHandResult *result)
{
	(void)fprintf(stderr, "name %s displaced %s kept %s loss %s path %s size %d timed %d\n",
		      result->name, result->displaced, result->kept, result->loss, result->path,
		      result->size > 0, result->timing.total_usec > 0);
}

static int
backup(GbeApp *app)
{
	const GbeByHandBackup options = {.name = name, .description = "by hand", .digest = true};
	g_auto(GbeByHandResult) result = {0};
	g_autoptr(GError) error = NULL;
	bool ok = gbe_by_hand_backup(app, &options, &result, &error);

	tell_result(&result);
	return end_operation(ok, &error);
}

static int
restore_with(GbeApp *app, const GbeByHandRestore *options)
{
	g_auto(GbeByHandResult) result = {0};
	g_autoptr(GError) error = NULL;
	bool ok = gbe_by_hand_restore(app, options, &result, &error);

	tell_result(&result);
	return end_operation(ok, &error);
}

static int
restore(GbeApp *app)
{
	return restore_with(app, &(GbeByHandRestore){.name = name});
}

static int
restore_last_good(GbeApp *app)
{
	return restore_with(app, &(GbeByHandRestore){.target = GBE_BY_HAND_LAST_GOOD});
}

static int
restore_by_force(GbeApp *app)
{
	return restore_with(app, &(GbeByHandRestore){.name = name, .force = true});
}

static int
restore_and_discard(GbeApp *app)
{
	return restore_with(app, &(GbeByHandRestore){.name = name, .skip_backup = true});
}

static int
restore_and_keep(GbeApp *app)
{
	return restore_with(app,
			    &(GbeByHandRestore){.name = name, .keep_existing = "/var/lib/old"});
}

static int
undo(GbeApp *app)
{
	return restore_with(app, &(GbeByHandRestore){.target = GBE_BY_HAND_UNDO});
}

static int
set_aside(GbeApp *app)
{
	GbeBackupRef to = {0};
	g_autoptr(GError) error = NULL;
	bool ok = gbe_by_hand_set_aside(app, "set aside", false, &to, &error);

	gbe_backup_ref_clear(&to);
	return end_operation(ok, &error);
}

static int
request(GbeApp *app)
{
	g_autofree char *means = NULL;
	g_autoptr(GError) error = NULL;

	return end_operation(
	    gbe_by_hand_request(app, &(GbeByHandRestore){.name = name}, &means, &error), &error);
}

static int
pin(GbeApp *app)
{
	char *names[] = {name, NULL};
	g_autoptr(GError) error = NULL;

	return end_operation(gbe_by_hand_pin(app, names, true, false, &error), &error);
}

static int
mark_good(GbeApp *app)
{
	g_autoptr(GError) error = NULL;

	return end_operation(gbe_by_hand_mark(app, name, true, "seen", false, &error), &error);
}

static int
prune(GbeApp *app)
{
	g_autoptr(GPtrArray) removed = NULL;
	g_autoptr(GError) error = NULL;

	return end_operation(gbe_by_hand_prune(app, false, &removed, &error), &error);
}

static int
recover(GbeApp *app)
{
	g_auto(GbeRecovery) recovery = {0};
	g_autoptr(GError) error = NULL;
	bool ok = gbe_app_lock(app, "test", GBE_WAIT_BY_HAND, &error) &&
		  gbe_recover_here(app, &recovery, &error);

	(void)fprintf(stderr, "recovered %d left alone %d open %d: %s\n", recovery.recovered,
		      recovery.left_alone, recovery.exchange_open, recovery.what);
	return end_operation(ok, &error);
}

static const struct {
	const char *step;
	int (*program)(GbeApp *app);
} programs[] = {
    {"finalize", gbe_finalize_run},
    {"red", gbe_red_run},
    {"green", gbe_green_run},
    {"used", gbe_used_run},
    {"health", gbe_health_run},
    {"preflight", gbe_preflight_run},
    {"backup", backup},
    {"restore", restore},
    {"restore-last-good", restore_last_good},
    {"restore-by-force", restore_by_force},
    {"restore-and-discard", restore_and_discard},
    {"restore-and-keep", restore_and_keep},
    {"undo", undo},
    {"set-aside", set_aside},
    {"request", request},
    {"pin", pin},
    {"good", mark_good},
    {"prune", prune},
    {"recover", recover},
};

/* Adds "SECTION KEY=VALUE" to the configuration. */
static void
set(const char *line)
{
	g_autofree char *path = root_path(DEVICE_CONF);
	g_autofree char *was = NULL;
	g_autofree char *now = NULL;
	g_auto(GStrv) words = g_strsplit(line, " ", 2);

	ck_assert(g_file_get_contents(path, &was, NULL, NULL));
	now = g_strdup_printf("%s[%s]\n%s\n", was, words[0], words[1]);
	root_write(DEVICE_CONF, now);
}

/* A capital letter: this deployment comes up. */
static void
come_up(char deployment)
{
	device_comes_up(deployment);
	if (cmdline != NULL) {
		g_autofree char *path = root_path("proc/cmdline");
		g_autofree char *was = NULL;
		g_autofree char *now = NULL;

		ck_assert(g_file_get_contents(path, &was, NULL, NULL));
		now = g_strdup_printf("%s %s\n", g_strchomp(was), cmdline);
		root_write("proc/cmdline", now);
		g_clear_pointer(&cmdline, g_free);
	}
	tell_program("prerun", NULL);
}

static void
play_step(const char *step)
{
	g_auto(GStrv) words = g_strsplit(step, " ", 2);
	const char *word = words[0];

	name = words[1];
	g_string_append_printf(account, "== %s\n", step);
	if (word[1] == '\0' && g_ascii_isupper(*word))
		come_up(*word);
	else if (word[1] == '\0')
		device_etcd_writes(*word);
	else if (*word == '+')
		device_deploys(word[1]);
	else if (g_str_equal(word, "fault"))
		fault = g_strdup(name);
	else if (g_str_equal(word, "cmdline"))
		cmdline = g_strdup(name);
	else if (g_str_equal(word, "remove"))
		root_remove(name);
	else if (g_str_equal(word, "file"))
		root_write(name, "not ours");
	else if (g_str_equal(word, "loop")) /* each look at the file fails */
		root_link(name, name + (g_strrstr(name, "/") - name) + 1);
	else if (g_str_equal(word, "clones"))
		clones = true;
	else if (g_str_equal(word, "set"))
		set(name);
	else if (g_str_equal(word, "etcd"))
		(void)device_runs_etcd();
	else if (g_str_equal(word, "lock"))
		(void)device_locks(DEVICE_STATE "/lock");
	else
		for (gsize i = 0;; i++) {
			ck_assert_msg(i < G_N_ELEMENTS(programs), "no step %s", step);
			if (g_str_equal(programs[i].step, word)) {
				tell_program(word, programs[i].program);
				break;
			}
		}
}

/* ---- the scenes ---- */

/*
 * The steps, by their first word:
 *   A B C     this deployment comes up, and prerun runs
 *   +B        B is deployed
 *   a b c     etcd has run: the data has this content
 *   fault     the next program meets this fault point (base/fault.h)
 *   cmdline   the next boot has this on its kernel command line
 *   file, remove, loop    a file, no file or a link to itself is at this name
 *   set       a line is added to the configuration: SECTION KEY=VALUE
 *   clones                the file system clones files
 *   etcd, lock            another process has the data open, or the lock
 * All others are programs and operations: `programs`. Their second word is the name of a backup.
 */
static const struct {
	const char *name, *steps;
} scenes[] = {
    {"update", "A, b, green, finalize, +B, B, c, green, finalize, B"},
    {"update-of-clones", "clones, A, b, green, finalize, +B, B, c, green, finalize, B"},
    {"rollback-of-clones",
     "clones, A, b, backup kept, finalize, +B, B, c, red, finalize, A, restore kept"},
    {"rollback", "A, b, finalize, +B, B, c, red, finalize, A"},
    {"cut", "A, b, +B, B, c, A, d, A"},
    {"used", "A, b, finalize, +B, B, used, c, finalize, A"},
    {"by-hand",
     "A, b, backup kept, c, restore kept, undo, good kept, d, restore-last-good, pin kept, "
     "set-aside, prune, A"},
    {"refused", "A, b, backup kept, backup kept, restore none, good none, pin none, request none, "
		"etcd, backup, "
		"restore kept, set-aside, finalize"},
    {"discard", "A, b, backup kept, c, restore-and-discard kept, d, restore-and-keep kept, green, "
		"finalize, A"},
    {"request", "A, b, backup kept, c, request kept, finalize, A, finalize, A"},
    {"command-line",
     "A, b, backup kept, c, finalize, cmdline greenboot-etcd.restore=kept, A, finalize, "
     "cmdline greenboot-etcd.restore=kept, A, finalize, cmdline greenboot-etcd.restore=none, A"},
    {"skip", "A, b, finalize, +B, cmdline greenboot-etcd.skip, B, health, finalize"},
    {"no-data", "remove var/lib/etcd, A, b, finalize, A"},
    {"no-member", "remove var/lib/etcd/member, file var/lib/etcd/note, A, b, finalize, A"},
    {"lost-data", "A, b, finalize, remove var/lib/etcd, A"},
    {"lost-store", "A, b, finalize, remove var/lib/greenboot-etcd/backups, +B, B, restore kept"},
    {"lost-ledger",
     "A, b, finalize, remove var/lib/greenboot-etcd/ledger, +B, B, c, red, finalize, A"},
    {"damaged-backup",
     "A, b, backup kept, file var/lib/greenboot-etcd/backups/kept/data/member/snap/db, c, "
     "restore kept, restore-by-force kept, undo, request kept, finalize, A"},
    {"damaged-manifest",
     "A, b, backup kept, file var/lib/greenboot-etcd/backups/kept/manifest.json, c, "
     "restore kept, finalize, A"},
    {"damaged-data", "A, b, finalize, file var/lib/etcd/member/snap/db, +B, B, backup, finalize"},
    {"foreign-link", "A, b, loop var/lib/etcd/link, backup, finalize, +B, B"},
    {"verify-full",
     "set backup verify=full, set restore verify-budget=0, A, b, backup kept, c, restore kept, "
     "finalize, +B, B"},
    {"hold",
     "set backup on-upgrade-failure=refuse, A, b, finalize, +B, fault backup-cloned=EIO, B, "
     "finalize, B"},
    {"start",
     "set backup on-upgrade-failure=continue, A, b, finalize, +B, fault backup-cloned=EIO, "
     "B, finalize, B"},
    {"wrong-configuration", "A, set backup verify=wrong, finalize, A, preflight"},
    {"lock", "A, b, lock, green, red, used, health, finalize, A"},
    {"nonce",
     "A, b, remove var/lib/etcd/.greenboot-etcd, file var/lib/etcd/.greenboot-etcd/x, finalize, A"},
    {"preflight", "A, b, preflight, finalize, remove var/lib/greenboot-etcd/backups, preflight"},
    {"half-done",
     "A, b, backup kept, c, fault restore-exchanged=kill, restore kept, recover, undo"},
    {"half-staged",
     "A, b, backup kept, c, fault restore-intended=kill, restore kept, recover, undo"},
    {"half-cloned", "A, b, backup kept, c, fault restore-staged=kill, restore kept, recover, A"},
    {"staged-without-intent",
     "A, b, backup kept, c, fault restore-named=kill, restore kept, recover, "
     "fault restore-named=kill, restore kept, remove var/lib/greenboot-etcd/ledger, A"},
    {"displaced-twice",
     "A, b, backup kept, c, fault recover-displaced-moved=kill, restore kept, recover, A"},
    {"named-late", "A, b, backup kept, c, fault recover-displaced-named=kill, restore kept, A"},
    {"exchange-fails", "A, b, backup kept, c, fault restore-exchanged=EIO, restore kept, A"},
    {"prerun-fails",
     "A, b, finalize, +B, fault prerun-observed=EIO, B, finalize, fault prerun-locked=EIO, B"},
    {"prerun-is-killed", "A, b, finalize, +B, fault prerun-observed=kill, B, c, finalize, B"},
    {"restore-fails",
     "A, b, finalize, +B, B, c, red, finalize, fault restore-staged=EIO, A, finalize, A"},
    {"restore-is-full", "A, b, backup kept, c, fault restore-staged=ENOSPC, restore kept, fault "
			"restore-cloned=ENOSPC, restore kept"},
    {"record-fails", "A, b, finalize, +B, fault execute-taken-over=EIO, B, finalize, B"},
    {"closing-fails", "A, b, fault finalize-closed=EIO, finalize, A"},
    {"verdict-fails",
     "A, b, fault verdict-judged=EIO, red, fault health-recorded=EIO, health, finalize, A"},
};

static char *
account_of(const char *text)
{
	g_auto(GStrv) list = g_strsplit(text, ", ", -1);
	g_autofree char *state = NULL;

	account = g_string_new(NULL);
	clones = false;
	device_new();
	for (guint i = 0; list[i] != NULL; i++)
		play_step(list[i]);
	state = device_tells();
	g_string_append_printf(account, "== in the end\n%s\n", state);
	tell_files(DEVICE_STATE);
	tell_files("run");
	return without_volatiles(account->str);
}

/* Names the first line that differs. */
START_TEST(tells_its_account)
{
	const char *dir = g_getenv("GBE_TEST_ACCOUNTS");
	g_autofree char *wanted_path =
	    g_build_filename(g_getenv("GBE_TEST_DATA"), "accounts", scenes[_i].name, NULL);
	g_autofree char *now = account_of(scenes[_i].steps);
	g_autofree char *wanted = NULL;
	g_auto(GStrv) a = NULL;
	g_auto(GStrv) b = NULL;

	if (dir != NULL) {
		g_autofree char *path = g_build_filename(dir, scenes[_i].name, NULL);

		ck_assert(g_file_set_contents(path, now, -1, NULL));
		return;
	}
	ck_assert_msg(g_file_get_contents(wanted_path, &wanted, NULL, NULL), "no %s", wanted_path);
	a = g_strsplit(wanted, "\n", -1);
	b = g_strsplit(now, "\n", -1);
	for (guint i = 0; a[i] != NULL || b[i] != NULL; i++)
		ck_assert_msg(g_strcmp0(a[i], b[i]) == 0, "%s, line %u: \"%s\" instead of \"%s\"",
			      scenes[_i].name, i + 1, b[i], a[i]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("accounts");
	TCase *tcase = tcase_create("scene");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, tells_its_account, 0, (int)G_N_ELEMENTS(scenes));
	suite_add_tcase(suite, tcase);
	return device_main(suite);
}
