/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts one value of the configuration to and from text. */
#include "core/config/keys.h"

#include "core/redact.h"

#include <string.h>

#define NUMBER_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)

typedef struct {
	const char *name;
	guint64 factor;
} Unit;

/* Formatting uses the first unit that divides the value, so larger units come first. */
static const Unit duration_units[] = {{"d", 24 * 60 * 60}, {"h", 60 * 60}, {"min", 60}, {"s", 1}};
static const Unit size_units[] = {
    {"TiB", G_GUINT64_CONSTANT(1) << 40},
    {"TB", G_GUINT64_CONSTANT(1000000000000)},
    {"T", G_GUINT64_CONSTANT(1000000000000)},
    {"GiB", 1 << 30},
    {"GB", 1000000000},
    {"G", 1000000000},
    {"MiB", 1 << 20},
    {"MB", 1000000},
    {"M", 1000000},
    {"KiB", 1 << 10},
    {"kB", 1000},
    {"KB", 1000},
    {"k", 1000},
    {"K", 1000},
    {"B", 1},
    {"", 1},
};

/* Parses digits, blanks and a unit of @units. */
static bool
parse_with_unit(const char *text, const Unit *units, guint count, guint64 *ret_value)
{
	guint64 value = 0;
	const char *p = text;

	if (!g_ascii_isdigit(*p))
		return false;
	for (; g_ascii_isdigit(*p); p++) {
		value = value * 10 + (guint64)(*p - '0');
		if (value > NUMBER_MAX)
			return false;
	}
	while (*p == ' ' || *p == '\t')
		p++;
	for (guint i = 0; i < count; i++) {
		if (!g_str_equal(p, units[i].name))
			continue;
		if (value > NUMBER_MAX / units[i].factor)
			return false;
		*ret_value = value * units[i].factor;
		return true;
	}
	return false;
}

static char *
format_with_unit(guint64 value, const Unit *units, guint count)
{
	for (guint i = 0; i < count; i++)
		if (value >= units[i].factor && value % units[i].factor == 0)
			return g_strdup_printf("%" G_GUINT64_FORMAT "%s", value / units[i].factor,
					       units[i].name);
	return g_strdup("0");
}

bool
gbe_duration_parse(const char *text, guint64 *ret_seconds, GError **error)
{
	/* Only zero needs no unit: "monitor=0". */
	if (g_str_equal(text, "0"))
		*ret_seconds = 0;
	if (g_str_equal(text, "0") ||
	    parse_with_unit(text, duration_units, G_N_ELEMENTS(duration_units), ret_seconds))
		return true;
	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
			 "\"%s\" is not a time: a number with s, min, h or d, like 10s or 5min",
			 text);
}

bool
gbe_size_parse(const char *text, guint64 *ret_bytes, GError **error)
{
	if (parse_with_unit(text, size_units, G_N_ELEMENTS(size_units), ret_bytes))
		return true;
	return gbe_throw(
	    error, GBE_ERROR_INVALID_CONFIG,
	    "\"%s\" is not a size: a number of bytes, or one with k, M, G, KiB, MiB or "
	    "GiB, like 100MB or 2GiB",
	    text);
}

/* Exact, in the largest unit that allows it: "5min", "100MB", "2GiB". Newly allocated. */
static char *
duration_format(guint64 seconds)
{
	return format_with_unit(seconds, duration_units, G_N_ELEMENTS(duration_units));
}

static char *
size_format(guint64 bytes)
{
	return format_with_unit(bytes, size_units, G_N_ELEMENTS(size_units));
}

static bool
parse_plain(const char *text, const char *suffix, guint64 *ret_value)
{
	const Unit units[] = {{suffix, 1}, {"", 1}};

	return parse_with_unit(text, units, G_N_ELEMENTS(units), ret_value);
}

/* Parses a number of @key's type in @key's unit. */
static bool
parse_number(const GbeConfigKey *key, const char *text, guint64 *ret_value, GError **error)
{
	if (key->type == GBE_KEY_DURATION)
		return gbe_duration_parse(text, ret_value, error);
	if (key->type == GBE_KEY_SIZE)
		return gbe_size_parse(text, ret_value, error);
	if (key->type == GBE_KEY_PERCENT)
		return parse_plain(text, "%", ret_value) ||
		       gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "\"%s\" is not a percentage, like 5%%", text);
	return parse_plain(text, "", ret_value) ||
	       gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" is not a number", text);
}

static char *
format_number(const GbeConfigKey *key, guint64 value)
{
	if (key->type == GBE_KEY_DURATION)
		return duration_format(value);
	if (key->type == GBE_KEY_SIZE)
		return size_format(value);
	return g_strdup_printf("%" G_GUINT64_FORMAT "%s", value,
			       key->type == GBE_KEY_PERCENT ? "%" : "");
}

static bool
number_is_wide(const GbeConfigKey *key)
{
	return key->type == GBE_KEY_DURATION || key->type == GBE_KEY_SIZE ||
	       key->type == GBE_KEY_COUNT64;
}

static void
store_number(const GbeConfigKey *key, GbeConfig *config, guint64 value)
{
	char *field = (char *)config + key->offset;

	if (number_is_wide(key))
		*(guint64 *)(gpointer)field = value;
	else if (key->type == GBE_KEY_BOOL)
		*(bool *)field = value != 0;
	else
		*(guint *)(gpointer)field = (guint)value;
}

static guint64
load_number(const GbeConfigKey *key, const GbeConfig *config)
{
	const char *field = (const char *)config + key->offset;

	if (number_is_wide(key))
		return *(const guint64 *)(gconstpointer)field;
	if (key->type == GBE_KEY_BOOL)
		return *(const bool *)field;
	return *(const guint *)(gconstpointer)field;
}

static bool
set_number(const GbeConfigKey *key, GbeConfig *config, const char *text, GError **error)
{
	g_autofree char *min = NULL, *max = NULL;
	guint64 value;

	if (!parse_number(key, text, &value, error))
		return false;
	if (value >= key->min && value <= key->max) {
		store_number(key, config, value);
		return true;
	}
	min = format_number(key, key->min);
	max = format_number(key, key->max);
	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
			 "\"%s\" is out of range: %s to %s are allowed%s%s%s", text, min, max,
			 key->none != NULL && key->none[0] != '\0' ? " (or \"" : "",
			 key->none != NULL ? key->none : "",
			 key->none != NULL && key->none[0] != '\0' ? "\")" : "");
}

static bool
set_bool(const GbeConfigKey *key, GbeConfig *config, const char *text, GError **error)
{
	static const char *const yes[] = {"yes", "true", "1", NULL};
	static const char *const no[] = {"no", "false", "0", NULL};

	if (!g_strv_contains(yes, text) && !g_strv_contains(no, text))
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" is neither yes nor no",
				 text);
	store_number(key, config, g_strv_contains(yes, text));
	return true;
}

static bool
set_word(const GbeConfigKey *key, GbeConfig *config, const char *text, GError **error)
{
	g_autofree char *all = NULL;

	for (guint i = 0; key->words[i] != NULL; i++) {
		if (g_str_equal(key->words[i], text)) {
			store_number(key, config, i);
			return true;
		}
	}
	all = g_strjoinv(", ", (char **)(gpointer)key->words);
	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" is not one of %s", text, all);
}

static void
store_text(const GbeConfigKey *key, GbeConfig *config, char *text)
{
	char **field = (char **)(gpointer)((char *)config + key->offset);

	g_free(*field);
	*field = text;
}

static bool
may_hold_password(const GbeConfigKey *key)
{
	return (g_str_equal(key->group, "etcd") && g_str_equal(key->key, "endpoint")) ||
	       (g_str_equal(key->group, "store") && g_str_equal(key->key, "proxy"));
}

static bool
set_text(const GbeConfigKey *key, GbeConfig *config, const char *text, GError **error)
{
	g_autofree char *shown =
	    may_hold_password(key) ? gbe_redact_endpoint(text) : g_strdup(text);

	if (key->kind != NULL && !key->kind->valid(text))
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" %s", shown,
				 key->kind->otherwise);
	store_text(key, config, g_strdup(text));
	return true;
}

/* Each path gets one spelling, because paths are compared as text. */
static bool
set_path(const GbeConfigKey *key, GbeConfig *config, const char *text, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, "/", -1);
	g_autoptr(GString) path = g_string_new(NULL);

	if (text[0] != '/')
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" is not an absolute path",
				 text);
	for (guint i = 0; parts[i] != NULL; i++) {
		if (g_str_equal(parts[i], ".."))
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "\"%s\": \"..\" is not allowed in a path", text);
		if (parts[i][0] != '\0' && !g_str_equal(parts[i], "."))
			g_string_append_printf(path, "/%s", parts[i]);
	}
	store_text(key, config, g_strdup(path->len > 0 ? path->str : "/"));
	return true;
}

static bool
is_text(const GbeConfigKey *key)
{
	return key->type == GBE_KEY_TEXT || key->type == GBE_KEY_PATH;
}

bool
gbe_config_key_set(const GbeConfigKey *key, GbeConfig *config, const char *text, GError **error)
{
	if (key->none != NULL && g_str_equal(text, key->none)) {
		if (is_text(key))
			store_text(key, config, NULL);
		else
			store_number(key, config, 0);
		return true;
	}
	if (text[0] == '\0')
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "is empty");
	switch (key->type) {
	case GBE_KEY_TEXT:
		return set_text(key, config, text, error);
	case GBE_KEY_PATH:
		return set_path(key, config, text, error);
	case GBE_KEY_BOOL:
		return set_bool(key, config, text, error);
	case GBE_KEY_WORD:
		return set_word(key, config, text, error);
	case GBE_KEY_DURATION:
	case GBE_KEY_SIZE:
	case GBE_KEY_PERCENT:
	case GBE_KEY_COUNT:
	case GBE_KEY_COUNT64:
	default:
		return set_number(key, config, text, error);
	}
}

char *
gbe_config_key_get(const GbeConfigKey *key, const GbeConfig *config)
{
	guint64 value;

	if (is_text(key)) {
		const char *text =
		    *(char *const *)(gconstpointer)((const char *)config + key->offset);

		return may_hold_password(key) && text != NULL
			   ? gbe_redact_endpoint(text)
			   : g_strdup(text != NULL ? text : key->none);
	}
	value = load_number(key, config);
	if (key->type == GBE_KEY_BOOL)
		return g_strdup(value != 0 ? "yes" : "no");
	if (key->type == GBE_KEY_WORD)
		return g_strdup(key->words[value]);
	if (value == 0 && key->none != NULL)
		return g_strdup(key->none);
	return format_number(key, value);
}
