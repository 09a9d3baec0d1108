/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What takes its time: a line on the terminal says how far it is, and Ctrl-C, SIGTERM or SIGHUP ends it in
 * order, so that nothing half done is left.
 */
#pragma once

#include "cli/verb.h"

/* @what: "received". From now on signals are heard. */
void gbe_progress_begin(const GbeCli *cli, const char *what);
/* Bytes; @total 0: not known. False: somebody wants it to end. */
bool gbe_progress_step(guint64 done, guint64 total, gpointer data);
/* Wipes the line. */
void gbe_progress_end(void);
