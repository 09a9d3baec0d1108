/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A take-over of any bytes: what can be read is written so that it reads the same. */
#include "core/record/take-over.h"
#include "lib/fuzz-json.h"

static GbeTakeOver *
parse(const char *bytes, gsize size)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;
	GbeTakeOver *take_over = NULL;

	if (gbe_json_parse_object(bytes, size, "take-over", &object, &error) &&
	    gbe_take_over_from_json(object, &take_over, &error))
		return take_over;
	if (take_over != NULL || error == NULL)
		fuzz_fail("false, and no word");
	return NULL;
}

static char *
print(const GbeTakeOver *take_over)
{
	g_autoptr(JsonObject) object = gbe_take_over_to_json(take_over);

	return gbe_json_print_object(object);
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GbeTakeOver) take_over = parse((const char *)bytes, size);
	g_autoptr(GbeTakeOver) again = NULL;
	g_autofree char *text = NULL;
	g_autofree char *same = NULL;

	if (take_over == NULL)
		return 0;
	text = print(take_over);
	again = parse(text, strlen(text));
	if (again == NULL)
		fuzz_fail("not read again: %s", text);
	same = print(again);
	fuzz_same_json(text, same);
	return 0;
}
