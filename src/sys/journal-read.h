/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the journal: what programs and systemd said about certain units. Only fields with a known
 * meaning are taken, never those of a process (its command line, its environment).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <json-glib/json-glib.h>

/* Adds the newest @max lines of the local system's journal to @lines, oldest first, as
 * {time, boot, identifier, priority, message, message_id, fields{}}: those of a SYSLOG_IDENTIFIER in
 * @identifiers, and those of PID 1 about a unit in @units (both NULL-terminated). @root_fd: the journal
 * below that root; -1: the running system's. Strings are valid UTF-8 of 4 KiB at most. */
bool gbe_journal_read(int root_fd, const char *const *identifiers, const char *const *units,
		      guint max, JsonArray *lines, GError **error) GBE_CHECKED;

/* What @unit, and PID 1 about it, have said since @since (microseconds since the epoch): the newest @max lines
 * as text, oldest first, for people. Newly allocated, a GPtrArray of char *; without the right to read it,
 * empty. */
bool gbe_journal_tail(const char *unit, guint64 since, guint max, GPtrArray **ret_lines,
		      GError **error) GBE_CHECKED;
