/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For long work: a line on the terminal shows the progress, and Ctrl-C, SIGTERM or SIGHUP ends the work in
 * order, so that nothing half done is left.
 */
#pragma once

#include "cli/verb.h"

/* @what: e.g. "received". From now on signals are handled. */
void gbe_progress_begin(const GbeCli *cli, const char *what);
/* @done and @total in bytes; @total 0: not known. False: a signal asks for the end. */
bool gbe_progress_step(guint64 done, guint64 total, gpointer data);
/* Wipes the line. */
void gbe_progress_end(void);
