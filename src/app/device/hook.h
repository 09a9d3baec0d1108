/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the mains in hooks/: their options, and the way into the worker. */
#pragma once

#include "app/device/context.h"
#include "base/error.h"

typedef struct {
	const char *program; /* "prerun" */
	char *root;	     /* NULL: the system itself */
	char *config;	     /* NULL */
	int verbosity;
} GbeHook;

/* Parses --root=DIR, --config=FILE, -v, --help and the options in @more (may be NULL); sets up the events. False:
 * the program ends with *ret_status, which is 0 after --help, else @on_usage. */
bool gbe_hook_parse(GbeHook *hook, const char *program, const char *summary,
		    const GOptionEntry *more, int *argc, char ***argv, int on_usage,
		    int *ret_status);
void gbe_hook_clear(GbeHook *hook);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeHook, gbe_hook_clear)
/* In the worker: gives the options to @app. */
void gbe_hook_apply(const GbeHook *hook, GbeApp *app);
