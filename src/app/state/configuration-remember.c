/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembering has its own object file: a program that only reads the configuration does not link what writing needs. */
#include "app/state/configuration.h"

#include "app/state/state.h"
#include "core/json/parse.h"

/* Limit for all files together: a record of the state holds this much after escaping. */
#define REMEMBERED_MAX (256 * 1024)

/* NULL: too much, or not UTF-8. */
static JsonObject *
print_files(GPtrArray *files, const char *deployment)
{
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *array = json_array_new();
	gsize total = 0;

	json_object_set_string_member(object, "deployment", deployment);
	json_object_set_array_member(object, "files", array);
	for (guint i = 0; i < files->len; i++) {
		const GbeConfFile *file = files->pdata[i];
		JsonObject *element;

		total += file->size;
		if (total > REMEMBERED_MAX ||
		    !g_utf8_validate(file->text, (gssize)file->size, NULL))
			return NULL;
		element = json_object_new();
		json_object_set_string_member(element, "path", file->path);
		json_object_set_string_member(element, "text", file->text);
		json_array_add_object_element(array, element);
	}
	return g_steal_pointer(&object);
}

void
gbe_configuration_load_for_boot(GbeApp *app, const char *deployment, char **ret_complaint)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);
	bool locked = app->lock != NULL;
	g_autoptr(JsonObject) before = NULL;
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *text = NULL;
	g_autofree char *old = NULL;

	if (!gbe_configuration_choose_from(app, deployment, files, ret_complaint) ||
	    deployment == NULL || app->config_file != NULL)
		return;
	/* The remembered configuration is only a fallback: a failed write loses nothing today. */
	object = print_files(files, deployment);
	if (object == NULL)
		return;
	text = gbe_json_print_object(object);
	if (gbe_state_read(app, GBE_CONFIGURATION_RECORD, false, &before, NULL) && before != NULL)
		old = gbe_json_print_object(before);
	if (g_strcmp0(old, text) == 0 || !gbe_app_lock(app, app->program, 0, NULL))
		return;
	(void)!gbe_state_write(app, GBE_CONFIGURATION_RECORD, object, NULL);
	if (!locked)
		gbe_app_unlock(app);
}
