/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/supervise-job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <systemd/sd-daemon.h>

#include "base/alive.h"

#define REAP_USEC (5 * G_USEC_PER_SEC)
#define TELL_USEC (G_USEC_PER_SEC / 5)
/* How often the parent checks whether a worker has ended when another process keeps its pipe open. */
#define TICK_USEC (G_USEC_PER_SEC / 2)
#define REAP_TICK_USEC (G_USEC_PER_SEC / 50)
#define PATIENCE_USEC (3 * G_USEC_PER_SEC)

typedef struct {
	pid_t pid;
	int fd;		      /* its pipe; -1 once the other end is closed */
	gint64 idle_deadline; /* monotonic microseconds, or G_MAXINT64 */
	gint64 total_deadline;
} Worker;

static volatile sig_atomic_t asked_to_stop;

static void
note_signal(int number)
{
	asked_to_stop = number;
}

/* The worker's side. One message is four bytes: 0 is a sign of life, anything else a new limit. */
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
tell(guint64 bytes, gpointer data)
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
	const Teller *teller = app->progress_data;

	if (app->progress == tell && seconds > 0)
		send_message(teller, seconds);
}

static void
reset_signals(const sigset_t *mask)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
		(void)signal(signals[i], SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
}

static G_GNUC_NORETURN void
be_worker(const GbeJob *job, int fd, pid_t parent, const sigset_t *mask)
{
	gint64 patience = PATIENCE_USEC;
	Teller teller = {.fd = fd};
	g_autoptr(GError) error = NULL;
	GbeApp *app = NULL;
	int status = GBE_EXIT_NO_APP;

	reset_signals(mask);
	/* Its own process group, so that its children are killed with it; and it dies with the parent. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(GBE_EXIT_NO_APP);
	if (gbe_app_new(job->program, job->root, &app, &error)) {
		app->progress = tell;
		app->progress_data = &teller;
		app->patience = &patience;
		gbe_alive_set(tell, &teller);
		status = job->work(app, job->data);
		gbe_app_free(app);
	} else {
		(void)fprintf(stderr, "greenboot-etcd-%s: %s\n", job->program, error->message);
		g_clear_error(&error);
	}
	exit(status);
}

static bool
start_worker(const GbeJob *job, Worker *worker, const sigset_t *mask)
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

/* The parent's side. */

static gint64
from_now(guint seconds)
{
	return seconds == 0 ? G_MAXINT64
			    : g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
}

static void
still_alive(const GbeJob *job, Worker *worker)
{
	worker->idle_deadline = from_now(job->idle_seconds);
	if (job->notify)
		(void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" G_GINT64_FORMAT,
				 (gint64)job->idle_seconds * 2 * G_USEC_PER_SEC);
}

static void
read_messages(const GbeJob *job, Worker *worker)
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
	still_alive(job, worker);
}

static void
wait_for_news(const GbeJob *job, Worker *worker, gint64 usec, const sigset_t *mask)
{
	struct pollfd pollfd = {.fd = worker->fd, .events = POLLIN};
	struct timespec timeout = {.tv_sec = usec / G_USEC_PER_SEC,
				   .tv_nsec = usec % G_USEC_PER_SEC * 1000};

	if (ppoll(&pollfd, 1, &timeout, mask) > 0)
		read_messages(job, worker);
}

static bool
reap(pid_t pid, int *ret_status)
{
	pid_t got;

	do
		got = waitpid(pid, ret_status, WNOHANG);
	while (got < 0 && errno == EINTR);
	return got == pid;
}

/* Returns when the worker has ended, or was left behind: a process that sleeps in the kernel for a disk cannot be
 * killed. */
static void
kill_worker(const Worker *worker)
{
	gint64 deadline = g_get_monotonic_time() + REAP_USEC;
	int status;

	(void)kill(-worker->pid, SIGKILL);
	(void)kill(worker->pid, SIGKILL);
	while (!reap(worker->pid, &status) && g_get_monotonic_time() < deadline)
		g_usleep(REAP_TICK_USEC);
}

static char *
describe(const GbeJob *job, const Worker *worker, const GbeJobEnd *outcome)
{
	if (!outcome->ended && asked_to_stop != 0)
		return g_strdup_printf("was told to stop by signal %d", (int)asked_to_stop);
	if (!outcome->ended && g_get_monotonic_time() >= worker->total_deadline)
		return g_strdup("did not end in time and was killed");
	if (!outcome->ended)
		return g_strdup_printf("made no progress for %u s and was killed",
				       job->idle_seconds);
	if (WIFSIGNALED(outcome->status))
		return g_strdup_printf("was killed by signal %d (%s)", WTERMSIG(outcome->status),
				       g_strsignal(WTERMSIG(outcome->status)));
	return g_strdup_printf("ended with exit status %d", WEXITSTATUS(outcome->status));
}

static void
watch(const GbeJob *job, Worker *worker, const sigset_t *mask, GbeJobEnd *outcome)
{
	while (!outcome->ended && asked_to_stop == 0) {
		gint64 left =
		    MIN(worker->idle_deadline, worker->total_deadline) - g_get_monotonic_time();

		if (left <= 0)
			break;
		wait_for_news(job, worker, MIN(left, worker->fd >= 0 ? TICK_USEC : REAP_TICK_USEC),
			      mask);
		outcome->ended = reap(worker->pid, &outcome->status);
	}
	if (!outcome->ended)
		kill_worker(worker);
	else if (WIFSIGNALED(outcome->status))
		(void)kill(-worker->pid, SIGKILL);
	outcome->what = describe(job, worker, outcome);
}

/* Lets the termination signals in only while the parent waits. */
static void
catch_signals(sigset_t *ret_before)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction action = {.sa_handler = note_signal};
	sigset_t block;

	sigemptyset(&action.sa_mask);
	sigemptyset(&block);
	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++) {
		sigaddset(&block, signals[i]);
		(void)sigaction(signals[i], &action, NULL);
	}
	/* If SIGCHLD is ignored, no child leaves a status. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &block, ret_before);
}

void
gbe_job_run(const GbeJob *job, GbeJobEnd *outcome)
{
	Worker worker = {.fd = -1};
	sigset_t before;

	asked_to_stop = 0;
	catch_signals(&before);
	if (start_worker(job, &worker, &before)) {
		worker.total_deadline = from_now(job->total_seconds);
		still_alive(job, &worker);
		watch(job, &worker, &before, outcome);
		gbe_close_fd(&worker.fd);
	} else {
		outcome->what = g_strdup_printf("could not be started: %s", g_strerror(errno));
	}
	reset_signals(&before);
}
