/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A device in a temporary directory, for unit tests of src/app: no root, no etcd, no systemd, some milliseconds. The
 * programs see it as below --root=DIR. The device has
 *
 *   ostree        a sysroot with the deployments A, B and C of the stateroot "os", which libostree itself reads
 *   /proc         the kernel command line and the id of the boot
 *   /var/lib/etcd a data directory that passes every check of `verify`: a log and a database
 *   /etc          the configuration, /etc/greenboot-etcd/greenboot-etcd.conf
 *
 * Each content of the data is a letter: device_etcd_writes('b') has the effect of an etcd that starts, writes and stops.
 * device_runs_etcd() holds etcd's locks, as a running one does.
 *
 * A program of the boot runs with device_boots(), which ends as finalize and begins as prerun. An operation runs with
 * device_plays(), in a process of its own, and may meet a fault point (base/fault.h) there. device_traces() lists the
 * points that the operation passes. device_tells() describes all that the device has, in one line for people:
 *
 *   data b; backups a good, b unproven pinned; request restore
 *
 * so that a test compares two texts. The text comes from the files themselves: the database at its place, the
 * directories of the store, and each manifest. Names of interrupted work (".partial-x") are a part of it.
 *
 * A test makes a device for each try, because the program knows a directory by its inode number, and a copy has another
 * one. A test that fails leaves no process: those that hold locks end with the process of the test.
 */
#pragma once

#include "../unit/etcd-log.h"
#include "lib/etcd-db.h"

#include "app/backup/recover.h"
#include "app/boot/boot.h"
#include "app/by-hand/by-hand.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "fs/tree.h"
#include "sys/systemd/events.h"

#include <dlfcn.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <sys/file.h>

#define DEVICE_CONF "etc/greenboot-etcd/greenboot-etcd.conf"
#define DEVICE_CONF_TEXT "[etcd]\ndata-dir=/" DEVICE_DATA "\n"
#define DEVICE_DATA "var/lib/etcd"
/* A request in the log that changes no row: a header with the id 1 and a user. Export and import decode each request. */
#define DEVICE_REQUEST "\xa2\x06\x0d\x08\x01\x12\x09operators"
#define DEVICE_STATE "var/lib/greenboot-etcd"
#define DEVICE_STORE DEVICE_STATE "/backups"

/* The end of one process. ->code: of GBE_ERROR, or -1: it went well. ->killed: a fault point ended the process. */
typedef struct {
	bool killed;
	int code;
	char message[1024];
} DeviceEnd;

/* An operation of src/app. False with @error, as these do. */
typedef bool (*DeviceOperation)(GbeApp *app, GError **error);

static guint device_deployed;	    /* how many of A, B, C there are */
static guint device_boot;	    /* counts the boots, for their ids */
static GHashTable *device_contents; /* SHA-256 of a database -> its letter */

/* ---- files ---- */

static inline char *
device_checksum(char deployment)
{
	return g_strnfill(64, (char)g_ascii_tolower(deployment));
}

static inline char *
device_deployment(char deployment)
{
	g_autofree char *checksum = device_checksum(deployment);

	return g_strdup_printf("os-%s.0", checksum);
}

/* The entries of the boot loader: the newest deployment has the highest version and is the default. */
static inline void
device_deploys(char deployment)
{
	g_autofree char *checksum = device_checksum(deployment);
	g_autofree char *tree = g_strdup_printf("ostree/deploy/os/deploy/%s.0", checksum);
	g_autofree char *program =
	    g_build_filename(tree, "usr/libexec/greenboot-etcd/prerun", NULL);
	g_autofree char *release = g_build_filename(tree, "usr/lib/os-release", NULL);
	g_autofree char *version = g_strdup_printf("ID=test\nVERSION_ID=%c\n", deployment);
	g_autofree char *link = g_strdup_printf("ostree/boot.1.1/os/%s/0", checksum);
	g_autofree char *target = g_strdup_printf("../../../deploy/os/deploy/%s.0", checksum);
	g_autofree char *entry =
	    g_strdup_printf("boot/loader.1/entries/ostree-%c.conf", deployment);
	g_autofree char *text =
	    g_strdup_printf("title Test OS %c\nversion %u\noptions ostree=/ostree/boot.1/os/%s/0\n"
			    "linux /ostree/os-%s/vmlinuz\n",
			    deployment, ++device_deployed, checksum, checksum);

	root_write(program, "");
	root_write(release, version);
	root_link(link, target);
	root_write(entry, text);
}

/* As the machine comes up: an empty /run, the id of a new boot and the command line of @deployment. */
static inline void
device_comes_up(char deployment)
{
	g_autofree char *checksum = device_checksum(deployment);
	g_autofree char *cmdline =
	    g_strdup_printf("root=/dev/vda ostree=/ostree/boot.1/os/%s/0\n", checksum);
	g_autofree char *id = g_strdup_printf("%08x-0000-4000-8000-000000000000\n", ++device_boot);

	root_remove("run");
	root_write("run/ostree-booted", "");
	root_write("proc/cmdline", cmdline);
	root_write("proc/sys/kernel/random/boot_id", id);
}

static inline char *
device_sum(const char *path)
{
	g_autofree char *bytes = NULL;
	gsize size = 0;

	return g_file_get_contents(path, &bytes, &size, NULL)
		   ? g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, size)
		   : NULL;
}

/* The data has the content @letter from now on: etcd has started on the directory, written and stopped. */
static inline void
device_etcd_writes(char letter)
{
	/* Each letter has a revision of its own. A page of rows is enough. */
	const DbSpec spec = {.rows = 3 + (guint)(letter - 'a'),
			     .keys = 2,
			     .value = 24,
			     .page_size = 4096};
	g_autofree char *db = root_path(DEVICE_DATA "/member/snap/db");
	Log log;
	g_autofree char *segment = NULL;
	int fd;

	root_mkdir(DEVICE_DATA "/member/snap");
	ck_assert_int_eq(chmod(root, 0755), 0);
	/* etcd keeps the inode of its database. */
	fd = open(db, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	db_write(&spec, fd);
	ck_assert_int_eq(close(fd), 0);
	log_begin(&log);
	log_change(&log, GBE_CONF_ADD, MEMBER);
	while (log.index < spec.rows + 4) {
		log_entry(&log, GBE_ENTRY_NORMAL, log.index + 1, DEVICE_REQUEST,
			  sizeof(DEVICE_REQUEST) - 1);
		log_triple(&log, GBE_WAL_STATE, 2, MEMBER, log.index);
	}
	segment = g_build_filename(DEVICE_DATA "/member/wal", log.name, NULL);
	root_write_bytes(segment, log.bytes->data, log.bytes->len);
	log_end(&log);
	g_hash_table_replace(device_contents, device_sum(db), GUINT_TO_POINTER((guint)letter));
}

/* ---- processes ---- */

/* Ends with the process of the test. */
static inline pid_t
device_forks(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A program that has just started: the root, the configuration and no lock. */
static inline GbeApp *
device_app(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *complaint = NULL;
	GbeApp *app = NULL;

	gbe_events_init("test", true, true, 0);
	/* A program of the boot loads the configuration again, and reports what is wrong in it. */
	if (!gbe_app_new("test", root, &app, &error) ||
	    !gbe_configuration_load_to_look(app, &complaint, &error))
		ck_abort_msg("%s", error->message);
	return app;
}

/* Starts @operation in a process of its own. The process ends at the fault points in @fault (NULL: it has none), and writes
 * its result to *ret_fd. */
static inline pid_t
device_starts(DeviceOperation operation, const char *fault, int *ret_fd)
{
	DeviceEnd end = {.code = -1};
	g_autoptr(GError) error = NULL;
	GbeApp *app;
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = device_forks();
	if (pid != 0) {
		(void)close(fds[1]);
		*ret_fd = fds[0];
		return pid;
	}
	if (fault != NULL)
		(void)g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
	app = device_app();
	if (!operation(app, &error)) {
		end.code = error->domain == GBE_ERROR ? error->code : GBE_ERROR_FAILED;
		(void)g_strlcpy(end.message, error->message, sizeof(end.message));
	}
	gbe_app_free(app);
	(void)!write(fds[1], &end, sizeof(end));
	_exit(0);
}

static inline DeviceEnd
device_awaits(pid_t pid, int fd)
{
	DeviceEnd end = {.killed = true};
	ssize_t got = read(fd, &end, sizeof(end));
	int status = 0;

	(void)close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (got == (ssize_t)sizeof(end))
		return end;
	/* Only a fault point may end an operation. */
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x",
		      (guint)status);
	return (DeviceEnd){.killed = true};
}

static inline DeviceEnd
device_plays(DeviceOperation operation, const char *fault)
{
	int fd = -1;
	pid_t pid = device_starts(operation, fault, &fd);

	return device_awaits(pid, fd);
}

/* The same; @operation must go well. */
static inline void
device_does(DeviceOperation operation)
{
	DeviceEnd end = device_plays(operation, NULL);

	ck_assert_msg(!end.killed && end.code < 0, "%s", end.message);
}

/* The fault points in the trace at @path, which a program wrote: "backup-taken@1". Free with g_ptr_array_unref(). */
static inline GPtrArray *
device_points(const char *path)
{
	GPtrArray *points = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		g_auto(GStrv) words = g_strsplit(lines[i], " ", -1);

		if (g_strv_length(words) == 3 && g_str_equal(words[0], "fault-point"))
			g_ptr_array_add(points, g_strdup_printf("%s@%s", words[1], words[2]));
	}
	return points;
}

/* The fault points that @operation passes, each as often as it does. Free with g_ptr_array_unref(). */
static inline GPtrArray *
device_traces(DeviceOperation operation)
{
	g_autofree char *path = g_build_filename(scratch, "trace", NULL);
	int saved = dup(STDERR_FILENO),
	    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)dup2(fd, STDERR_FILENO);
	(void)g_setenv("GREENBOOT_ETCD_FAULT_TRACE", "1", true);
	device_does(operation);
	g_unsetenv("GREENBOOT_ETCD_FAULT_TRACE");
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
	(void)close(fd);
	return device_points(path);
}

/* Another process has the file @path open with a lock: etcd its database, or a program of this project its lock. */
static inline pid_t
device_locks(const char *path)
{
	g_autofree char *full = root_path(path);
	int fds[2], fd;
	char word;
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = device_forks();
	if (pid == 0) {
		fd = open(full, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || flock(fd, LOCK_EX) != 0)
			_exit(1);
		(void)!write(fds[1], "l", 1);
		for (;;)
			pause();
	}
	(void)close(fds[1]);
	ck_assert_int_eq(read(fds[0], &word, 1), 1);
	(void)close(fds[0]);
	return pid;
}

/* etcd runs, as the locks show. Ends with device_stops(). */
static inline pid_t
device_runs_etcd(void)
{
	return device_locks(DEVICE_DATA "/member/snap/db");
}

static inline void
device_stops(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- boots ---- */

/* The lines that a program of the boot writes for people are not the test's. */
static inline pid_t
device_forks_quietly(void)
{
	pid_t pid = device_forks();

	if (pid == 0)
		(void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
	return pid;
}

/* Shuts down, if a run has begun, and boots @deployment. Returns prerun's exit status: 0, or 5 if etcd is held back. */
static inline int
device_boots(char deployment)
{
	int status = 0;
	pid_t pid;

	if (device_boot > 0) {
		pid = device_forks_quietly();
		if (pid == 0)
			_exit(gbe_finalize_run(device_app()));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	}
	device_comes_up(deployment);
	pid = device_forks_quietly();
	if (pid == 0)
		_exit(gbe_prerun_start(root, NULL));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* ---- the state of the device ---- */

static inline char
device_content(const char *data)
{
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	g_autofree char *sum = device_sum(db);
	char letter =
	    sum != NULL ? (char)GPOINTER_TO_UINT(g_hash_table_lookup(device_contents, sum)) : '-';

	return letter != 0 ? letter : '?';
}

static inline gint
device_by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* An entry of the store: its content, grade and marks. An entry without a final name has that name. */
static inline char *
device_entry(const char *store, const char *name)
{
	g_autofree char *data = g_build_filename(store, name, "data", NULL);
	g_autofree char *path = g_build_filename(store, name, "manifest.json", NULL);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *manifest;

	if (*name == '.')
		return g_strdup(name);
	if (!json_parser_load_from_file(parser, path, NULL))
		return g_strdup_printf("%c damaged", device_content(data));
	manifest = json_node_get_object(json_parser_get_root(parser));
	return g_strdup_printf(
	    "%c %s%s%s", device_content(data),
	    json_object_get_string_member_with_default(manifest, "grade", "?"),
	    json_object_get_boolean_member_with_default(manifest, "pinned", false) ? " pinned" : "",
	    json_object_get_boolean_member_with_default(manifest, "discard", false) ? " discard"
										    : "");
}

/* Adds the sorted names of @directory that begin with one of @prefixes (NULL: an entry of the store each). */
static inline void
device_lists(GString *text, const char *directory, const char *label, bool store)
{
	g_autofree char *path = root_path(directory);
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

	for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
		if (store || *name == '.')
			g_ptr_array_add(found, store ? device_entry(path, name) : g_strdup(name));
	g_ptr_array_sort(found, device_by_text);
	for (guint i = 0; i < found->len; i++)
		g_string_append_printf(text, "%s%s", i == 0 ? label : ", ",
				       (char *)found->pdata[i]);
}

/* Describes the device in one line; newly allocated. */
static inline char *
device_tells(void)
{
	static const char *const kinds[] = {"", "restore", "last-good", "undo"};
	GString *text = g_string_new("data ");
	g_autofree char *data = root_path(DEVICE_DATA);
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	GbeApp *app = device_app();

	g_string_append_c(text, device_content(data));
	device_lists(text, DEVICE_STORE, "; backups ", true);
	device_lists(text, "var/lib", "; left ", false);
	gbe_state_observe(app, facts);
	if (facts->request.kind != GBE_REQUEST_NONE)
		g_string_append_printf(text, "; request %s", kinds[facts->request.kind]);
	if (facts->intent != NULL)
		g_string_append(text, "; intent");
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->verdict != GBE_VERDICT_NONE)
			g_string_append_printf(text, "; run %s",
					       gbe_verdict_to_string(run->verdict));
	}
	gbe_app_free(app);
	return g_string_free(text, false);
}

/* The name of the backup that has the content @letter; newly allocated. */
static inline char *
device_backup_of(char letter)
{
	g_autofree char *path = root_path(DEVICE_STORE);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

	ck_assert_ptr_nonnull(dir);
	for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
		g_autofree char *data = g_build_filename(path, name, "data", NULL);

		if (*name != '.' && device_content(data) == letter)
			return g_strdup(name);
	}
	ck_abort_msg("no backup has %c", letter);
	return NULL;
}

/* Every name below the root with its inode; of what is not a directory, also its size and times. A dry run may try a
 * rename in a directory. Two equal texts mean that nothing was changed. */
static inline char *
device_dumps(void)
{
	char *text = NULL;
	const char *const argv[] = {"find", root,      "-type",
				    "d",    "-printf", "%P %i %m\\n",
				    "-o",   "-printf", "%P %i %m %s %T@ %C@\\n",
				    NULL};

	ck_assert_int_eq(run_program(argv, &text), 0);
	return text;
}

/* Two such texts are equal; names the first line that differs. */
static inline void
device_same(const char *before, const char *after)
{
	g_auto(GStrv) a = g_strsplit(before, "\n", -1), b = g_strsplit(after, "\n", -1);

	for (guint i = 0; a[i] != NULL || b[i] != NULL; i++)
		ck_assert_msg(g_strcmp0(a[i], b[i]) == 0, "\"%s\" became \"%s\"", a[i], b[i]);
}

/* Finishes or undoes the work that a cut left, as the next program does first. */
static inline bool
device_recovers(GbeApp *app, GError **error)
{
	g_auto(GbeRecovery) recovery = {0};

	return gbe_app_lock(app, "test", GBE_WAIT_BY_HAND, error) &&
	       gbe_recover_here(app, &recovery, error) &&
	       (!recovery.exchange_open || gbe_throw(error, GBE_ERROR_PARTIAL, "half done"));
}

/* ---- the device itself ---- */

/* Replaces the present device by a new one that has never booted. A is deployed, and the data has the content 'a'. */
static inline void
device_new(void)
{
	if (root != NULL) {
		ck_assert_int_eq(RUN("rm", "-rf", "--", root), 0);
		root_teardown();
	}
	root_setup();
	if (device_contents == NULL)
		device_contents = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	device_deployed = device_boot = 0;
	root_write("ostree/repo/config", "[core]\nrepo_version=1\nmode=bare-user\n");
	root_mkdir("ostree/repo/objects");
	root_mkdir("ostree/repo/tmp");
	root_mkdir("ostree/repo/refs/heads");
	root_link("ostree/boot.1", "boot.1.1");
	root_link("boot/loader", "loader.1");
	root_mkdir("var/lib");
	root_write(DEVICE_CONF, DEVICE_CONF_TEXT);
	device_deploys('A');
	device_etcd_writes('a');
}

/* Makes the backup "kept". */
static inline bool
device_keeps(GbeApp *app, GError **error)
{
	const GbeByHandBackup options = {.name = "kept"};
	g_auto(GbeByHandResult) result = {0};

	return gbe_by_hand_backup(app, &options, &result, error);
}

/* A run of A that has backups of "a" and "b", and "c" as its data. That of "b" is "kept". */
static inline void
device_used(void)
{
	device_new();
	ck_assert_int_eq(device_boots('A'), 0);
	device_etcd_writes('b');
	device_does(device_keeps);
	device_etcd_writes('c');
}

/* The main of these programs. */
static inline int
device_main(Suite *suite)
{
	/* Each operation has a process of its own, which would load libostree each time. */
	(void)dlopen("libostree-1.so.1", RTLD_NOW);
	return scratch_main(suite);
}
