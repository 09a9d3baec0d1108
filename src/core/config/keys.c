/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/keys.h"

#include "core/config/lists.h"
#include "core/redact.h"

#include <string.h>

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define SCHEDULE_MAX 255
#define MIB (G_GUINT64_CONSTANT(1) << 20)
#define TIB (G_GUINT64_CONSTANT(1) << 40)

static bool
is_member_dir(const char *text)
{
	return g_str_equal(text, "auto") || g_str_equal(text, ".") || gbe_path_is_below(text);
}

static bool
is_service(const char *text)
{
	gsize len = strlen(text);

	return g_str_has_suffix(text, ".service") && len > strlen(".service") && len < 256 &&
	       strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ":_.\\-@") == len;
}

/* Is @text an address with one of @schemes (with blanks between them), without blanks, and no list? */
static bool
has_scheme(const char *text, const char *schemes)
{
	g_auto(GStrv) all = g_strsplit(schemes, " ", -1);

	for (guint i = 0; all[i] != NULL; i++)
		if (g_str_has_prefix(text, all[i]) && text[strlen(all[i])] != '\0')
			return strpbrk(text, " \t,") == NULL;
	return false;
}

static bool
is_endpoint(const char *text)
{
	return has_scheme(text, "http:// https:// unix://");
}

static bool
is_proxy(const char *text)
{
	return has_scheme(text, "http:// https:// socks5h://");
}

static bool
is_peer_urls(const char *text)
{
	g_auto(GStrv) urls = g_strsplit(text, ",", -1);

	for (guint i = 0; urls[i] != NULL; i++)
		if (!has_scheme(urls[i], "http:// https://"))
			return false;
	return urls[0] != NULL;
}

/* Defines the check @name of a text that @parse takes apart. */
#define IS_LIST(name, parse)                                                                       \
	static bool name(const char *text)                                                         \
	{                                                                                          \
		g_auto(GStrv) words = NULL;                                                        \
		return parse(text, &words, NULL);                                                  \
	}

IS_LIST(is_args, gbe_run_args)
IS_LIST(is_files, gbe_run_files)
IS_LIST(is_credentials, gbe_run_credentials)
IS_LIST(is_directories, gbe_certs_directories)
IS_LIST(is_patterns, gbe_certs_patterns)
IS_LIST(is_names, gbe_certs_names)

/* An absolute path, and arguments: the program is started below the update's root. */
static bool
is_command(const char *text)
{
	return text[0] == '/' && is_args(text);
}

/* The schedule becomes a line of a unit file. systemd decides whether it is a calendar event (app/state/configuration.h). */
static bool
is_schedule(const char *text)
{
	for (const char *at = text; *at != '\0'; at++)
		if (!g_ascii_isprint(*at) || *at == '%' || *at == '\\')
			return false;
	return strlen(text) <= SCHEDULE_MAX;
}

/* https://HOST[:PORT]/BUCKET[/PREFIX]. Without a query, a password or anything that has to be encoded in a path. */
static bool
is_bucket(const char *text)
{
	const char *host = text + strlen("https://");
	g_auto(GStrv) parts = NULL;

	if (!g_str_has_prefix(text, "https://") ||
	    text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ":/._+=-[]")] != '\0')
		return false;
	parts = g_strsplit(host, "/", -1);
	for (guint i = 0; parts[i] != NULL; i++)
		if (g_str_equal(parts[i], "") || g_str_equal(parts[i], ".") ||
		    g_str_equal(parts[i], "..") || (i > 0 && strpbrk(parts[i], ":[]") != NULL))
			return false;
	return g_strv_length(parts) >= 2;
}

/* Not NAME:PASSWORD, as etcdctl takes it. */
static bool
is_user(const char *text)
{
	return strlen(text) <= 256 && strpbrk(text, " \t:") == NULL;
}

static bool
is_region(const char *text)
{
	return strlen(text) <= 64 &&
	       text[strspn(text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-")] == '\0';
}

static const GbeKind kind_command = {is_command, "is not an absolute path with its arguments"};
static const GbeKind kind_schedule = {
    is_schedule, "is not a calendar event of systemd.time(7), like daily or Mon..Fri 03:30"};

#define TYPE_TEXT char *
#define TYPE_PATH char *
#define TYPE_DURATION guint64
#define TYPE_SIZE guint64
#define TYPE_PERCENT guint
#define TYPE_COUNT guint
#define TYPE_COUNT64 guint64
#define TYPE_BOOL bool
#define TYPE_WORD guint
#define ROW(group, name, type, field, ...)                                                         \
	{                                                                                          \
#group, name, GBE_KEY_##type,                                                      \
		    GBE_TYPED_OFFSET(GbeConfig, group.field, TYPE_##type), __VA_ARGS__             \
	}
#define TEXT(group, name, field, fallback, none, kind)                                             \
	ROW(group, name, TEXT, field, fallback, none, 0, 0, NULL, kind)
#define KIND(valid, otherwise) (&(const GbeKind){valid, otherwise})
#define PATH(group, name, field, fallback, none)                                                   \
	ROW(group, name, PATH, field, fallback, none, 0, 0, NULL, NULL)
#define BOOL(group, name, field, fallback)                                                         \
	ROW(group, name, BOOL, field, fallback, NULL, 0, 1, NULL, NULL)
/* Its words follow, in the order of its enumeration in config.h. */
#define WORD(group, name, field, fallback, ...)                                                    \
	ROW(group, name, WORD, field, fallback, NULL, 0, 0,                                        \
	    ((const char *const[]){__VA_ARGS__, NULL}), NULL)
#define NUMBER(group, name, type, field, fallback, none, min, max)                                 \
	ROW(group, name, type, field, fallback, none, min, max, NULL, NULL)

/* clang-format off */
const GbeConfigKey gbe_config_keys[] = {
	PATH(etcd, "data-dir", data_dir, "/var/lib/etcd", NULL),
	TEXT(etcd, "member-dir", member_dir, "auto", NULL,
	     KIND(is_member_dir, "is not auto, . or a path below data-dir, like db/etcd")),
	TEXT(etcd, "version-file", version_file, "", "",
	     KIND(gbe_path_is_below, "is not a path below data-dir, like version")),
	PATH(etcd, "wal-dir", wal_dir, "", ""),
	TEXT(etcd, "service", service, "etcd.service", "",
	     KIND(is_service, "is not the name of a service, like etcd.service")),
	PATH(etcd, "binary", binary, "/usr/bin/etcd", NULL),
	TEXT(etcd, "endpoint", endpoint, "http://127.0.0.1:2379", NULL,
	     KIND(is_endpoint, "is not one address with http://, https:// or unix:// before it")),
	PATH(etcd, "cacert", cacert, "", ""),
	PATH(etcd, "cert", cert, "", ""),
	PATH(etcd, "key", key, "", ""),
	TEXT(etcd, "user", user, "", "",
	     KIND(is_user, "is not a name of a user: its password is in password-file=")),
	PATH(etcd, "password-file", password_file, "", ""),
	TEXT(etcd, "name", name, "", "", NULL),
	TEXT(etcd, "peer-urls", peer_urls, "", "",
	     KIND(is_peer_urls, "is not a list of http:// or https:// addresses with commas "
				"between them")),

	NUMBER(health, "timeout", DURATION, timeout, "300s", NULL, 1, DAY),
	WORD(health, "timeout-scale", timeout_scale, "attempt", "no", "attempt"),
	NUMBER(health, "request-timeout", DURATION, request_timeout, "5s", NULL, 1, 10 * MINUTE),
	NUMBER(health, "min-free", PERCENT, min_free, "5%", NULL, 0, 100),
	NUMBER(health, "quota-warn", PERCENT, quota_warn, "80%", NULL, 0, 100),
	NUMBER(health, "cert-warn", DURATION, cert_warn, "30d", NULL, 0, 3650 * DAY),
	WORD(health, "on-nospace", on_nospace, "cannot-tell", "cannot-tell", "unhealthy", "healthy"),
	NUMBER(health, "monitor", DURATION, monitor, "5min", NULL, 0, 7 * DAY),

	PATH(backup, "directory", directory, "auto", "auto"),
	NUMBER(backup, "keep-good", COUNT, keep_good, "auto", "auto", 1, 50),
	NUMBER(backup, "keep-bad", COUNT, keep_bad, "1", NULL, 0, 50),
	WORD(backup, "at-boot", at_boot, "cow-only", "cow-only", "always", "never"),
	WORD(backup, "at-shutdown", at_shutdown, "cow-only", "cow-only", "always", "never"),
	WORD(backup, "verify", verify, "auto", "auto", "sanity", "full", "none"),
	WORD(backup, "on-upgrade-failure", on_upgrade_failure, "auto", "auto", "refuse", "continue"),
	TEXT(backup, "schedule", schedule, "", "", &kind_schedule),
	NUMBER(backup, "hourly", COUNT, hourly, "24", NULL, 0, 1000),
	NUMBER(backup, "daily", COUNT, daily, "7", NULL, 0, 1000),

	WORD(restore, "on-rollback", on_rollback, "restore", "restore", "if-failed", "never"),
	NUMBER(restore, "trial-limit", DURATION, trial_limit, "1h", NULL, 0, 365 * DAY),
	BOOL(restore, "retry-trial", retry_trial, "yes"),
	WORD(restore, "on-corrupt-data", on_corrupt_data, "restore", "restore", "refuse", "keep"),
	WORD(restore, "on-missing-data", on_missing_data, "fresh", "fresh", "restore"),
	WORD(restore, "on-upgrade-from-failed", on_upgrade_from_failed, "last-good",
	     "last-good", "keep", "refuse"),
	BOOL(restore, "hand-back", hand_back, "yes"),
	NUMBER(restore, "verify-budget", DURATION, verify_budget, "1min", NULL, 0, HOUR),

	BOOL(defrag, "enabled", enabled, "yes"),
	NUMBER(defrag, "min-size", SIZE, min_size, "100MB", NULL, 0, TIB),
	NUMBER(defrag, "max-fragmentation", PERCENT, max_fragmentation, "45%", NULL, 0, 100),
	NUMBER(defrag, "interval", DURATION, interval, "5min", NULL, 1, 365 * DAY),
	BOOL(defrag, "at-start", at_start, "yes"),

	TEXT(run, "args", args, "", "", KIND(is_args, "has a quote that does not end")),
	TEXT(run, "env-file", env_file, "", "",
	     KIND(is_files, "is not a list of absolute paths, with - before those that need not be "
			    "there")),
	TEXT(run, "credentials", credentials, "", "",
	     KIND(is_credentials, "is not a list of NAME:/PATH")),
	NUMBER(run, "quota-backend-bytes", SIZE, quota_backend_bytes, "2GiB", NULL, 16 * MIB, TIB),
	NUMBER(run, "memory-high", SIZE, memory_high, "", "", 16 * MIB, 64 * TIB),
	NUMBER(run, "io-weight", COUNT, io_weight, "", "", 1, 10000),

	TEXT(certs, "directories", directories, "", "",
	     KIND(is_directories, "is not a list of absolute paths, none of them /")),
	TEXT(certs, "regenerated", regenerated, "", "",
	     KIND(is_patterns, "is not a list of names and patterns without .. in them")),
	TEXT(certs, "names", names, "", "",
	     KIND(is_names, "is not a list of addresses and hosts' names")),
	NUMBER(certs, "validity", DURATION, validity, "365d", NULL, 6 * HOUR, 3650 * DAY),
	TEXT(certs, "renew-command", renew_command, "", "", &kind_command),

	BOOL(cluster, "rejoin", rejoin, "yes"),
	BOOL(cluster, "update-lock", update_lock, "no"),
	NUMBER(cluster, "lock-time", DURATION, lock_time, "30min", NULL, MINUTE, 7 * DAY),

	PATH(metrics, "textfile", textfile, "", ""),

	PATH(store, "directory", directory, "", ""),
	TEXT(store, "url", url, "", "",
	     KIND(is_bucket, "is not https://HOST/BUCKET or https://HOST:PORT/BUCKET/PREFIX")),
	TEXT(store, "region", region, "us-east-1", NULL,
	     KIND(is_region, "is not the name of a region, like us-east-1 or default")),
	PATH(store, "access-key-file", access_key_file, "", ""),
	PATH(store, "ca", ca, "", ""),
	TEXT(store, "proxy", proxy, "", "",
	     KIND(is_proxy, "is not one address with http://, https:// or socks5h:// before it")),
	NUMBER(store, "rate-limit", SIZE, rate_limit, "", "", 1024, TIB),
	TEXT(store, "schedule", schedule, "", "", &kind_schedule),
	NUMBER(store, "queue-keep", COUNT, queue_keep, "3", NULL, 1, 100),
	TEXT(store, "prove", prove, "weekly", "", &kind_schedule),
	NUMBER(store, "prove-warn", DURATION, prove_warn, "14d", NULL, 0, 3650 * DAY),
	PATH(store, "key", key, "", ""),
	PATH(store, "encrypt-to", encrypt_to, "", ""),
	PATH(store, "identity", identity, "", ""),
	NUMBER(store, "hourly", COUNT, hourly, "", "", 0, 1000),
	NUMBER(store, "daily", COUNT, daily, "", "", 0, 1000),
	WORD(store, "requests", requests, "yes", "yes", "watch", "no"),

	NUMBER(alarm, "compact-keep", COUNT64, compact_keep, "1000", NULL, 1, 1000000000),

	WORD(preflight, "rehearse", rehearse, "auto", "auto", "full", "versions", "no"),
	NUMBER(preflight, "rehearse-copy-max", SIZE, rehearse_copy_max, "256MiB", NULL, 0, TIB),
	TEXT(preflight, "rehearse-command", rehearse_command, "", "", &kind_command),
	WORD(preflight, "on-failed-rehearsal", lock_failed, "warn", "warn", "lock"),
	{ NULL },
};

/* The first row that fits counts. A NULL key is every key of its group. */
static const struct {
	const char *group, *key, *program;
} readers[] = {
	{ "store", "key", NULL }, /* also signs the manifests of backups */
	{ "store", NULL, "store" },
	{ "certs", "names", "certs" },
	{ "certs", "validity", "certs" },
	{ "certs", "renew-command", "certs" },
	{ "cluster", NULL, "cluster" },
};
/* clang-format on */

const char *
gbe_config_key_program(const GbeConfigKey *key)
{
	for (gsize i = 0; i < G_N_ELEMENTS(readers); i++)
		if (g_str_equal(readers[i].group, key->group) &&
		    (readers[i].key == NULL || g_str_equal(readers[i].key, key->key)))
			return readers[i].program;
	return NULL;
}

const GbeConfigKey *
gbe_config_key_find(const char *group, const char *name)
{
	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++)
		if (g_str_equal(key->group, group) && (name == NULL || g_str_equal(key->key, name)))
			return key;
	return NULL;
}

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

/* Exact, in the largest unit that allows it: "5min", "100MB", "2GiB". Newly allocated. */
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
	if (parse_with_unit(g_str_equal(text, "0") ? "0s" : text, duration_units,
			    G_N_ELEMENTS(duration_units), ret_seconds))
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

/* Parses a number of @key's type in @key's unit. */
static bool
parse_number(const GbeConfigKey *key, const char *text, guint64 *ret_value, GError **error)
{
	bool percent = key->type == GBE_KEY_PERCENT;
	const Unit units[] = {{percent ? "%" : "", 1}, {"", 1}};

	if (key->type == GBE_KEY_DURATION)
		return gbe_duration_parse(text, ret_value, error);
	if (key->type == GBE_KEY_SIZE)
		return gbe_size_parse(text, ret_value, error);
	if (parse_with_unit(text, units, G_N_ELEMENTS(units), ret_value))
		return true;
	return gbe_throw(
	    error, GBE_ERROR_INVALID_CONFIG,
	    percent ? "\"%s\" is not a percentage, like 5%%" : "\"%s\" is not a number", text);
}

static char *
format_number(const GbeConfigKey *key, guint64 value)
{
	if (key->type == GBE_KEY_DURATION)
		return format_with_unit(value, duration_units, G_N_ELEMENTS(duration_units));
	if (key->type == GBE_KEY_SIZE)
		return format_with_unit(value, size_units, G_N_ELEMENTS(size_units));
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
	static const char *const yes[] = {"yes", "true", "1", NULL};
	static const char *const no[] = {"no", "false", "0", NULL};

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
		if (key->kind != NULL && !key->kind->valid(text)) {
			g_autofree char *shown =
			    may_hold_password(key) ? gbe_redact_endpoint(text) : g_strdup(text);

			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" %s", shown,
					 key->kind->otherwise);
		}
		store_text(key, config, g_strdup(text));
		return true;
	case GBE_KEY_PATH:
		return set_path(key, config, text, error);
	case GBE_KEY_BOOL:
		if (!g_strv_contains(yes, text) && !g_strv_contains(no, text))
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "\"%s\" is not yes or no",
					 text);
		store_number(key, config, g_strv_contains(yes, text));
		return true;
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
	gconstpointer field = (const char *)config + key->offset;
	guint64 value;

	if (is_text(key)) {
		const char *text = *(char *const *)field;

		return may_hold_password(key) && text != NULL
			   ? gbe_redact_endpoint(text)
			   : g_strdup(text != NULL ? text : key->none);
	}
	if (key->type == GBE_KEY_BOOL)
		return g_strdup(*(const bool *)field ? "yes" : "no");
	value = number_is_wide(key) ? *(const guint64 *)field : *(const guint *)field;
	if (key->type == GBE_KEY_WORD)
		return g_strdup(key->words[value]);
	if (value == 0 && key->none != NULL)
		return g_strdup(key->none);
	return format_number(key, value);
}
