/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "app/backup/observe.h"
#include "app/boot/boot.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "base/alive.h"
#include "base/error.h"
#include "core/decide/decide.h"
#include "core/decide/past.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "sys/systemd/events.h"
#include <systemd/sd-daemon.h>

#define REAP_USEC (5 * G_USEC_PER_SEC)
#define TELL_USEC (G_USEC_PER_SEC / 5)
/* How often the parent checks whether a worker has ended when another process keeps its pipe open. */
#define TICK_USEC (G_USEC_PER_SEC / 2)
#define REAP_TICK_USEC (G_USEC_PER_SEC / 50)
#define PATIENCE_USEC (3 * G_USEC_PER_SEC)
#define ASK_SECONDS 10
/* The exit status of a worker that ended before its work began. */
#define EXIT_NO_APP 125

typedef struct {
	const char *program;
	const char *root;
	GbeWork work;
	gpointer data;
	guint idle_seconds;  /* 0: none */
	guint total_seconds; /* 0: none */
	bool notify;	     /* tell systemd that the program makes progress */
} Job;

/* One forked worker, its pipe and its limits. */
typedef struct {
	pid_t pid;
	int fd;		      /* its pipe; -1 once the other end is closed */
	gint64 idle_deadline; /* monotonic microseconds, or G_MAXINT64 */
	gint64 total_deadline;
	bool ended; /* false: it had to be killed */
	int status; /* as of waitpid() */
} Worker;

static const int stop_signals[] = {SIGTERM, SIGINT, SIGHUP};
static volatile sig_atomic_t asked_to_stop;

static void
note_signal(int number)
{
	asked_to_stop = number;
}

static void
reset_signals(const sigset_t *mask)
{
	for (gsize i = 0; i < G_N_ELEMENTS(stop_signals); i++)
		(void)signal(stop_signals[i], SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
}

/* ---- the worker's side ---- */

/* One message is four bytes: 0 is a sign of life, anything else a new limit. */
typedef struct {
	int fd;
	gint64 last;
} Teller;

static void
send_message(const Teller *teller, guint32 message)
{
	/* A full pipe needs no wait: the parent then has enough signs of life. */
	(void)!write(teller->fd, &message, sizeof(message));
}

static void
tell_parent(guint64 bytes, gpointer data)
{
	Teller *teller = data;
	gint64 now = g_get_monotonic_time();

	if (now - teller->last < TELL_USEC)
		return;
	teller->last = now;
	send_message(teller, 0);
}

void
gbe_supervise_extend(GbeApp *app, guint seconds)
{
	if (app->progress == tell_parent && seconds > 0)
		send_message(app->progress_data, seconds);
}

static G_GNUC_NORETURN void
be_worker(const Job *job, int fd, pid_t parent, const sigset_t *mask)
{
	gint64 patience = PATIENCE_USEC;
	Teller teller = {.fd = fd};
	g_autoptr(GError) error = NULL;
	GbeApp *app = NULL;
	int status = EXIT_NO_APP;

	reset_signals(mask);
	/* Its own process group, so that its children are also killed. The kernel kills the worker when the parent
	 * dies. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_NO_APP);
	if (gbe_app_new(job->program, job->root, &app, &error)) {
		app->progress = tell_parent;
		app->progress_data = &teller;
		app->patience = &patience;
		gbe_alive_set(tell_parent, &teller);
		status = job->work(app, job->data);
		gbe_app_free(app);
	} else {
		(void)fprintf(stderr, "greenboot-etcd-%s: %s\n", job->program, error->message);
		g_clear_error(&error);
	}
	exit(status);
}

/* ---- the parent's side ---- */

/* On failure, errno says why. */
static bool
start_worker(const Job *job, Worker *worker, const sigset_t *mask)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	/* A child would write buffered output a second time. */
	(void)fflush(NULL);
	worker->pid = fork();
	if (worker->pid == 0) {
		(void)close(ends[0]);
		be_worker(job, ends[1], parent, mask);
	}
	(void)close(ends[1]);
	if (worker->pid < 0) {
		(void)close(ends[0]);
		return false;
	}
	worker->fd = ends[0];
	return true;
}

static gint64
from_now(guint seconds)
{
	return seconds == 0 ? G_MAXINT64
			    : g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
}

static void
note_alive(const Job *job, Worker *worker)
{
	worker->idle_deadline = from_now(job->idle_seconds);
	if (job->notify)
		(void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" G_GINT64_FORMAT,
				 (gint64)job->idle_seconds * 2 * G_USEC_PER_SEC);
}

static void
read_messages(const Job *job, Worker *worker)
{
	guint32 messages[64];
	ssize_t got = read(worker->fd, messages, sizeof(messages));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		gbe_close_fd(&worker->fd);
		return;
	}
	for (gsize i = 0; i < (gsize)got / sizeof(guint32); i++)
		if (messages[i] != 0)
			worker->total_deadline = from_now(messages[i]);
	note_alive(job, worker);
}

static bool
has_ended(Worker *worker)
{
	pid_t got;

	do
		got = waitpid(worker->pid, &worker->status, WNOHANG);
	while (got < 0 && errno == EINTR);
	return got == worker->pid;
}

/* Returns when the worker has ended, or was given up: a process that sleeps in the kernel for a disk cannot be
 * killed. */
static void
watch_worker(const Job *job, Worker *worker, const sigset_t *mask)
{
	while (!worker->ended && asked_to_stop == 0) {
		gint64 usec =
		    MIN(worker->idle_deadline, worker->total_deadline) - g_get_monotonic_time();
		struct pollfd pollfd = {.fd = worker->fd, .events = POLLIN};
		struct timespec timeout;

		if (usec <= 0)
			break;
		usec = MIN(usec, worker->fd >= 0 ? TICK_USEC : REAP_TICK_USEC);
		timeout.tv_sec = usec / G_USEC_PER_SEC;
		timeout.tv_nsec = usec % G_USEC_PER_SEC * 1000;
		if (ppoll(&pollfd, 1, &timeout, mask) > 0)
			read_messages(job, worker);
		worker->ended = has_ended(worker);
	}
	if (!worker->ended) {
		gint64 deadline = g_get_monotonic_time() + REAP_USEC;
		Worker killed = *worker;

		(void)kill(-worker->pid, SIGKILL);
		(void)kill(worker->pid, SIGKILL);
		while (!has_ended(&killed) && g_get_monotonic_time() < deadline)
			g_usleep(REAP_TICK_USEC);
	} else if (WIFSIGNALED(worker->status)) {
		(void)kill(-worker->pid, SIGKILL);
	}
}

static char *
describe_end(const Job *job, const Worker *worker)
{
	if (!worker->ended && asked_to_stop != 0)
		return g_strdup_printf("was told to stop by signal %d", (int)asked_to_stop);
	if (!worker->ended && g_get_monotonic_time() >= worker->total_deadline)
		return g_strdup("did not end in time and was killed");
	if (!worker->ended)
		return g_strdup_printf("made no progress for %u s and was killed",
				       job->idle_seconds);
	if (WIFSIGNALED(worker->status))
		return g_strdup_printf("was killed by signal %d (%s)", WTERMSIG(worker->status),
				       g_strsignal(WTERMSIG(worker->status)));
	return g_strdup_printf("ended with exit status %d", WEXITSTATUS(worker->status));
}

/* Runs the job. Returns the worker's exit status; -1: it did not exit, or had to be killed. *ret_what, newly
 * allocated, is what happened, for people: "was killed by signal 6 (Aborted)". */
static int
run_job(const Job *job, char **ret_what)
{
	Worker worker = {.fd = -1};
	struct sigaction action = {.sa_handler = note_signal};
	sigset_t block, before;

	/* The termination signals are let in only while the parent waits. */
	asked_to_stop = 0;
	sigemptyset(&action.sa_mask);
	sigemptyset(&block);
	for (gsize i = 0; i < G_N_ELEMENTS(stop_signals); i++) {
		sigaddset(&block, stop_signals[i]);
		(void)sigaction(stop_signals[i], &action, NULL);
	}
	/* If SIGCHLD is ignored, no child leaves a status. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &block, &before);
	if (start_worker(job, &worker, &before)) {
		worker.total_deadline = from_now(job->total_seconds);
		note_alive(job, &worker);
		watch_worker(job, &worker, &before);
		*ret_what = describe_end(job, &worker);
		gbe_close_fd(&worker.fd);
	} else {
		*ret_what = g_strdup_printf("could not be started: %s", g_strerror(errno));
	}
	reset_signals(&before);
	return worker.ended && WIFEXITED(worker.status) ? WEXITSTATUS(worker.status) : -1;
}

static bool
is_answer(int status)
{
	return status == 0 || status == GBE_EXIT_HELD;
}

/* Runs a child that answers in time, else returns GBE_EXIT_HELD and sets *ret_what, newly allocated, to what happened
 * to the child. */
static int
ask_child(const char *program, const char *root, GbeWork work, gpointer data, char **ret_what)
{
	const Job job = {.program = program,
			 .root = root,
			 .work = work,
			 .data = data,
			 .total_seconds = ASK_SECONDS};
	g_autofree char *what = NULL;
	int status = run_job(&job, &what);

	*ret_what = is_answer(status) ? NULL : g_steal_pointer(&what);
	return is_answer(status) ? status : GBE_EXIT_HELD;
}

int
gbe_supervise_prerun(const char *root, GbeWork work, gpointer data, guint idle_seconds)
{
	const Job job = {.program = "prerun",
			 .root = root,
			 .work = work,
			 .data = data,
			 .idle_seconds = idle_seconds,
			 .notify = root == NULL || g_str_equal(root, "/")};
	g_autofree char *happened = NULL;
	g_autofree char *asked = NULL;
	g_autofree char *shown = NULL;
	int status = run_job(&job, &happened);

	if (is_answer(status))
		return status;
	status = ask_child("prerun", root, gbe_supervise_ask, happened, &asked);
	if (asked != NULL)
		(void)fprintf(stderr,
			      "greenboot-etcd-prerun: etcd is held back: the worker %s, and the "
			      "second worker, which asks whether etcd may start, %s\n",
			      happened, asked);
	(void)ask_child("prerun", root, gbe_supervise_show, asked == NULL ? happened : NULL,
			&shown);
	return status;
}

/* *ret_happened, newly allocated, says why the worker did not finish; NULL: it finished. */
static int
supervise_job(const Job *job, int on_failure, char **ret_happened)
{
	g_autofree char *what = NULL;
	int status = run_job(job, &what);

	*ret_happened = NULL;
	if (status >= 0 && status != EXIT_NO_APP)
		return status;
	(void)fprintf(stderr, "greenboot-etcd-%s: the worker %s\n", job->program, what);
	*ret_happened = g_steal_pointer(&what);
	return on_failure;
}

int
gbe_supervise_bounded(const char *program, const char *root, GbeWork work, gpointer data,
		      guint seconds, int on_failure)
{
	const Job job = {.program = program,
			 .root = root,
			 .work = work,
			 .data = data,
			 .total_seconds = seconds};
	g_autofree char *happened = NULL;

	return supervise_job(&job, on_failure, &happened);
}

int
gbe_supervise_finalize(const char *root, GbeWork work, gpointer data, guint idle_seconds,
		       guint total_seconds)
{
	const Job job = {.program = "finalize",
			 .root = root,
			 .work = work,
			 .data = data,
			 .idle_seconds = idle_seconds,
			 .total_seconds = total_seconds,
			 .notify = root == NULL || g_str_equal(root, "/")};
	g_autofree char *happened = NULL;
	g_autofree char *asked = NULL;
	int status = supervise_job(&job, 1, &happened);

	if (happened != NULL)
		(void)ask_child("finalize", root, gbe_finalize_carry, happened, &asked);
	return status;
}

/* ---- the mains in hooks/ ---- */

typedef struct {
	const GbeHook *hook;
	const char *config;
} HookJob;

static int
work_as_hook(GbeApp *app, gpointer data)
{
	const HookJob *job = data;

	g_free(app->config_file);
	app->config_file = g_strdup(job->config);
	return job->hook->work(app);
}

int
gbe_hook_run(const GbeHook *hook, const char *root, const char *config)
{
	HookJob job = {hook, config};

	return hook->idle_seconds > 0
		   ? gbe_supervise_finalize(root, work_as_hook, &job, hook->idle_seconds,
					    hook->seconds)
		   : gbe_supervise_bounded(hook->program, root, work_as_hook, &job, hook->seconds,
					   hook->on_failure);
}

static int verbosity;

static gboolean
count_verbose(const char *name, const char *value, gpointer data, GError **error)
{
	verbosity++;
	return TRUE;
}

int
gbe_hook_main(const GbeHook *hook, int argc, char **argv)
{
	g_autofree char *root = NULL;
	g_autofree char *config = NULL;
	g_autofree char *text = NULL;
	gboolean help = FALSE;
	GOptionEntry entries[] = {
	    {"root", 0, 0, G_OPTION_ARG_FILENAME, &root, "Every path lies below DIR", "DIR"},
	    {"config", 0, 0, G_OPTION_ARG_FILENAME, &config, "Read this file alone", "FILE"},
	    {"verbose", 'v', G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK,
	     (gpointer)(GOptionArgFunc)count_verbose, "Print each step", NULL},
	    {"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this", NULL},
	    {NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(context, hook->summary);
	if (hook->options != NULL)
		g_option_context_add_main_entries(context, hook->options, NULL);
	/* GLib's own --help would end the program. */
	g_option_context_set_help_enabled(context, false);
	g_option_context_add_main_entries(context, entries, NULL);
	if (g_option_context_parse(context, &argc, &argv, &error) && argc > 1)
		gbe_throw(&error, GBE_ERROR_USAGE, "what is \"%s\"?", argv[1]);
	if (error != NULL) {
		(void)fprintf(stderr, "greenboot-etcd-%s: %s (--help shows the options)\n",
			      hook->program, error->message);
		return hook->on_usage;
	}
	if (help) {
		text = g_option_context_get_help(context, true, NULL);
		return fputs(text, stdout) == EOF ? hook->on_usage : 0;
	}
	gbe_events_init(hook->program, root != NULL && !g_str_equal(root, "/"), false, verbosity);
	return hook->run != NULL ? hook->run(root, config) : gbe_hook_run(hook, root, config);
}

/*
 * ---- the question after a prerun that did not end ----
 *
 * May etcd have the data nevertheless? A separate process answers within ten seconds. It avoids the probable causes of
 * the worker's end: it takes no lock and does not open the directory of backups. It uses libostree only after a soft
 * reboot, when the kernel command line still names the deployment before it.
 */

static bool
find_booted(GbeApp *app, GbeDeployment *ret_booted, GError **error)
{
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *run = NULL;

	if (!gbe_run_read(app->root_fd, !app->below_root, &run, error))
		return false;
	if (app->below_root || strchr(run, '+') == NULL)
		return gbe_booted_from_cmdline(app, ret_booted, error);
	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	if (deployments->booted.id == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", deployments->booted_why);
	gbe_deployment_copy(ret_booted, &deployments->booted);
	return true;
}

/* Reads the owner of the data from the ledger. Writes nothing. */
static void
find_owner(GbeApp *app, GbeFacts *facts)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;

	if (gbe_data_open(app, &data, &error)) {
		gbe_data_observe_presence(data, facts);
		gbe_data_observe_identity(data, facts);
	} else {
		facts->unopened_why = g_strdup(error->message);
	}
	/* The owner of the directory is the owner of what is left in it. */
	facts->data = facts->tree != NULL ? GBE_YES : GBE_NO;
	gbe_state_observe(app, facts);
	gbe_identify(facts);
}

static void
remove_nonce(GbeApp *app)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_data_open(app, &data, &error) || !gbe_data_remove_nonce(data, &error))
		gbe_note("%s", error->message);
}

/* When etcd starts, first records that the closing record is no longer valid: a later start would otherwise take
 * etcd's own writes for a stranger's. If that cannot be recorded, as while another program has the lock, the nonce
 * goes that the closing record is about. Then records the answer of gbe_supervise_ask() as the last operation. */
static void
record_in_ledger(GbeApp *app)
{
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GError) error = NULL;
	bool held;

	if (done == NULL)
		return;
	held = gbe_json_bool(done, "held", false);
	if (!gbe_app_lock(app, "prerun", GBE_WAIT_NOT, &error)) {
		gbe_note("%s", error->message);
		if (!held)
			remove_nonce(app);
		return;
	}
	find_owner(app, facts);
	if (!held && facts->owner != NULL && !gbe_state_open(app, facts->owner->sequence, &error)) {
		gbe_note("%s", error->message);
		remove_nonce(app);
	}
	gbe_state_note_undecided(app, held ? "hold" : "backup", held,
				 gbe_json_string(done, "reason", NULL));
	gbe_app_unlock(app);
}

int
gbe_supervise_ask(GbeApp *app, gpointer data)
{
	const char *happened = data;
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *complaint = NULL;
	g_autofree char *objection = NULL;
	g_autofree char *reason = NULL;
	GbeHeld held = {GBE_HOLD_NO};

	facts->skip = app->cmdline.skip;
	facts->ostree = gbe_is_in_root(app->root_fd, "/run/ostree-booted");
	if (facts->ostree != GBE_NO && !find_booted(app, &facts->booted, &error))
		facts->booted_why = g_strdup(error->message);
	gbe_configuration_choose(app, facts->booted.id, &complaint);
	gbe_config_free(facts->config);
	facts->config = app->config;
	facts->config_borrowed = true;
	find_owner(app, facts);
	/* NULL: etcd may start. */
	objection = gbe_decide_fallback(facts);
	if (objection == NULL) {
		reason = g_strdup_printf("prerun %s; the deployment has not changed and nothing is "
					 "open, so that etcd starts on what is there",
					 happened);
		gbe_event_start_failed(&(GbeEventFields){.reason = reason});
	} else {
		const GbeHoldFacts known = {.service = app->config->etcd.service};
		GbeHold kind = facts->intent != NULL ? GBE_HOLD_HALF : GBE_HOLD_CRASH;

		reason = g_strdup_printf("prerun %s, and %s", happened, objection);
		gbe_held_set(&held, kind, reason, gbe_hold_steps(kind, &known));
		gbe_event_held_back(&(GbeEventFields){.reason = held.text});
	}
	gbe_prerun_done_write(app, &held, reason);
	gbe_held_clear(&held);
	return objection != NULL ? GBE_EXIT_HELD : 0;
}

int
gbe_supervise_show(GbeApp *app, gpointer data)
{
	GbeObserveOptions options = {.repair = false};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *complaint = NULL;
	GbeDeployment booted = {0};

	if (!find_booted(app, &booted, NULL))
		gbe_note("cannot identify the booted deployment");
	gbe_configuration_choose(app, booted.id, &complaint);
	gbe_deployment_clear(&booted);
	if (data != NULL)
		record_in_ledger(app);
	if (gbe_app_open_state(app, false, &error) && gbe_observe(app, &options, &observed, &error))
		gbe_status_write(app, observed, NULL, NULL);
	else
		gbe_note("%s", error->message);
	return 0;
}
