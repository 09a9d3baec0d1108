/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loads a library when a program needs it. libostree and libcurl each bring some thirty other libraries. Loading these
 * takes ten times as long as the question itself, and most programs and verbs never ask it. A package must require such
 * a library by name, because the program's file does not show it. tests/lint/needed.sh compares the named functions
 * with what the linker would have recorded.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	const char *name;
	gpointer *function;
} GbeSymbol;

/*
 * A file that uses such a library names the functions that it calls. Their types come from the library's
 * own header. The file calls them through `lib`:
 *
 *     #define FUNCTIONS(X) X(archive_read_new) X(archive_read_free)
 *     GBE_DLOPEN_FUNCTIONS(FUNCTIONS);
 *     if (!gbe_dlopen("libarchive.so.13", lib_symbols, G_N_ELEMENTS(lib_symbols), error))
 *             return false;
 *     archive = lib.archive_read_new();
 */
#define GBE_DLOPEN_MEMBER(name) __typeof__(name) *name;
#define GBE_DLOPEN_SYMBOL(name) {#name, (gpointer *)&lib.name},
#define GBE_DLOPEN_FUNCTIONS(functions)                                                            \
	static struct {                                                                            \
		functions(GBE_DLOPEN_MEMBER)                                                       \
	} lib;                                                                                     \
	static const GbeSymbol lib_symbols[] = {functions(GBE_DLOPEN_SYMBOL)}

/* Loads the library until the process ends and fills in all functions, or none. Does nothing where the functions are
 * filled in already. Load each library from one thread at a time. GBE_ERROR_UNSUPPORTED: the library is not installed,
 * or lacks a function. */
bool gbe_dlopen(const char *soname, const GbeSymbol *symbols, gsize n_symbols,
		GError **error) GBE_CHECKED;
