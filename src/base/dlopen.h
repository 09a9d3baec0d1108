/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Libraries that are loaded when they are needed. libostree and libcurl bring some thirty others along each: to
 * load them all takes ten times what the question takes that is asked, and most programs and verbs never ask.
 *
 * A file that has to do with such a library names its functions, which have their types from the library's own
 * header, and calls them through `lib`:
 *
 *     #define FUNCTIONS(X) X(archive_read_new) X(archive_read_free)
 *     GBE_DLOPEN_FUNCTIONS(FUNCTIONS);
 *     if (!gbe_dlopen("libarchive.so.13", lib_symbols, G_N_ELEMENTS(lib_symbols), error))
 *             return false;
 *     archive = lib.archive_read_new();
 *
 * A package has to require it by name: nothing of it shows in the program. tests/lint/needed.sh compares what is
 * named in such a file with what the linker would have written down.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	const char *name;
	gpointer *function;
} GbeSymbol;

#define GBE_DLOPEN_MEMBER(name) __typeof__(name) *name;
#define GBE_DLOPEN_SYMBOL(name) {#name, (gpointer *)&lib.name},
#define GBE_DLOPEN_FUNCTIONS(functions)                                                            \
	static struct {                                                                            \
		functions(GBE_DLOPEN_MEMBER)                                                       \
	} lib;                                                                                     \
	static const GbeSymbol lib_symbols[] = {functions(GBE_DLOPEN_SYMBOL)}

/* Loads the library, for as long as the process lives, and fills in the functions: all of them or none. Nothing
 * is done where they are filled in. Each library from one thread at a time. GBE_ERROR_UNSUPPORTED: it is not
 * installed, or lacks one of them. */
bool gbe_dlopen(const char *soname, const GbeSymbol *symbols, gsize n_symbols,
		GError **error) GBE_CHECKED;
