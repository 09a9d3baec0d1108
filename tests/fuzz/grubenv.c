/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GRUB's environment block of any bytes. */
#include "lib/fuzz.h"
#include "sys/deployment/greenboot.h"

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GHashTable) table = NULL;
	g_autoptr(GError) error = NULL;

	if (gbe_grubenv_parse((const char *)bytes, size, &table, &error) != (table != NULL))
		fuzz_fail("true, and no table");
	return 0;
}
