/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The message of the day: at most 3 lines of 80 columns. Pure text: no error, nothing on disk. */
#pragma once

#include <glib.h>

#define GBE_MOTD_LINES 3
#define GBE_MOTD_COLUMNS 80

/* @problems: of char *, one line each, the most urgent first. @command: the one command to run; NULL, or too long for a
 * line: `greenboot-etcd status`. Newly allocated; "" where there is no problem. */
char *gbe_motd_text(const GPtrArray *problems, const char *command);
