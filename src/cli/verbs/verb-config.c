/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/configuration.h"

#include "cli/print.h"
#include "cli/verb.h"
#include "core/config/keys.h"
#include "core/json/parse.h"
#include "sys/installed.h"

static gboolean arg_check;

const GbeOption gbe_options_config[] = {
    {"check", 0, &arg_check, "Check all files, and list every error"},
    {NULL},
};

/* The optional program that reads @key, where the key is set and the program is not installed; else NULL. */
static const char *
missing_program(const GbeConfig *config, const GbeConfigKey *key)
{
	const char *program = gbe_config_key_program(key);
	g_autofree char *name = g_strconcat(key->group, ".", key->key, NULL);

	return program != NULL && g_hash_table_contains(config->origins, name) &&
		       gbe_program_find(program, NULL) == GBE_NO
		   ? program
		   : NULL;
}

/* Unknown groups and keys, then a line for each section with keys of a missing program. */
static GPtrArray *
collect_warnings(const GbeConfig *config)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) keys = g_string_new(NULL);
	const char *package = NULL;

	for (guint i = 0; i < config->warnings->len; i++)
		g_ptr_array_add(lines, g_strdup(config->warnings->pdata[i]));
	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++) {
		const char *program = missing_program(config, key);

		if (program != NULL) {
			package = program;
			g_string_append_printf(keys, "%s%s", keys->len > 0 ? ", " : "", key->key);
		}
		if (keys->len == 0 || g_strcmp0(key->group, key[1].group) == 0)
			continue;
		g_ptr_array_add(lines,
				g_strdup_printf("[%s] %s: read by the package greenboot-etcd-%s, "
						"which is not installed",
						key->group, keys->str, package));
		g_string_truncate(keys, 0);
	}
	return lines;
}

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
	/* The comment has a line of its own, so that the output is also a configuration file. */
	if (origin != NULL)
		gbe_print("# %s\n", origin);
	gbe_print("%s=%s\n", key, value != NULL ? value : "");
}

JsonObject *
gbe_cli_config_json(const GbeConfig *config)
{
	g_autoptr(GPtrArray) lines = collect_warnings(config);
	JsonObject *object = gbe_json_answer();
	JsonArray *warnings = json_array_new();
	Listing listing = {.settings = json_array_new()};

	gbe_config_foreach(config, add_setting, &listing);
	for (guint i = 0; i < lines->len; i++)
		json_array_add_string_element(warnings, lines->pdata[i]);
	json_object_set_array_member(object, "settings", listing.settings);
	json_object_set_array_member(object, "warnings", warnings);
	return object;
}

/* The one error, or a line for each and their number. A file that is named, --config=FILE, may be for another device. */
static bool
check_files(GbeApp *app, GError **error)
{
	g_autoptr(GPtrArray) faults = gbe_configuration_check(app, app->config_file == NULL);

	if (faults->len == 1)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s", (char *)faults->pdata[0]);
	GBE_EACH(const char *, fault, faults)
		gbe_cli_say(fault);
	return faults->len == 0 || gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					     "the configuration has %u errors", faults->len);
}

bool
gbe_verb_config(GbeCli *cli, char **arguments, GError **error)
{
	GbeApp *app = cli->app;
	g_autoptr(GPtrArray) warnings = NULL;
	g_autofree char *complaint = NULL;
	Listing listing = {NULL};

	if (arg_check && !check_files(app, error))
		return false;
	if (!arg_check && !gbe_configuration_load_to_look(app, &complaint, error))
		return false;
	gbe_cli_complain_of_configuration(complaint);
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_cli_config_json(app->config);

		gbe_print_object(object);
		return true;
	}
	warnings = collect_warnings(app->config);
	if (arg_check) {
		for (guint i = 0; i < warnings->len && !cli->quiet; i++)
			gbe_cli_say(warnings->pdata[i]);
		if (!cli->quiet)
			gbe_print(app->config->warnings->len > 0
				      ? "the configuration has no errors\n"
				      : "the configuration is right\n");
		return true;
	}
	for (guint i = 0; i < warnings->len; i++)
		gbe_print("# warning: %s\n", (const char *)warnings->pdata[i]);
	gbe_config_foreach(app->config, print_setting, &listing);
	return true;
}
