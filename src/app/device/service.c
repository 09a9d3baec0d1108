/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/service.h"

#include "base/fault.h"
#include "core/version.h"
#include "fs/open.h"
#include "sys/child.h"
#include "sys/systemd/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define STOP_TIMEOUT_MS (120 * 1000)
#define DISMISSED 'd'
#define VERSION_SECONDS 5

/* Does not return. */
static void
guard(const char *unit, int pipe_fd)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	g_autoptr(GError) error = NULL;
	char word = 0;
	ssize_t n;

	for (guint i = 0; i < G_N_ELEMENTS(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)setsid();
	/* The guardian keeps no file of the parent open: the parent's lock must end with the parent. */
	pipe_fd = dup2(pipe_fd, STDERR_FILENO + 1);
	(void)close_range(STDERR_FILENO + 2, ~0U, 0);
	do {
		n = read(pipe_fd, &word, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 1 && word == DISMISSED)
		_exit(0);
	if (!gbe_unit_start(unit, GBE_SERVICE_START_MS, &error)) {
		(void)dprintf(STDERR_FILENO, "greenboot-etcd: start %s again: %s\n", unit,
			      error->message);
		_exit(1);
	}
	_exit(0);
}

static bool
post_guardian(GbeService *service, GError **error)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return gbe_throw_errno(error, errno, "make a pipe");
	service->guardian = fork();
	if (service->guardian < 0) {
		int errsv = errno;

		(void)close(fds[0]);
		(void)close(fds[1]);
		return gbe_throw_errno(error, errsv, "fork");
	}
	if (service->guardian == 0) {
		(void)close(fds[1]);
		guard(service->unit, fds[0]);
	}
	(void)close(fds[0]);
	service->pipe_fd = fds[1];
	return true;
}

static void
dismiss(GbeService *service)
{
	const char word = DISMISSED;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

	/* Writing to a guardian that is gone must not kill this process. */
	(void)sigaction(SIGPIPE, &ignore, &before);
	if (write(service->pipe_fd, &word, 1) != 1)
		g_debug("the guardian of %s is gone", service->unit);
	(void)sigaction(SIGPIPE, &before, NULL);
	(void)close(service->pipe_fd);
	while (waitpid(service->guardian, NULL, 0) < 0 && errno == EINTR)
		;
	g_clear_pointer(&service->unit, g_free);
	service->pipe_fd = -1;
}

bool
gbe_service_stop(const GbeApp *app, GbeService *ret_service, GError **error)
{
	const char *unit = app->config->etcd.service;
	GbeService service = {.pipe_fd = -1};
	g_autoptr(GError) local = NULL;
	GbeUnitState state = {0};
	bool active;

	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "etcd has the data open, and below --root no service is stopped: "
				 "stop it yourself");
	if (unit == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[etcd] service is empty; name the service to stop, or stop etcd "
				 "yourself");
	if (!gbe_unit_query(unit, &state, error))
		return gbe_prefix(error, "ask systemd about %s", unit);
	active = g_strcmp0(state.active_state, "inactive") != 0 &&
		 g_strcmp0(state.active_state, "failed") != 0;
	gbe_unit_state_clear(&state);
	if (!active) {
		*ret_service = service;
		return true;
	}

	service.unit = g_strdup(unit);
	if (!post_guardian(&service, error)) {
		g_free(service.unit);
		return false;
	}
	if (!gbe_unit_stop(unit, STOP_TIMEOUT_MS, error) || GBE_FAULT("service-stopped", error)) {
		(void)gbe_prefix(error, "stop %s", unit);
		/* A failed stop may have stopped half of the service: start it again. */
		if (!gbe_service_start(&service, &local)) {
			(void)gbe_prefix(error, "%s; before it", local->message);
			gbe_rethrow(error, GBE_ERROR_PARTIAL);
		}
		return false;
	}
	*ret_service = service;
	return true;
}

bool
gbe_service_start(GbeService *service, GError **error)
{
	g_autofree char *unit = g_strdup(service->unit);
	bool started;

	if (unit == NULL)
		return true;
	started = gbe_unit_start(unit, GBE_SERVICE_START_MS, error);
	dismiss(service);
	if (!started)
		return gbe_prefix(error, "start %s again (`systemctl start %s`)", unit, unit);
	return true;
}

/* ---- etcd's own tool ---- */

/* The version that `etcdctl version` prints; unknown when it prints none. */
static GbeVersion
version_of_etcdctl(GbeApp *app, int fd)
{
	static const char label[] = "etcdctl version: ";
	const char *const argv[] = {"etcdctl", "version", NULL};
	g_auto(GbeChild) child = {0};
	g_autofree char *version = NULL;
	char text[256] = "";
	const char *at;

	if (!gbe_child_start_as(NULL, fd, argv, app->root_fd, &child, NULL) ||
	    !gbe_child_wait(&child, VERSION_SECONDS, NULL) ||
	    pread(child.out_fd, text, sizeof text - 1, 0) < 0)
		return gbe_version_parse(NULL);
	at = strstr(text, label);
	if (at != NULL)
		version = g_strndup(at + strlen(label), strcspn(at + strlen(label), " \r\n"));
	return gbe_version_parse(version);
}

bool
gbe_etcd_tool_open(GbeApp *app, const char *for_what, const char **ret_tool, int *ret_fd,
		   GError **error)
{
	static const char *const tools[] = {"etcdutl", "etcdctl"};
	g_autofree char *dir = g_path_get_dirname(app->config->etcd.binary);

	for (gsize i = 0; i < G_N_ELEMENTS(tools); i++) {
		g_autofree char *path = g_build_filename(dir, tools[i], NULL);
		g_autoptr(GError) local = NULL;
		gbe_autofd int fd = -1;

		if (gbe_open_in_root(app->root_fd, path, O_RDONLY, &fd, &local)) {
			GbeVersion version = g_str_equal(tools[i], "etcdctl")
						 ? version_of_etcdctl(app, fd)
						 : (GbeVersion){0};

			/* Since 3.6, etcdctl only talks to a running etcd; etcdutl works on files. */
			if (version.known &&
			    (version.major > 3 || (version.major == 3 && version.minor >= 6)))
				return gbe_throw(error, GBE_ERROR_REFUSED,
						 "etcdutl is not in %s, and the etcdctl there is "
						 "of etcd %u.%u, where etcdutl is what %s: install "
						 "it",
						 dir, version.major, version.minor, for_what);
			*ret_fd = gbe_steal_fd(&fd);
			*ret_tool = tools[i];
			return true;
		}
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	}
	return gbe_throw(
	    error, GBE_ERROR_REFUSED,
	    "%s has no etcdutl and no etcdctl, and etcd's own tool is what %s; install it", dir,
	    for_what);
}
