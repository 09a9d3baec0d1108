/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/run/walled.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "core/unit-name.h"
#include "core/units/walled-unit.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "sys/process.h"
#include "sys/systemd/units.h"

#define POLL_USEC (20 * 1000)
#define CALL_MS 30000
#define END_MS 10000
/* Bytes of memory, of which it also gets at most half of the machine's, and of a file, beyond the data's own size. */
#define ROOM (G_GUINT64_CONSTANT(1) << 30)
/* Of systemd.exec(5): from a unit whose program was never reached, except that with EXEC the program could not run. */
#define STATUS_FIRST 200
#define STATUS_LAST 245
#define STATUS_EXEC 203
/* Of unshare(1) and setpriv(1), as of a shell: the program could not be run, or is missing. */
#define STATUS_NOT_RUN 126
#define STATUS_NOT_FOUND 127
/* The output is in memory. */
#define OUTPUT_MOST (32 << 20)
/* PrivatePIDs= and BindLogSockets= came with this version of systemd. */
#define FIRST_WITH_OWN_PIDS 257
#define FREE_LEAST (G_GUINT64_CONSTANT(64) << 20)

static bool
under_systemd(const GbeApp *app)
{
	return !app->below_root && geteuid() == 0 && sd_booted() > 0;
}

bool
gbe_walled_user(const GbeApp *app, const struct stat *owner, GbeChildUser *ret_user, GError **error)
{
	uid_t unused;

	if (!under_systemd(app)) {
		*ret_user = (GbeChildUser){owner->st_uid, owner->st_gid};
		return true;
	}
	unused = gbe_process_unused_uid(owner->st_uid);
	if (unused == 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "no user id is free for a program on a copy of the data");
	*ret_user = (GbeChildUser){unused, unused};
	return true;
}

static bool
give_file(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	  GError **error)
{
	const GbeChildUser *user = data;

	(void)st;
	return fchownat(dir_fd, name, user->uid, user->gid, AT_SYMLINK_NOFOLLOW) == 0 ||
	       gbe_throw_errno(error, errno, "cannot set the owner of %s", path);
}

bool
gbe_walled_give(int dir_fd, const GbeChildUser *user, GError **error)
{
	if (geteuid() != 0)
		return true;
	return gbe_tree_walk(dir_fd, NULL, NULL, give_file, (gpointer)user, error) &&
	       (fchown(dir_fd, user->uid, user->gid) == 0 ||
		gbe_throw_errno(error, errno, "cannot set the owner of the copy"));
}

/* Throws for a unit that failed: systemd's own limits, and a device without resources, speak of the device and not of
 * the program. @started: the start succeeded, so that the exit status is the program's. */
static bool
throw_failed(const GbeWalledRun *run, const GbeUnitState *state, bool started, GError **error)
{
	static const char *const of_device[] = {"timeout", "resources", NULL};
	const char *result = state->result != NULL ? state->result : "failed";
	int status = gbe_unit_exit_status(GBE_WALLED_UNIT);
	g_autofree char *said = NULL;

	if (status == STATUS_EXEC || status == STATUS_NOT_RUN || status == STATUS_NOT_FOUND)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s cannot be executed: its interpreter or dynamic linker is "
				 "missing, or it is a program of another architecture",
				 run->child.name);
	if (!started && status >= STATUS_FIRST && status <= STATUS_LAST)
		return gbe_throw(
		    error, GBE_ERROR_CANNOT_TELL,
		    "systemd cannot confine %s (status %d); see journalctl -u " GBE_WALLED_UNIT,
		    run->child.name, status);
	if (g_str_equal(result, "oom-kill"))
		return gbe_throw(
		    error, GBE_ERROR_CANNOT_TELL,
		    "%s needs more memory than the size of the data and 1 GiB, or than "
		    "half of this machine's",
		    run->child.name);
	said = gbe_child_last_line(&run->child);
	if (g_str_has_prefix(said, "unshare: ") || g_str_has_prefix(said, "setpriv: "))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "cannot confine %s: %s",
				 run->child.name, said);
	return gbe_throw(error,
			 g_strv_contains(of_device, result) ? GBE_ERROR_CANNOT_TELL
							    : GBE_ERROR_VERIFY_FAILED,
			 "%s ended (%s): %s", run->child.name, result,
			 *said != '\0' ? said : "see journalctl -u " GBE_WALLED_UNIT);
}

static bool
queue_unit(GbeWalledRun *run, GVariant *properties, GError **error)
{
	g_autoptr(GVariant) owned = g_variant_ref_sink(properties);
	g_auto(GbeUnitState) state = {NULL};
	g_autofree char *job = NULL;
	const char *result = NULL;
	bool exists = false;

	/* A unit that a killed process has left. */
	(void)!gbe_jobs_run(run->jobs, "StopUnit", "stop", GBE_WALLED_UNIT, END_MS * 2, NULL);
	gbe_transient_forget(run->jobs, GBE_WALLED_UNIT);
	if (!gbe_transient_start(run->jobs, GBE_WALLED_UNIT, owned, &job, &exists, error) ||
	    !gbe_jobs_wait(run->jobs, job, CALL_MS, &result, error))
		return false;
	if (g_strcmp0(result, "done") == 0)
		return true;
	/* A device that is busy lets the job's time pass. */
	if (g_strcmp0(result, "failed") != 0 || !gbe_unit_query(GBE_WALLED_UNIT, &state, NULL) ||
	    state.result == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s does not start (systemd's job: %s)", run->child.name,
				 result != NULL ? result : "timeout");
	/* A program that ends at once may fail its own start. */
	return throw_failed(run, &state, false, error);
}

static bool
has_program(int root_fd, const char *path)
{
	gbe_autofd int fd = -1;
	struct stat st;

	return gbe_open_in_root(root_fd, path, O_PATH, &fd, NULL) && fstat(fd, &st) == 0 &&
	       S_ISREG(st.st_mode) && (st.st_mode & S_IXOTH) != 0;
}

static bool
start_unit(GbeApp *app, const GbeWalled *walled, int root_fd, const struct stat *owner,
	   GbeWalledRun *run, GError **error)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", walled->work_fd);
	g_autofree char *work = g_file_read_link(link, NULL);
	g_autofree char *own = gbe_process_unit(getpid());
	g_auto(GStrv) argv = g_strdupv((char **)walled->argv);
	g_autofree char *namespaces = NULL;
	long pages = sysconf(_SC_PHYS_PAGES);
	guint64 machine = pages > 0 ? (guint64)pages * (guint64)sysconf(_SC_PAGESIZE) : G_MAXUINT64;
	GbeWalledUnit unit = {.tree = walled->tree,
			      .hidden = app->config->etcd.data_dir,
			      .bound_to = own != NULL && g_str_has_suffix(own, ".service") &&
						  gbe_unit_is_parent(own)
					      ? own
					      : NULL,
			      .work = work,
			      .output_fd = memfd_create("output", MFD_CLOEXEC),
			      .user = owner->st_uid,
			      .own_pids = gbe_manager_version() >= FIRST_WITH_OWN_PIDS,
			      .util_linux = has_program(root_fd, GBE_WALLED_UNSHARE) &&
					    has_program(root_fd, GBE_WALLED_SETPRIV),
			      .seconds = walled->seconds,
			      .memory = MIN(walled->size + ROOM, machine / 2),
			      .largest = 2 * walled->size + ROOM};

	if (work == NULL || !g_utf8_validate(work, -1, NULL))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "the path of the copy is unknown");
	g_free(argv[0]);
	argv[0] = g_strdup(walled->program);
	unit.argv = (const char *const *)argv;
	/* If the limit is 0 or missing, systemd cannot start a unit with PrivateUsers=. */
	unit.own_users =
	    g_file_get_contents("/proc/sys/user/max_user_namespaces", &namespaces, NULL, NULL) &&
	    g_ascii_strtoull(namespaces, NULL, 10) > 0;
	run->child = (GbeChild){.name = g_strdup(walled->argv[0]), .out_fd = unit.output_fd};
	if (unit.output_fd < 0)
		return gbe_throw_errno(error, errno, "cannot start %s", walled->argv[0]);
	return queue_unit(run, gbe_walled_unit_properties(&unit), error);
}

/* Bytes on the disk; 0: unknown. */
static guint64
allocated_below(int work_fd)
{
	g_auto(GbeTreeInfo) info = {0};

	return gbe_tree_scan(work_fd, NULL, NULL, &info, NULL) ? info.allocated : 0;
}

bool
gbe_walled_start(GbeApp *app, const GbeWalled *walled, GbeWalledRun *ret_run, GError **error)
{
	g_auto(GbeWalledRun) run = {.work_fd = walled->work_fd};
	int root_fd = walled->tree != NULL ? walled->tree_fd : app->root_fd;
	gbe_autofd int program_fd = -1;
	guint64 total, inodes;
	struct stat st, owner;

	if (!gbe_open_in_root(root_fd, walled->program, O_RDONLY | O_NONBLOCK, &program_fd, error))
		return false;
	if (fstat(program_fd, &st) < 0 || !S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_REFUSED, "%s is no program", walled->program);
	if (!gbe_filesystem_space(walled->work_fd, &run.available, &total, &inodes, error))
		return false;
	run.size = allocated_below(walled->work_fd);
	if (fstat(walled->work_fd, &owner) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the copy");
	if (under_systemd(app)) {
		if (!gbe_jobs_open(CALL_MS, &run.jobs, error) ||
		    !start_unit(app, walled, root_fd, &owner, &run, error))
			return false;
	} else {
		const GbeChildUser user = {owner.st_uid, owner.st_gid};

		if (!gbe_child_start_as(geteuid() == 0 ? &user : NULL, program_fd, walled->argv,
					walled->work_fd, &run.child, error))
			return false;
	}
	*ret_run = run;
	run = (GbeWalledRun){0};
	return true;
}

static bool
poll_run(GbeWalledRun *run, bool *ret_running, GError **error)
{
	g_auto(GbeUnitState) state = {NULL};
	guint64 available, total, inodes, size;
	g_autoptr(GError) local = NULL;
	struct stat st;

	if (run->jobs != NULL) {
		if (!gbe_unit_query(GBE_WALLED_UNIT, &state, error))
			return false;
		if (g_strcmp0(state.active_state, "failed") == 0)
			return throw_failed(run, &state, true, error);
		*ret_running = g_strcmp0(state.active_state, "inactive") != 0;
	} else if (!gbe_child_poll(&run->child, ret_running, error)) {
		return gbe_rethrow(error, GBE_ERROR_VERIFY_FAILED);
	}
	if (!*ret_running)
		return true;
	if (fstat(run->child.out_fd, &st) == 0 && st.st_size > OUTPUT_MOST)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s prints without end",
				 run->child.name);
	if (!gbe_filesystem_space(run->work_fd, &available, &total, &inodes, &local))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", local->message);
	if (available >= MIN(FREE_LEAST, run->available / 2))
		return true;
	/* Others also write to that file system. */
	size = allocated_below(run->work_fd);
	return size > run->size && size - run->size >= (run->available - available) / 2
		   ? gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s fills the disk", run->child.name)
		   : gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			       "other programs fill the disk while %s runs", run->child.name);
}

bool
gbe_walled_is_starved(const GbeWalledRun *run, guint64 seconds)
{
	pid_t pid = run->jobs != NULL ? gbe_unit_main_pid(GBE_WALLED_UNIT) : run->child.pid;

	return gbe_process_waited(pid) > seconds * G_USEC_PER_SEC / 2;
}

bool
gbe_walled_wait(GbeWalledRun *run, const GbeWalledWait *wait, GError **error)
{
	const char *name = run->child.name;
	gint64 deadline = g_get_monotonic_time() + (gint64)wait->seconds * G_USEC_PER_SEC;

	for (bool running = true;;) {
		if (!poll_run(run, &running, error))
			return false;
		if (!running)
			return wait->ready == NULL || gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
								"%s ended on its own", name);
		if (wait->ready != NULL && wait->ready(wait->ready_data))
			return true;
		if (g_get_monotonic_time() >= deadline) {
			g_autofree char *said = gbe_child_last_line(&run->child);
			bool starved = gbe_walled_is_starved(run, wait->seconds);

			return gbe_throw(
			    error, starved ? GBE_ERROR_CANNOT_TELL : GBE_ERROR_VERIFY_FAILED,
			    "%s is not done within %" G_GUINT64_FORMAT " s (--timeout)%s%s%s", name,
			    wait->seconds, starved ? ", as the device is busy" : "",
			    *said != '\0' ? ": " : "", said);
		}
		if (wait->progress != NULL && !wait->progress(0, 0, wait->progress_data))
			return gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
		g_usleep(POLL_USEC);
	}
}

void
gbe_walled_end(GbeWalledRun *run)
{
	g_autoptr(GError) ignored = NULL;

	if (run->jobs == NULL) {
		gbe_child_end(&run->child, END_MS);
		return;
	}
	/* systemd kills what is left at the unit's own limit. */
	if (!gbe_jobs_run(run->jobs, "StopUnit", "stop", GBE_WALLED_UNIT, END_MS * 2, &ignored))
		g_debug("%s", ignored->message);
	gbe_transient_forget(run->jobs, GBE_WALLED_UNIT);
}

void
gbe_walled_clear(GbeWalledRun *run)
{
	if (run->child.name != NULL)
		gbe_walled_end(run);
	gbe_child_clear(&run->child);
	g_clear_pointer(&run->jobs, gbe_jobs_free);
}
