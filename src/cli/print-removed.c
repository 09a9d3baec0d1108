/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/print-removed.h"

#include "app/by-hand/by-hand.h"
#include "cli/print.h"
#include "core/json/parse.h"

void
gbe_print_removed(const GbeCli *cli, const GPtrArray *removed, bool dry_run)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *array = json_array_new();

	for (guint i = 0; i < removed->len; i++) {
		const GbeByHandRemoval *removal = removed->pdata[i];
		JsonObject *element = json_object_new();

		gbe_json_set_string(element, "name", removal->name);
		gbe_json_set_string(element, "reason", removal->reason);
		json_array_add_object_element(array, element);
		if (!cli->json && !cli->quiet)
			gbe_print("%sdeleted %s: %s\n", dry_run ? "would be " : "", removal->name,
				  removal->reason);
	}
	json_object_set_array_member(object, "deleted", array);
	json_object_set_boolean_member(object, "dry_run", dry_run);
	if (cli->json)
		gbe_print_object(object);
	else if (removed->len == 0 && !cli->quiet)
		gbe_print("nothing to remove\n");
}
