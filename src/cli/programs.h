/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the optional programs (sys/programs.h). A program of another version is not started. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Starts greenboot-etcd-@verb with @argv in the place of this process. Returns true where there is no such program.
 * GBE_ERROR_USAGE: another version, or the file cannot be started. */
bool gbe_program_exec(const char *verb, char **argv, GError **error) GBE_CHECKED;
/* Prints a line for each verb of each program. A program that cannot be started is reported. */
void gbe_programs_help(void);
