/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration in YAML of any bytes. */
#include "lib/fuzz.h"
#include "sys/installed.h"

static void
put(const char *path, const char *value, gpointer data)
{
	gsize *length = data;

	*length += strlen(path) + strlen(value);
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autofree char *text = g_strndup(size > 0 ? (const char *)bytes : "", size);
	g_autoptr(GError) error = NULL;
	gsize length = 0;

	if (gbe_yaml_read(text, size, "fuzz", put, &length, &error) != (error == NULL))
		fuzz_fail("true, and an error, or false, and none");
	return 0;
}
