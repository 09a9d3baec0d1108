/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Real sockets, on ports that the kernel gives. */
#include "base/error.h"
#include "lib/unit.h"
#include "sys/listeners.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Listens, and gives the port that it got. */
static int
listen_at(int family, gboolean all, guint16 *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.any = {.sa_family = (sa_family_t)family}};
	socklen_t length = sizeof(address);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		address.v4.sin_addr.s_addr = htonl(all ? INADDR_ANY : INADDR_LOOPBACK);
	else if (!all)
		address.v6.sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, &address.any, sizeof(address)) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, &address.any, &length) < 0) {
		gbe_close_fd(&fd);
		return -1;
	}
	*ret_port = ntohs(address.v4.sin_port);
	return fd;
}

static void
check(const char *host, guint16 port, const char *expected)
{
	g_autofree char *url = g_strdup_printf("http://%s:%u", host, port);
	g_autoptr(GError) error = NULL;
	bool is_free = gbe_listen_address_is_free(url, &error);

	ck_assert_msg(is_free == (expected == NULL), "%s: %s", url,
		      error != NULL ? error->message : "free");
	if (expected == NULL)
		return;
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY));
	ck_assert_msg(strstr(error->message, url) != NULL, "%s", error->message);
	ck_assert_msg(strstr(error->message, expected) != NULL, "%s: no \"%s\"", error->message,
		      expected);
}

START_TEST(ipv4)
{
	g_autofree char *us = g_strdup_printf("sys-listeners (pid %d", (int)getpid());
	guint16 port = 0;
	int fd = listen_at(AF_INET, FALSE, &port);

	ck_assert_int_ge(fd, 0);
	check("127.0.0.1", port, us);
	check("localhost", port, us);
	check("0.0.0.0", port, us);
	check("127.0.0.2", port, NULL);
	gbe_close_fd(&fd);
	check("127.0.0.1", port, NULL);
	/* Looking is no listening: twice is the same. */
	check("127.0.0.1", port, NULL);
}
END_TEST

START_TEST(ipv6)
{
	g_autofree char *us = g_strdup_printf("sys-listeners (pid %d", (int)getpid());
	guint16 port = 0;
	int fd = listen_at(AF_INET6, TRUE, &port);

	if (fd < 0) {
		gbe_unit_skip("ipv6", "optional: there is no IPv6 here");
		return;
	}
	check("[::1]", port, us);
	check("127.0.0.1", port, us);
	check("[::]", port, us);
	gbe_close_fd(&fd);
	check("[::]", port, NULL);
}
END_TEST

/* The child's socket, which this process has not. */
START_TEST(somebody_elses)
{
	g_autofree char *who = NULL;
	guint16 port = 0;
	int ends[2];
	char end;
	int fd = listen_at(AF_INET, FALSE, &port);
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		(void)!read(ends[0], &end, 1);
		_exit(0);
	}
	gbe_close_fd(&fd);
	(void)close(ends[0]);
	who = g_strdup_printf("(pid %d", (int)pid);
	check("127.0.0.1", port, who);
	(void)close(ends[1]);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	check("127.0.0.1", port, NULL);
}
END_TEST

START_TEST(not_ours_to_say)
{
	static const char *const urls[] = {"unix:///run/x:1", "http://example.invalid:2379",
					   "http://192.0.2.1:2379", "nonsense", ""};

	for (gsize i = 0; i < G_N_ELEMENTS(urls); i++)
		ck_assert_msg(gbe_listen_address_is_free(urls[i], NULL), "%s", urls[i]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-listeners");
	TCase *tcase = tcase_create("listeners");

	tcase_add_test(tcase, ipv4);
	tcase_add_test(tcase, ipv6);
	tcase_add_test(tcase, somebody_elses);
	tcase_add_test(tcase, not_ours_to_say);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
