/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/config.h"

#include "core/config/keys.h"

#include <string.h>

GbeConfig *
gbe_config_new(void)
{
	GbeConfig *config = g_new0(GbeConfig, 1);

	config->origins = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	config->warnings = g_ptr_array_new_with_free_func(g_free);
	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++) {
		/* A default that its own row refuses is a bug in the table. */
		if (!gbe_config_key_set(key, config, key->fallback, NULL))
			g_assert_not_reached();
	}
	return config;
}

void
gbe_config_free(GbeConfig *config)
{
	if (config == NULL)
		return;
	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++)
		if (key->type == GBE_KEY_TEXT || key->type == GBE_KEY_PATH)
			g_free(*(char **)(gpointer)((char *)config + key->offset));
	g_hash_table_unref(config->origins);
	g_free(config->ambiguous);
	g_ptr_array_unref(config->warnings);
	g_free(config);
}

static char *
origin_name(const char *group, const char *key)
{
	return g_strconcat(group, ".", key, NULL);
}

void
gbe_config_foreach(const GbeConfig *config, GbeConfigEach each, gpointer data)
{
	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++) {
		g_autofree char *name = origin_name(key->group, key->key);
		g_autofree char *value = gbe_config_key_get(key, config);

		each(key->group, key->key, value, g_hash_table_lookup(config->origins, name), data);
	}
}

static bool
is_at_or_below(const char *path, const char *directory)
{
	gsize len = strlen(directory);

	if (g_str_equal(directory, "/"))
		return true;
	return strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool
gbe_config_refuse(const GbeConfig *config, const char *group, const char *key, const char *what,
		  GError **error)
{
	g_autofree char *name = origin_name(group, key);
	const char *origin = g_hash_table_lookup(config->origins, name);

	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s%s[%s] %s: %s",
			 origin != NULL ? origin : "", origin != NULL ? ": " : "", group, key,
			 what);
}

/* A store inside the data that is backed up would be part of each backup. Copying leaves out only one place,
 * ".greenboot-etcd" at the root of the data. */
static bool
check_store(const GbeConfig *config, const char *group, const char *directory, GError **error)
{
	g_autofree char *own = g_build_filename(config->etcd.data_dir, ".greenboot-etcd", NULL);

	if (directory == NULL)
		return true;
	if (is_at_or_below(directory, config->etcd.data_dir) && !is_at_or_below(directory, own))
		return gbe_config_refuse(config, group, "directory",
					 "lies in [etcd] data-dir, which is what is backed up",
					 error);
	if (is_at_or_below(config->etcd.data_dir, directory))
		return gbe_config_refuse(config, group, "directory", "[etcd] data-dir lies in it",
					 error);
	return true;
}

bool
gbe_config_is_off(const GbeConfig *config)
{
	return config->etcd.service == NULL;
}

bool
gbe_config_check(const GbeConfig *config, GError **error)
{
	if (g_str_equal(config->etcd.data_dir, "/"))
		return gbe_config_refuse(config, "etcd", "data-dir", "cannot be the root directory",
					 error);
	if (config->etcd.cert != NULL && config->etcd.key == NULL)
		return gbe_config_refuse(config, "etcd", "cert", "needs [etcd] key as well", error);
	if (config->etcd.key != NULL && config->etcd.cert == NULL)
		return gbe_config_refuse(config, "etcd", "key", "needs [etcd] cert as well", error);
	if (config->etcd.password_file != NULL && config->etcd.user == NULL)
		return gbe_config_refuse(config, "etcd", "password-file",
					 "needs [etcd] user as well", error);
	if (config->health.request_timeout > config->health.timeout)
		return gbe_config_refuse(config, "health", "request-timeout",
					 "is longer than [health] timeout", error);
	if (config->store.url != NULL && config->store.directory != NULL)
		return gbe_config_refuse(config, "store", "url",
					 "and [store] directory are both set: a store is one or "
					 "the other",
					 error);
	return check_store(config, "backup", config->backup.directory, error) &&
	       check_store(config, "store", config->store.directory, error);
}
