/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the mains below hooks/ have in common: their options, and the way into the worker. */
#pragma once

#include "app/context.h"

typedef struct {
	const char *program; /* "prerun" */
	char *root;	     /* NULL: the system itself */
	char *config;	     /* NULL */
	int verbosity;
} GbeHook;

/* --root=DIR, --config=FILE, -v, --help; @more (may be NULL): further ones. False: *ret_status is what
 * the program ends with, 0 after --help, else @on_usage. Sets the events up. */
bool gbe_hook_parse(GbeHook *hook, const char *program, const char *summary,
		    const GOptionEntry *more, int *argc, char ***argv, int on_usage,
		    int *ret_status);
void gbe_hook_clear(GbeHook *hook);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeHook, gbe_hook_clear)
/* In the worker: gives the options to @app. */
void gbe_hook_apply(const GbeHook *hook, GbeApp *app);
