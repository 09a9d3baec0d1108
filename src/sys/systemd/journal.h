/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes to systemd's journal in its own protocol. An entry is a list of fields, "NAME=value". */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/uio.h>

/* False: there is no journal, or it does not take the entry. The caller must print it in another way. */
bool gbe_journal_send(const struct iovec *fields, guint count);
