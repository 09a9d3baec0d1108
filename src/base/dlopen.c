/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/dlopen.h"

#include <dlfcn.h>

bool
gbe_dlopen(const char *soname, const GbeSymbol *symbols, gsize n_symbols, GError **error)
{
	g_autofree gpointer *found = NULL;
	void *library;

	if (*symbols[n_symbols - 1].function != NULL)
		return true;
	/* Lazy, as at a program's start: a library that needs its symbols bound at once says so itself. */
	library = dlopen(soname, RTLD_LAZY);
	if (library == NULL)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED, "cannot load %s (%s): install it",
				 soname, dlerror());
	found = g_new0(gpointer, n_symbols);
	for (gsize i = 0; i < n_symbols; i++) {
		found[i] = dlsym(library, symbols[i].name);
		if (found[i] == NULL) {
			(void)dlclose(library);
			return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
					 "%s is too old: it has no %s()", soname, symbols[i].name);
		}
	}
	for (gsize i = 0; i < n_symbols; i++)
		*symbols[i].function = found[i];
	return true;
}
