/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* manifest.json of any bytes: what can be read is written so that it reads the same. */
#include "core/record/manifest.h"
#include "lib/fuzz-json.h"

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GbeManifest) again = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_autofree char *same = NULL;

	if (!gbe_manifest_parse((const char *)bytes, size, &manifest, &error)) {
		if (manifest != NULL || error == NULL)
			fuzz_fail("false, and no word");
		return 0;
	}
	text = gbe_manifest_print(manifest);
	if (!gbe_manifest_parse(text, strlen(text), &again, &error))
		fuzz_fail("%s: %s", error->message, text);
	same = gbe_manifest_print(again);
	fuzz_same_json(text, same);
	return 0;
}
