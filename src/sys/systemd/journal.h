/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes to systemd's journal in its own protocol, and reads from it what programs and systemd said about certain units.
 * Reading takes only fields with a known meaning, never a process's own ones (its command line, its environment).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <json-glib/json-glib.h>
#include <sys/uio.h>

/* An entry is a list of fields, "NAME=value". False: there is no journal, or it does not take the entry. The caller must
 * print it in another way. */
bool gbe_journal_send(const struct iovec *fields, guint count);
/* Waits, for at most @seconds, until the journal has all that was written to it before. Needs root. Source of the call:
 * systemd's io.systemd.Journal, as `journalctl --sync` makes it. */
void gbe_journal_sync(guint seconds);

/* Adds the newest @max lines of the local system's journal to @lines, oldest first, as {time, boot, identifier,
 * priority, message, message_id, fields{}}. These are lines of a SYSLOG_IDENTIFIER in @identifiers, and PID 1's lines
 * about a unit in @units (both NULL-terminated). @root_fd: the journal below that root; -1: the running system's.
 * Strings are valid UTF-8 of 4 KiB at most. */
bool gbe_journal_read(int root_fd, const char *const *identifiers, const char *const *units,
		      guint max, JsonArray *lines, GError **error) GBE_CHECKED;

/* The newest @max lines of @unit, and of PID 1 about it, since @since (microseconds since the epoch), as text for
 * people, oldest first. Newly allocated, a GPtrArray of char *. Empty without the right to read the journal. */
bool gbe_journal_tail(const char *unit, guint64 since, guint max, GPtrArray **ret_lines,
		      GError **error) GBE_CHECKED;
