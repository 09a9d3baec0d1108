/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/journal.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

bool
gbe_journal_send(const struct iovec *fields, guint count)
{
	return access(JOURNAL_SOCKET, W_OK) == 0 && sd_journal_sendv(fields, (int)count) >= 0;
}

void
gbe_journal_sync(guint seconds)
{
	static const struct sockaddr_un journal = {.sun_family = AF_UNIX,
						   .sun_path =
						       "/run/systemd/journal/io.systemd.journal"};
	/* With its NUL, which ends a message of Varlink. */
	static const char call[] = "{\"method\":\"io.systemd.Journal.Synchronize\"}";
	const struct timeval timeout = {.tv_sec = seconds};
	gbe_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[256];

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
	    connect(fd, (const struct sockaddr *)&journal, sizeof journal) == 0 &&
	    send(fd, call, sizeof call, MSG_NOSIGNAL) == sizeof call)
		(void)!recv(fd, answer, sizeof answer, 0);
}
