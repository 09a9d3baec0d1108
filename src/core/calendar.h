/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When a timer of systemd elapses (systemd.time(7), "Calendar events"): is this text one? Checked here, as
 * libsystemd has no function for it, and so that a typo is an error of a file and a line, for every program
 * and without starting another one. The grammar and the ranges; whether there is a time zone of that name,
 * systemd alone knows.
 */
#pragma once

#include <glib.h>

gboolean gbe_calendar_valid(const char *text);
