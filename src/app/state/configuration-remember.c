/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/configuration-private.h"

#include "app/state/state.h"
#include "core/json/parse.h"

/* Limit for all files together: a record of the state holds this much after escaping. */
#define REMEMBERED_MAX (256 * 1024)

static JsonObject *
to_record(GPtrArray *files, const char *deployment)
{
	JsonObject *object = json_object_new();
	JsonArray *array = json_array_new();

	for (guint i = 0; i < files->len; i++) {
		const GbeConfFile *file = files->pdata[i];
		JsonObject *element = json_object_new();

		json_object_set_string_member(element, "path", file->path);
		json_object_set_string_member(element, "text", file->text);
		json_array_add_object_element(array, element);
	}
	json_object_set_string_member(object, "deployment", deployment);
	json_object_set_array_member(object, "files", array);
	return object;
}

static bool
can_remember(GPtrArray *files)
{
	gsize total = 0;

	for (guint i = 0; i < files->len; i++) {
		const GbeConfFile *file = files->pdata[i];

		if (!g_utf8_validate(file->text, (gssize)file->size, NULL))
			return false;
		total += file->size;
	}
	return total <= REMEMBERED_MAX;
}

/* The remembered configuration is only a fallback: a failed write loses nothing today. */
static void
remember(GbeApp *app, const char *deployment, GPtrArray *files)
{
	bool locked = app->lock != NULL;
	g_autoptr(JsonObject) before = NULL;
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *text = NULL;

	if (!can_remember(files))
		return;
	object = to_record(files, deployment);
	text = gbe_json_print_object(object);
	if (gbe_state_read(app, GBE_CONFIGURATION_RECORD, false, &before, NULL) && before != NULL) {
		g_autofree char *old = gbe_json_print_object(before);

		if (g_str_equal(old, text))
			return;
	}
	if (!gbe_app_lock(app, app->program, 0, NULL))
		return;
	(void)!gbe_state_write(app, GBE_CONFIGURATION_RECORD, object, NULL);
	if (!locked)
		gbe_app_unlock(app);
}

void
gbe_configuration_load_for_boot(GbeApp *app, const char *deployment, char **ret_complaint)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);

	if (gbe_configuration_choose_from(app, deployment, files, ret_complaint) &&
	    deployment != NULL && app->config_file == NULL)
		remember(app, deployment, files);
}
