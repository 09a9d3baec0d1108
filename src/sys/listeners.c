/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/listeners.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/listener.h"
#include "sys/process.h"

#define LINE_MAX_BYTES 512
#define NAME_BYTES 64
/* Descriptors looked at in all: a machine with more has to do without the name. */
#define LINKS_MAX 500000

typedef union {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
} Address;

/* As Go does: a name is resolved, "localhost" to 127.0.0.1, and all addresses are those of IPv6, too. */
static gboolean
make_address(const char *host, guint16 port, Address *ret_address)
{
	Address address = {.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
	gboolean all = *host == '\0' || g_str_equal(host, "0.0.0.0") || g_str_equal(host, "::");

	if (g_str_equal(host, "localhost"))
		host = "127.0.0.1";
	if (all || inet_pton(AF_INET, host, &address.v4.sin_addr) != 1) {
		address = (Address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
		if (!all && inet_pton(AF_INET6, host, &address.v6.sin6_addr) != 1)
			return FALSE;
	}
	*ret_address = address;
	return TRUE;
}

/* A listener's own options: SO_REUSEADDR, so that connections that have ended are no hindrance. */
static gboolean
is_taken(const Address *address)
{
	gbe_autofd int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1, off = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return FALSE;
	if (address->any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return bind(fd, &address->any, sizeof(*address)) < 0 && errno == EADDRINUSE;
}

static gboolean
is_at(const GbeListener *listener, const Address *address)
{
	if (listener->port != ntohs(address->v4.sin_port))
		return FALSE;
	if (gbe_listener_is_wildcard(listener) ||
	    (address->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr)))
		return TRUE;
	return listener->ipv6 == (address->any.sa_family == AF_INET6) &&
	       memcmp(listener->address,
		      listener->ipv6 ? (const void *)&address->v6.sin6_addr
				     : (const void *)&address->v4.sin_addr,
		      listener->ipv6 ? 16 : 4) == 0;
}

/* 0: none. The kernel lists those that listen first. */
static guint64
find_inode(const char *table, gboolean ipv6, const Address *address)
{
	char line[LINE_MAX_BYTES];
	FILE *file = fopen(table, "re");
	GbeListener listener;
	guint64 inode = 0;

	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file) != NULL)
		while (inode == 0 && fgets(line, sizeof(line), file) != NULL &&
		       gbe_listener_parse(line, ipv6, &listener))
			if (is_at(&listener, address))
				inode = listener.inode;
	(void)fclose(file);
	return inode;
}

static gboolean
has_socket(int proc_fd, const char *pid, const char *socket_name, guint *left)
{
	g_autofree char *path = g_strconcat(pid, "/fd", NULL);
	int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	gboolean found = FALSE;

	if (dir == NULL) {
		gbe_close_fd(&fd);
		return FALSE;
	}
	while (!found && *left > 0 && (entry = readdir(dir)) != NULL) {
		char target[NAME_BYTES];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		(*left)--;
		if (n < 0)
			continue;
		target[n] = '\0';
		found = g_str_equal(target, socket_name);
	}
	(void)closedir(dir);
	return found;
}

/* 0: not found, or not ours to see. */
static pid_t
find_process(guint64 inode)
{
	g_autofree char *name = g_strdup_printf("socket:[%" G_GUINT64_FORMAT "]", inode);
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	guint left = LINKS_MAX;
	guint64 found = 0;

	while (dir != NULL && found == 0 && left > 0 && (entry = readdir(dir)) != NULL) {
		guint64 pid = 0;

		if (g_ascii_string_to_unsigned(entry->d_name, 10, 1, G_MAXINT, &pid, NULL) &&
		    has_socket(dirfd(dir), entry->d_name, name, &left))
			found = pid;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return (pid_t)found;
}

bool
gbe_listen_address_is_free(const char *url, GError **error)
{
	g_autofree char *host = NULL;
	g_autofree char *who = NULL;
	Address address;
	guint64 inode;
	guint16 port;

	if (!gbe_listen_url_parse(url, &host, &port) || !make_address(host, port, &address) ||
	    !is_taken(&address))
		return true;
	inode = find_inode("/proc/net/tcp", FALSE, &address);
	if (inode == 0)
		inode = find_inode("/proc/net/tcp6", TRUE, &address);
	who = gbe_process_describe(inode != 0 ? find_process(inode) : 0);
	return gbe_throw(error, GBE_ERROR_BUSY,
			 "etcd cannot listen at %s: %s does already; stop that first", url, who);
}
