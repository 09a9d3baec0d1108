/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <string.h>

#include "core/json/parse.h"
#include "lib/fuzz.h"

/* Both texts must have the same members, in any order: known members that were missing come last at first. */
static inline void
fuzz_same_json(const char *text, const char *again)
{
	g_autoptr(JsonObject) one = NULL;
	g_autoptr(JsonObject) other = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_json_parse_object(text, strlen(text), "the first", &one, &error) ||
	    !gbe_json_parse_object(again, strlen(again), "the second", &other, &error))
		fuzz_fail("%s\n%s\n%s", error->message, text, again);
	if (!json_object_equal(one, other))
		fuzz_fail("%s\nbecomes\n%s", text, again);
}
