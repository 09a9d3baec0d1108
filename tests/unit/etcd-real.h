/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A real etcd on the test's own data, on free ports of 127.0.0.1. */
#pragma once

#include "sys-root.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

typedef struct {
	pid_t pid;
	guint client_port, peer_port;
	char *endpoint;
} Etcd;

static inline guint
free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	(void)close(fd);
	return ntohs(address.sin_port);
}

static inline bool
have_etcd(const char *test)
{
	if (RUN("etcd", "--version") == 0 && RUN("etcdctl", "version") == 0)
		return true;
	gbe_unit_skip(test, "etcd is not installed: make deps");
	return false;
}

/* The etcd that tests start, and the number of them: this system's, and the next release's (.ci/fetch-etcd-next). */
static const char *etcd_program = "etcd";
#define N_ETCDS 2
#define ETCD_NEXT "/var/cache/greenboot-etcd/etcd-next/usr/bin/etcd"

/* For loop tests over N_ETCDS: have_etcd_of("name", _i). */
static inline bool
have_etcd_of(const char *test, int which)
{
	const char *next = g_getenv("ETCD_NEXT") != NULL ? g_getenv("ETCD_NEXT") : ETCD_NEXT;

	if (!have_etcd(test))
		return false;
	if (which == 0)
		return true;
	etcd_program = next;
	if (access(next, X_OK) == 0)
		return true;
	gbe_unit_skip(test, "the etcd of the next Debian is missing (make deps-all, on Debian 12)");
	return false;
}

/* Does it answer a question of etcdctl's? */
static inline bool
etcd_answers(const Etcd *etcd)
{
	g_autofree char *endpoints = g_strconcat("--endpoints=", etcd->endpoint, NULL);

	return RUN("etcdctl", "--command-timeout=2s", "--dial-timeout=1s", endpoints, "endpoint",
		   "health") == 0;
}

/* Without waiting. @options: more of its command line, NULL-terminated, or NULL. */
static inline void
etcd_spawn(Etcd *etcd, const char *data, const char *url, const char *const *options)
{
	g_autofree char *log = g_build_filename(scratch, "etcd.log", NULL);
	g_autofree char *peer = NULL;
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);

	*etcd = (Etcd){.client_port = free_port(), .peer_port = free_port()};
	etcd->endpoint =
	    url != NULL ? g_strdup(url) : g_strdup_printf("http://127.0.0.1:%u", etcd->client_port);
	peer = g_strdup_printf("http://127.0.0.1:%u", etcd->peer_port);
	g_ptr_array_add(argv, g_strdup("etcd"));
	g_ptr_array_add(argv, g_strdup("--name=default"));
	g_ptr_array_add(argv, g_strconcat("--data-dir=", data, NULL));
	g_ptr_array_add(argv, g_strconcat("--listen-client-urls=", etcd->endpoint, NULL));
	g_ptr_array_add(argv, g_strconcat("--advertise-client-urls=", etcd->endpoint, NULL));
	g_ptr_array_add(argv, g_strconcat("--listen-peer-urls=", peer, NULL));
	g_ptr_array_add(argv, g_strconcat("--initial-advertise-peer-urls=", peer, NULL));
	g_ptr_array_add(argv, g_strconcat("--initial-cluster=default=", peer, NULL));
	g_ptr_array_add(argv, g_strdup("--heartbeat-interval=10"));
	g_ptr_array_add(argv, g_strdup("--election-timeout=100"));
	for (gsize i = 0; options != NULL && options[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(options[i]));
	g_ptr_array_add(argv, NULL);
	etcd->pid = fork();
	ck_assert_int_ge(etcd->pid, 0);
	if (etcd->pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		/* Goes with the test, however that ends. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		(void)execvp(etcd_program, (char **)argv->pdata);
		_exit(127);
	}
}

static inline void
etcd_wait_until_healthy(const Etcd *etcd)
{
	for (guint try = 0; try < 100; try++) {
		int status = 0;

		ck_assert_msg(waitpid(etcd->pid, &status, WNOHANG) == 0, "etcd ended at once");
		if (etcd_answers(etcd))
			return;
		g_usleep(50 * 1000);
	}
	ck_abort_msg("etcd does not become healthy");
}

static inline void
etcd_start(Etcd *etcd, const char *data)
{
	etcd_spawn(etcd, data, NULL, NULL);
	etcd_wait_until_healthy(etcd);
}

static inline void
etcd_end(Etcd *etcd, int how)
{
	int status = 0;

	ck_assert_int_eq(kill(etcd->pid, how), 0);
	ck_assert_int_eq(waitpid(etcd->pid, &status, 0), etcd->pid);
	g_clear_pointer(&etcd->endpoint, g_free);
}

static inline void
etcd_put(const Etcd *etcd, const char *key, const char *value)
{
	g_autofree char *endpoints = g_strconcat("--endpoints=", etcd->endpoint, NULL);

	ck_assert_int_eq(RUN("etcdctl", endpoints, "put", key, value), 0);
}

static inline int
open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s", path);
	return fd;
}
