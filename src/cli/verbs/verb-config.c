/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/configuration.h"
#include "app/state/schedule.h"
#include "cli/json.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"

static gboolean arg_check;

const GOptionEntry gbe_options_config[] = {
    {"check", 0, 0, G_OPTION_ARG_NONE, &arg_check,
     "Only say whether it is right; unknown groups and keys are errors", NULL},
    {NULL},
};

typedef struct {
	JsonArray *settings;
	const char *group; /* of the last line; NULL: none yet */
} Listing;

static void
add_setting(const char *group, const char *key, const char *value, const char *origin,
	    gpointer data)
{
	Listing *listing = data;
	JsonObject *setting = json_object_new();

	gbe_json_set_string(setting, "group", group);
	gbe_json_set_string(setting, "key", key);
	gbe_json_set_string(setting, "value", value);
	gbe_json_set_string(setting, "origin", origin);
	json_array_add_object_element(listing->settings, setting);
}

static void
print_setting(const char *group, const char *key, const char *value, const char *origin,
	      gpointer data)
{
	Listing *listing = data;

	if (g_strcmp0(listing->group, group) != 0)
		gbe_print("%s[%s]\n", listing->group != NULL ? "\n" : "", group);
	listing->group = group;
	/* The comment has a line of its own, so that the output is a configuration file, too. */
	if (origin != NULL)
		gbe_print("# %s\n", origin);
	gbe_print("%s=%s\n", key, value != NULL ? value : "");
}

JsonObject *
gbe_cli_config_json(const GbeConfig *config)
{
	JsonObject *object = gbe_json_answer();
	JsonArray *warnings = json_array_new();
	Listing listing = {.settings = json_array_new()};

	gbe_config_foreach(config, add_setting, &listing);
	for (guint i = 0; i < config->warnings->len; i++)
		json_array_add_string_element(warnings, config->warnings->pdata[i]);
	json_object_set_array_member(object, "settings", listing.settings);
	json_object_set_array_member(object, "warnings", warnings);
	return object;
}

bool
gbe_verb_config(GbeCli *cli, char **arguments, GError **error)
{
	GbeApp *app = cli->app;
	Listing listing = {NULL};

	if (!gbe_configuration_load(app, arg_check, error))
		return gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_USAGE);
	if (arg_check && !gbe_schedule_check(app, error))
		return false;
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_cli_config_json(app->config);

		gbe_print_object(object);
		return true;
	}
	if (arg_check) {
		if (!cli->quiet)
			gbe_print("the configuration is right\n");
		return true;
	}
	for (guint i = 0; i < app->config->warnings->len; i++)
		gbe_print("# warning: %s\n", (const char *)app->config->warnings->pdata[i]);
	gbe_config_foreach(app->config, print_setting, &listing);
	return true;
}
