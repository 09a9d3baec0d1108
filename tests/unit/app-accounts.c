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

#include "app/backup/backup.h"
#include "core/decide/decide.h"
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

/* ---- the system ---- */

/* health may write wherever it wants: so does a build with coverage. */
int
prctl(int option, ...)
{
	unsigned long argument;
	va_list args;

	va_start(args, option);
	argument = va_arg(args, unsigned long);
	va_end(args);
	if (option != PR_SET_NO_NEW_PRIVS)
		return (int)syscall(SYS_prctl, option, argument, 0, 0, 0);
	errno = EPERM;
	return -1;
}

/* The power stays on, so that flushes only take time. */
int
fsync(int fd)
{
	return fd < 0 ? -1 : 0;
}

int
fdatasync(int fd)
{
	return fd < 0 ? -1 : 0;
}

int
syncfs(int fd)
{
	return fd < 0 ? -1 : 0;
}

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
    {"`kill [0-9]+`", "`kill PID`"},
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

/* JSON in one line; @text is what it is, if it is not JSON. The list of status.json repeats the manifests. */
static char *
in_one_line(const char *text)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonNode *node;

	if (!json_parser_load_from_data(parser, text, -1, NULL))
		return g_strdup(text);
	node = json_parser_get_root(parser);
	if (JSON_NODE_HOLDS_OBJECT(node))
		json_object_remove_member(json_node_get_object(node), "list");
	return json_to_string(node, false);
}

/* Adds each file below @path that is not empty, by name. The content of the data is not text, and the lock has
 * the id of a process. */
static void
tell_files(const char *path)
{
	g_autofree char *full = root_path(path);
	g_autofree char *text = NULL;
	g_autofree char *line = NULL;
	g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
		if (!g_str_equal(name, "data") && !g_str_equal(name, "lock"))
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

static pid_t etcd;

/* greenboot's files, by its flavour, and its check is enabled. */
static void
install_greenboot(const char *flavour)
{
	root_write("usr/libexec/greenboot/greenboot", "ELF");
	if (g_str_equal(flavour, "shell"))
		root_write("usr/libexec/greenboot/redboot-auto-reboot", "");
	root_write("usr/lib/systemd/system/greenboot-healthcheck.service", "[Service]\n");
	root_link("etc/systemd/system/multi-user.target.wants/greenboot-healthcheck.service",
		  "/usr/lib/systemd/system/greenboot-healthcheck.service");
}

/* GRUB's block of variables is full of "#". */
static void
write_grubenv(const char *variables)
{
	g_autofree char *lines = g_strcompress(variables);
	g_autofree char *text = g_strdup_printf("# GRUB Environment Block\n%s\n", lines);
	g_autofree char *rest = g_strnfill(1024 - strlen(text), '#');
	g_autofree char *whole = g_strconcat(text, rest, NULL);

	root_write("boot/grub2/grubenv", whole);
}

/* "PATH=TEXT", or "PATH" */
static void
write_file(const char *line)
{
	g_auto(GStrv) parts = g_strsplit(line, "=", 2);
	g_autofree char *text = g_strcompress(parts[1] != NULL ? parts[1] : "not ours");

	root_write(parts[0], text);
}

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

static int
back_up_live(GbeApp *app)
{
	const GbeByHandBackup options = {.name = name, .live = true};
	g_auto(GbeByHandResult) result = {0};
	g_autoptr(GError) error = NULL;
	bool ok = gbe_by_hand_backup(app, &options, &result, &error);

	tell_result(&result);
	return end_operation(ok, &error);
}

static int
set_settings_aside(GbeApp *app)
{
	g_autoptr(GError) error = NULL;

	return end_operation(
	    gbe_by_hand_set_settings_aside(app, "settings", strtoul(name, NULL, 10), &error),
	    &error);
}

static int
follow_settings(GbeApp *app)
{
	g_autoptr(GError) error = NULL;

	return end_operation(gbe_by_hand_follow_settings(app, &error), &error);
}

static int
carry(GbeApp *app)
{
	return gbe_finalize_carry(app, (gpointer) "was killed");
}

static int
run_early(GbeApp *app)
{
	return gbe_prerun_requested(app) ? 0 : 1;
}

static int
generate(GbeApp *app)
{
	g_autofree char *output = root_path("run/systemd/generator");
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	bool ok = gbe_generate(app, output, &complaint, &error);

	(void)fprintf(stderr, "complaint: %s\n", complaint);
	return end_operation(ok, &error);
}

static GbeObserved *
observe(GbeApp *app)
{
	const GbeObserveOptions options = {.tolerant = true};
	g_autoptr(GError) error = NULL;
	GbeObserved *observed = NULL;

	if (!gbe_observe(app, &options, &observed, &error))
		ck_abort_msg("%s", error->message);
	return observed;
}

static int
find_rotten(GbeApp *app)
{
	g_autoptr(GbeObserved) observed = observe(app);
	g_autoptr(GError) error = NULL;

	return end_operation(gbe_damage_record(app, observed, name, "a bad page", "scrub", &error),
			     &error);
}

static int
find_unreadable(GbeApp *app)
{
	g_autoptr(GbeObserved) observed = observe(app);
	g_autoptr(GError) error = NULL;

	return end_operation(
	    gbe_damage_unreadable(app, observed, name, "an I/O error", "scrub", &error), &error);
}

/* Asks about the next boot: "DEPLOYMENT VERDICT"; "-" leaves one out. */
static int
foresee_boot(GbeApp *app)
{
	g_auto(GStrv) words = g_strsplit(name, " ", 2);
	g_autoptr(GbeObserved) observed = observe(app);
	g_autofree char *deployment =
	    g_ascii_isupper(*words[0]) ? device_deployment(*words[0]) : g_strdup(words[0]);
	g_autoptr(GbePlan) plan = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_observe_next_boot(observed, *deployment != '-' ? deployment : NULL,
				   *words[1] != '-' ? words[1] : NULL, GBE_UNKNOWN, &error))
		return end_operation(false, &error);
	gbe_observe_inside(observed);
	plan = gbe_decide(observed->facts);
	(void)fprintf(stderr, "rule %s: %s\n", gbe_rule_to_string(plan->rule), plan->reason);
	for (guint i = 0; i < plan->actions->len; i++) {
		const GbeAction *action = plan->actions->pdata[i];

		(void)fprintf(stderr, "action %s %s: %s\n", gbe_action_to_string(action->kind),
			      action->name, action->reason);
	}
	return 0;
}

static int
foresee_backup(GbeApp *app)
{
	g_autoptr(GbeObserved) observed = observe(app);
	g_autoptr(GError) error = NULL;

	return end_operation(gbe_backup_foresee(observed, &error), &error);
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
    {"backup-live", back_up_live},
    {"settings-aside", set_settings_aside},
    {"settings-follow", follow_settings},
    {"carry", carry},
    {"early", run_early},
    {"generate", generate},
    {"rotten", find_rotten},
    {"unreadable", find_unreadable},
    {"next", foresee_boot},
    {"foresee", foresee_backup},
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

static void
add_cmdline(void)
{
	g_autofree char *path = root_path("proc/cmdline");
	g_autofree char *was = NULL;
	g_autofree char *now = NULL;

	if (cmdline == NULL)
		return;
	ck_assert(g_file_get_contents(path, &was, NULL, NULL));
	now = g_strdup_printf("%s %s\n", g_strchomp(was), cmdline);
	root_write("proc/cmdline", now);
	g_clear_pointer(&cmdline, g_free);
}

/* The deployment does not have this project's programs. */
static void
lose_program(char deployment)
{
	g_autofree char *checksum = device_checksum(deployment);
	g_autofree char *path =
	    g_strdup_printf("ostree/deploy/os/deploy/%s.0/usr/libexec", checksum);

	root_remove(path);
}

/* The data directory is a mount point with its content from now on, for this test alone. */
static int
mount_data(void)
{
	g_autofree char *data = root_path(DEVICE_DATA);
	g_autofree char *aside = root_path("var/lib/.aside");
	g_autofree char *from = root_path("var/lib/.aside/member");

	return unshare(CLONE_NEWNS) == 0 &&
		       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		       rename(data, aside) == 0 && mkdir(data, 0700) == 0 &&
		       mount("none", data, "tmpfs", 0, "mode=0700") == 0
		   ? RUN("mv", from, data) | RUN("rmdir", aside)
		   : -1;
}

/* "POINT=ACT", each of the first 20 times */
static void
fault_often(const char *line)
{
	g_auto(GStrv) parts = g_strsplit(line, "=", 2);
	GString *text = g_string_new(NULL);

	for (guint i = 1; i <= 20; i++)
		g_string_append_printf(text, "%s%s@%u=%s", i == 1 ? "" : ",", parts[0], i,
				       parts[1]);
	fault = g_string_free(text, false);
}

static void
play_step(const char *step)
{
	g_auto(GStrv) words = g_strsplit(step, " ", 2);
	const char *word = words[0];

	name = words[1];
	g_string_append_printf(account, "== %s\n", step);
	if (word[1] == '\0' && g_ascii_isupper(*word))
		device_comes_up(*word), add_cmdline(), tell_program("prerun", NULL);
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
		write_file(name);
	else if (g_str_equal(word, "greenboot"))
		install_greenboot(name);
	else if (g_str_equal(word, "grubenv"))
		write_grubenv(name);
	else if (*word == '-')
		lose_program(word[1]);
	else if (g_str_equal(word, "comes-up"))
		device_comes_up(*name), add_cmdline();
	else if (g_str_equal(word, "mount"))
		ck_assert_int_eq(mount_data(), 0);
	else if (g_str_equal(word, "stop"))
		device_stops(etcd);
	else if (g_str_equal(word, "faults"))
		fault_often(name);
	else if (g_str_equal(word, "loop")) /* each look at the file fails */
		root_link(name, name + (g_strrstr(name, "/") - name) + 1);
	else if (g_str_equal(word, "clones"))
		clones = true;
	else if (g_str_equal(word, "set"))
		set(name);
	else if (g_str_equal(word, "etcd"))
		etcd = device_runs_etcd();
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
 *   -B        B does not have this project's programs
 *   comes-up  the same as a capital letter, without prerun
 *   mount     the data directory is a mount point (root)
 *   greenboot, grubenv    greenboot's files by its flavour, and GRUB's variables
 *   faults    the next program meets this fault point each time
 *   set       a line is added to the configuration: SECTION KEY=VALUE
 *   clones                the file system clones files
 *   etcd, lock, stop      another process has the data open, or the lock; etcd stops
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
    {"hold-again", "set backup on-upgrade-failure=refuse, A, b, finalize, +B, faults "
		   "backup-cloned=EIO, B, B, finalize, A"},
    {"rollback-fails",
     "A, b, finalize, +B, B, c, red, finalize, faults restore-staged=EIO, A, A, finalize, A"},
    {"rollback-is-full",
     "A, b, finalize, +B, B, c, red, finalize, faults restore-staged=ENOSPC, A, finalize, A"},
    {"rollback-is-cut",
     "A, b, finalize, +B, B, c, red, finalize, fault restore-exchanged=kill, A, finalize, A"},
    {"rollback-takes-the-backup",
     "A, b, finalize, +B, B, c, red, finalize, fault restore-cloned@1=ENOSPC, A"},
    {"rollback-to-damage",
     "A, b, finalize, +B, B, c, red, finalize, "
     "file var/lib/greenboot-etcd/backups/os-"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     ".0_00000001000040008000000000000000/data/member/snap/db, A, finalize, A"},
    {"etcd-of-the-old-system", "A, b, etcd, +B, B, stop, B"},
    {"lock-at-a-start", "A, b, finalize, lock, +B, B"},
    {"take-over-fails", "A, b, finalize, +B, faults execute-taken-over=EIO, B, c, finalize, B"},
    {"new-system-without-programs", "A, b, +B, B, c, finalize, -A, A, finalize"},
    {"hand-back", "A, b, finalize, +B, B, c, red, -A, finalize"},
    {"closing-backup-fails", "clones, A, b, fault backup-cloned=EIO, finalize, carry, A"},
    {"next-boot",
     "A, b, backup kept, request kept, next - -, +B, next - -, next B red, next A green, next "
     "staged -, "
     "next rollback -, next 0 -, next 7 -, finalize, B, c, next A red, next A green, foresee"},
    {"shell-greenboot",
     "greenboot shell, grubenv boot_counter=2, A, b, health, green, finalize, +B, "
     "grubenv boot_counter=0, preflight, next A -, B, c, health, red, finalize, grubenv "
     "boot_counter=-1, A, preflight"},
    {"rust-greenboot",
     "greenboot rust, grubenv boot_counter=3\\ngreenboot_rollback_trigger=1, A, b, health, green, "
     "finalize, +B, B, c, grubenv boot_counter=0\\ngreenboot_rollback_trigger=1, preflight, red, "
     "next A -, finalize, A"},
    {"disabled-greenboot",
     "greenboot rust, remove etc/systemd/system/multi-user.target.wants, A, b, finalize, "
     "+B, B, c, finalize, A, preflight"},
    {"preflight-of-microshift",
     "set etcd service=microshift.service, file usr/lib/systemd/system/microshift.service, "
     "file etc/greenboot/red.d/40_microshift_pre_rollback.sh, file "
     "var/lib/microshift-backups/a/version, "
     "file var/lib/microshift-backups/restore, A, b, preflight, generate"},
    {"drop-ins", "set etcd service=etcd.service, generate, file "
		 "usr/lib/systemd/system/etcd.service=[Service], generate, "
		 "file usr/lib/systemd/system/greenboot-etcd-prerun.service=[Service], generate, "
		 "set backup directory=/srv/backups, generate, set backup verify=wrong, A, "
		 "generate, preflight"},
    {"other-store",
     "A, b, backup kept, set backup directory=/srv/backups, A, c, backup other, +B, B, "
     "remove var/lib/greenboot-etcd/backups, preflight, A, remove srv/backups, B, restore other, "
     "foresee, backup"},
    {"other-data", "A, b, finalize, set etcd data-dir=/var/lib/other, A, finalize, preflight"},
    {"settings", "A, b, backup kept, file var/lib/greenboot-etcd/cluster.env=A=1, file "
		 "var/lib/greenboot-etcd-pki/live/ca, "
		 "file var/lib/greenboot-etcd-pki/.next/ca=former, set-aside, settings-aside 10, "
		 "c, restore kept, settings-follow"},
    {"settings-of-no-data",
     "A, b, file var/lib/greenboot-etcd/cluster.env=A=1, remove var/lib/etcd, "
     "file var/lib/greenboot-etcd-pki/live/ca, settings-aside 0, file "
     "var/lib/greenboot-etcd-pki/live/ca=2, "
     "settings-aside 0, c, settings-follow, finalize, A"},
    {"settings-after-a-rollback", "A, b, file var/lib/greenboot-etcd/cluster.env=A=1, backup kept, "
				  "file var/lib/greenboot-etcd-pki/live/ca, settings-aside 8, "
				  "finalize, A, remove var/lib/greenboot-etcd/backups/kept, "
				  "finalize, A"},
    {"rotten",
     "A, b, backup kept, good kept, c, rotten kept, rotten kept, rotten none, finalize, A"},
    {"unreadable", "A, b, backup kept, good kept, c, unreadable adopted-3, unreadable kept, lock, "
		   "unreadable kept, "
		   "rotten kept"},
    {"live", "clones, A, b, etcd, backup-live kept, finalize, stop, finalize, A"},
    {"live-copy", "A, b, etcd, backup-live kept"},
    {"initramfs", "A, b, backup kept, c, finalize, comes-up A, early, cmdline "
		  "rd.greenboot-etcd.restore=kept, comes-up A, "
		  "early, A, cmdline rd.greenboot-etcd.restore=none, comes-up A, early, A"},
    {"mounted", "mount, A, b, backup kept, c, restore kept, undo, set-aside, finalize, A"},
    {"mounted-update", "mount, A, b, finalize, +B, B, c, red, finalize, A"},
    {"mounted-and-cut",
     "mount, A, b, backup kept, c, fault entries-one-exchanged=kill, restore kept, recover, undo"},
    {"mounted-and-cut-twice",
     "mount, A, b, backup kept, file var/lib/etcd/note, c, fault entries-one-exchanged=kill, "
     "restore kept, etcd, recover, A, stop, A"},
    {"mounted-and-named",
     "mount, A, b, backup kept, c, fault recover-displaced-moved=kill, restore kept, recover"},
    {"mounted-and-intended",
     "mount, A, b, backup kept, c, fault restore-intended=kill, restore kept, recover"},
    {"mounted-and-failed",
     "mount, A, b, backup kept, c, faults entries-one-exchanged=EIO, restore kept, A"},
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
	tell_files("var/lib/greenboot-etcd-pki");
	return without_volatiles(account->str);
}

/* Names the first line that differs. */
START_TEST(tells_its_account)
{
	bool mounts = strstr(scenes[_i].steps, "mount,") != NULL;
	const char *dir = g_getenv("GBE_TEST_ACCOUNTS");
	g_autofree char *wanted_path =
	    g_build_filename(g_getenv("GBE_TEST_DATA"), "accounts", scenes[_i].name, NULL);
	g_autofree char *now = NULL;
	g_autofree char *wanted = NULL;
	g_auto(GStrv) a = NULL;
	g_auto(GStrv) b = NULL;

	if (mounts && !have_root("mount"))
		return;
	now = account_of(scenes[_i].steps);
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
