/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/version-file.h"

#include "core/json/parse.h"

#include <string.h>

GbeVersion
gbe_version_from_file(const char *bytes, gsize size)
{
	GbeVersion unknown = {0};
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *line = NULL;
	const char *end;
	gsize start = 0;

	if (bytes == NULL || size > GBE_JSON_MAX_SIZE || memchr(bytes, '\0', size) != NULL)
		return unknown;
	while (start < size && g_ascii_isspace(bytes[start]))
		start++;
	if (start < size && bytes[start] == '{') {
		if (!gbe_json_parse_object(bytes, size, "version file", &object, NULL))
			return unknown;
		return gbe_version_parse(gbe_json_string(object, "version", NULL));
	}
	end = memchr(bytes + start, '\n', size - start);
	line = g_strndup(bytes + start, end != NULL ? (gsize)(end - bytes) - start : size - start);
	return gbe_version_parse(line);
}
