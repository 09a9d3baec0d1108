/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes to systemd's journal in its own protocol. An entry is a list of fields, "NAME=value".
 * Source of the call: systemd's io.systemd.Journal, as `journalctl --sync` makes it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/uio.h>

/* False: there is no journal, or it does not take the entry. The caller must print it in another way. */
bool gbe_journal_send(const struct iovec *fields, guint count);
/* Waits, for at most @seconds, until the journal has all that was written to it before. Needs root. */
void gbe_journal_sync(guint seconds);
