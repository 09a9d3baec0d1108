/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/journal.h"

#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

bool
gbe_journal_send(const struct iovec *fields, guint count)
{
	return access(JOURNAL_SOCKET, W_OK) == 0 && sd_journal_sendv(fields, (int)count) >= 0;
}
