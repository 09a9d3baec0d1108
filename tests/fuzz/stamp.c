/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stamp of any bytes: what can be read is written so that it reads the same. */
#include "core/stamp.h"
#include "lib/fuzz-json.h"

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GbeStamp) stamp = NULL;
	g_autoptr(GbeStamp) again = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_autofree char *same = NULL;

	if (!gbe_stamp_parse((const char *)bytes, size, &stamp, &error)) {
		if (stamp != NULL || error == NULL)
			fuzz_fail("false, and no word");
		return 0;
	}
	text = gbe_stamp_print(stamp);
	if (!gbe_stamp_parse(text, strlen(text), &again, &error))
		fuzz_fail("%s: %s", error->message, text);
	same = gbe_stamp_print(again);
	fuzz_same_json(text, same);
	return 0;
}
