/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/path.h"

#include <glib.h>

bool
gbe_path_is_below(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);

	for (guint i = 0; parts[i] != NULL; i++)
		if (parts[i][0] == '\0' || g_str_equal(parts[i], ".") ||
		    g_str_equal(parts[i], ".."))
			return false;
	return parts[0] != NULL;
}
