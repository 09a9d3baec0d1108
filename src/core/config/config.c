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

	return g_str_equal(directory, "/") ||
	       (strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

/* "FILE:LINE: [group] key: @what"; newly allocated. */
static char *
fault_of(const GbeConfig *config, const char *group, const char *key, const char *what)
{
	g_autofree char *name = origin_name(group, key);
	const char *origin = g_hash_table_lookup(config->origins, name);

	return g_strdup_printf("%s%s[%s] %s: %s", origin != NULL ? origin : "",
			       origin != NULL ? ": " : "", group, key, what);
}

bool
gbe_config_refuse(const GbeConfig *config, const char *group, const char *key, const char *what,
		  GError **error)
{
	g_autofree char *fault = fault_of(config, group, key, what);

	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s", fault);
}

bool
gbe_config_is_off(const GbeConfig *config)
{
	return config->etcd.service == NULL;
}

/* A store inside the data that is backed up would be part of each backup. Copying leaves out only one place,
 * ".greenboot-etcd" at the root of the data. */
static bool
is_in_data(const GbeConfig *config, const char *directory)
{
	g_autofree char *own = g_build_filename(config->etcd.data_dir, ".greenboot-etcd", NULL);

	return directory != NULL && is_at_or_below(directory, config->etcd.data_dir) &&
	       !is_at_or_below(directory, own);
}

static bool
is_around_data(const GbeConfig *config, const char *directory)
{
	return directory != NULL && !is_in_data(config, directory) &&
	       is_at_or_below(config->etcd.data_dir, directory);
}

GPtrArray *
gbe_config_faults(const GbeConfig *config)
{
	static const char in_data[] = "lies in [etcd] data-dir, which is what is backed up";
	static const char around_data[] = "[etcd] data-dir lies in it";
	const char *data = config->etcd.data_dir;
	const char *backups = config->backup.directory, *store = config->store.directory;
	const struct {
		bool wrong;
		const char *group, *key, *what;
	} rules[] = {
	    {g_str_equal(data, "/"), "etcd", "data-dir", "cannot be the root directory"},
	    {config->etcd.cert != NULL && config->etcd.key == NULL, "etcd", "cert",
	     "needs [etcd] key as well"},
	    {config->etcd.key != NULL && config->etcd.cert == NULL, "etcd", "key",
	     "needs [etcd] cert as well"},
	    {config->etcd.password_file != NULL && config->etcd.user == NULL, "etcd",
	     "password-file", "needs [etcd] user as well"},
	    {config->health.request_timeout > config->health.timeout, "health", "request-timeout",
	     "is longer than [health] timeout"},
	    {config->store.url != NULL && store != NULL, "store", "url",
	     "and [store] directory are both set: a store is one or the other"},
	    {is_in_data(config, backups), "backup", "directory", in_data},
	    {is_around_data(config, backups), "backup", "directory", around_data},
	    {is_in_data(config, store), "store", "directory", in_data},
	    {is_around_data(config, store), "store", "directory", around_data},
	};
	GPtrArray *faults = g_ptr_array_new_with_free_func(g_free);

	for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
		if (rules[i].wrong)
			g_ptr_array_add(
			    faults, fault_of(config, rules[i].group, rules[i].key, rules[i].what));
	return faults;
}

bool
gbe_config_check(const GbeConfig *config, GError **error)
{
	g_autoptr(GPtrArray) faults = gbe_config_faults(config);

	return faults->len == 0 ||
	       gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s", (char *)faults->pdata[0]);
}

#define FILE_MAX (1024 * 1024)

typedef struct {
	const GbeConfigKey *key;
	char *text;
	guint line;
} Setting;

typedef struct {
	const char *file;
	bool strict;
	GHashTable *skip; /* borrowed, may be NULL */
	guint line;
	char *group; /* NULL: before the first group */
	bool group_known;
	GHashTable *seen; /* "group.key" -> nothing */
	GArray *settings; /* of Setting */
	GPtrArray *warnings;
	GPtrArray *faults;  /* borrowed; NULL: the first fault ends it */
	GbeConfig *scratch; /* takes each value first: a refused value never reaches the real one */
	char *bad_key;
} Merge;

static void
merge_clear(Merge *merge)
{
	for (guint i = 0; i < merge->settings->len; i++)
		g_free(g_array_index(merge->settings, Setting, i).text);
	g_free(merge->group);
	g_clear_pointer(&merge->seen, g_hash_table_unref);
	g_clear_pointer(&merge->settings, g_array_unref);
	g_clear_pointer(&merge->warnings, g_ptr_array_unref);
	g_clear_pointer(&merge->scratch, gbe_config_free);
	g_free(merge->bad_key);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Merge, merge_clear)

/* The file as a whole cannot be parsed. */
static bool
fail_line(const Merge *merge, const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s:%u: %s", merge->file, merge->line,
			 what);
}

/* An unknown group or key: an error with strict, else a warning. */
static bool
take_unknown(Merge *merge, const char *what, GError **error)
{
	if (merge->strict)
		return fail_line(merge, what, error);
	g_ptr_array_add(merge->warnings,
			g_strdup_printf("%s:%u: %s, ignored", merge->file, merge->line, what));
	return true;
}

static bool
is_name(const char *text)
{
	return text[0] != '\0' &&
	       strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.") == strlen(text);
}

/* ->bad_key stays set where this fails. */
static bool
take_key(Merge *merge, char *text, GError **error)
{
	char *equals = strchr(text, '=');
	g_autofree char *what = NULL;
	const GbeConfigKey *key;
	Setting setting;
	char *name;

	if (equals == NULL)
		return fail_line(merge, "this is not a [group], a key=value or a comment", error);
	if (merge->group == NULL)
		return fail_line(merge, "a key before the first [group]", error);
	*equals = '\0';
	name = g_strchomp(text);
	if (!is_name(name))
		return fail_line(merge, "the name of a key has only letters, digits, - _ .", error);
	/* The warning about an unknown group covers its keys. */
	if (!merge->group_known)
		return true;
	g_free(merge->bad_key);
	merge->bad_key = origin_name(merge->group, name);
	key = gbe_config_key_find(merge->group, name);
	text = g_strstrip(equals + 1);
	if (merge->skip != NULL && g_hash_table_contains(merge->skip, merge->bad_key)) {
		g_clear_pointer(&merge->bad_key, g_free);
		return true;
	}
	if (!g_hash_table_add(merge->seen, g_strdup(merge->bad_key))) {
		what = g_strdup_printf("[%s] %s: is there twice in this file", merge->group, name);
		return fail_line(merge, what, error);
	}
	if (key == NULL) {
		what = g_strdup_printf("[%s] %s: there is no such key", merge->group, name);
		if (!take_unknown(merge, what, error))
			return false;
	} else {
		if (!gbe_config_key_set(key, merge->scratch, text, error))
			return gbe_prefix(error, "%s:%u: [%s] %s", merge->file, merge->line,
					  key->group, key->key);
		setting = (Setting){key, g_strdup(text), merge->line};
		g_array_append_val(merge->settings, setting);
	}
	g_clear_pointer(&merge->bad_key, g_free);
	return true;
}

static bool
take_group(Merge *merge, char *text, GError **error)
{
	g_autofree char *what = NULL;
	gsize len = strlen(text);
	char *name;

	/* After a wrong line, keys that follow have no known group. */
	g_free(merge->group);
	merge->group = g_strdup("");
	merge->group_known = false;
	if (text[len - 1] != ']')
		return fail_line(merge, "a group has no \"]\" at its end", error);
	text[len - 1] = '\0';
	name = g_strstrip(text + 1);
	if (!is_name(name))
		return fail_line(merge, "the name of a group has only letters, digits, - _ .",
				 error);
	g_free(merge->group);
	merge->group = g_strdup(name);
	merge->group_known = gbe_config_key_find(name, NULL) != NULL;
	what = g_strdup_printf("[%s]: there is no such group", name);
	return merge->group_known || take_unknown(merge, what, error);
}

static bool
take_line(Merge *merge, char *text, GError **error)
{
	g_strstrip(text);
	for (const char *c = text; *c != '\0'; c++)
		if (g_ascii_iscntrl(*c) && *c != '\t')
			return fail_line(merge, "a control character", error);
	if (text[0] == '[')
		return take_group(merge, text, error);
	return text[0] == '\0' || text[0] == '#' || text[0] == ';' || take_key(merge, text, error);
}

static bool
take_file(Merge *merge, const char *bytes, gsize size, GError **error)
{
	const char *p = bytes, *end = bytes + size, *bad;

	if (size > FILE_MAX)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "%s: %" G_GSIZE_FORMAT " bytes long, %d are allowed", merge->file,
				 size, FILE_MAX);
	if (size > 0 && !g_utf8_validate(bytes, (gssize)size, &bad)) {
		for (merge->line = 1; p < bad; p++)
			merge->line += *p == '\n';
		return fail_line(merge, *bad == '\0' ? "a NUL byte" : "not UTF-8", error);
	}
	while (p < end) {
		const char *newline = memchr(p, '\n', (gsize)(end - p));
		const char *stop = newline != NULL ? newline : end;
		g_autofree char *text = g_strndup(p, (gsize)(stop - p));
		g_autoptr(GError) local = NULL;

		p = stop + (newline != NULL);
		merge->line++;
		if (take_line(merge, text, &local))
			continue;
		if (merge->faults == NULL)
			return gbe_pass(error, &local);
		g_ptr_array_add(merge->faults, g_strdup(local->message));
	}
	return true;
}

static bool
merge_bytes(GbeConfig *config, Merge *merge, const char *bytes, gsize size, GError **error)
{
	merge->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	merge->settings = g_array_new(false, false, sizeof(Setting));
	merge->warnings = g_ptr_array_new_with_free_func(g_free);
	merge->scratch = gbe_config_new();
	if (!take_file(merge, bytes, size, error))
		return false;
	for (guint i = 0; i < merge->settings->len; i++) {
		const Setting *setting = &g_array_index(merge->settings, Setting, i);

		if (!gbe_config_key_set(setting->key, config, setting->text, NULL))
			g_assert_not_reached();
		g_hash_table_replace(config->origins,
				     origin_name(setting->key->group, setting->key->key),
				     g_strdup_printf("%s:%u", merge->file, setting->line));
	}
	g_ptr_array_extend_and_steal(config->warnings, g_steal_pointer(&merge->warnings));
	return true;
}

bool
gbe_config_merge(GbeConfig *config, const char *file, const char *bytes, gsize size, bool strict,
		 GHashTable *skip, char **ret_bad_key, GError **error)
{
	g_auto(Merge) merge = {.file = file, .strict = strict, .skip = skip};

	if (merge_bytes(config, &merge, bytes, size, error))
		return true;
	if (ret_bad_key != NULL)
		*ret_bad_key = g_steal_pointer(&merge.bad_key);
	return false;
}

void
gbe_config_merge_right(GbeConfig *config, const char *file, const char *bytes, gsize size,
		       GPtrArray *faults)
{
	g_auto(Merge) merge = {.file = file, .strict = true, .faults = faults};
	g_autoptr(GError) error = NULL;

	/* The whole file is unusable. */
	if (!merge_bytes(config, &merge, bytes, size, &error))
		g_ptr_array_add(faults, g_strdup(error->message));
}
