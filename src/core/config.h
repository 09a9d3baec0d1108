/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration (interface.md, section 4): key files, later ones win key by key. Here is the
 * table of keys with types, ranges and defaults, and merging from memory; src/app/configuration.h
 * finds the files. A value that cannot be parsed or is out of range is an error naming file, line
 * and allowed range; an unknown group or key is a warning unless @strict.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

typedef enum { GBE_WHEN_COW_ONLY, GBE_WHEN_ALWAYS, GBE_WHEN_NEVER } GbeWhen;
/* Requests in a store: by a timer, or also by systemd itself, which has to reach the directory for it. */
typedef enum { GBE_REQUESTS_YES, GBE_REQUESTS_WATCH, GBE_REQUESTS_NO } GbeRequests;
typedef enum {
	GBE_BACKUP_VERIFY_AUTO,
	GBE_BACKUP_VERIFY_SANITY,
	GBE_BACKUP_VERIFY_FULL,
	GBE_BACKUP_VERIFY_NONE
} GbeBackupVerify;
typedef enum {
	GBE_UPGRADE_FAIL_AUTO,
	GBE_UPGRADE_FAIL_REFUSE,
	GBE_UPGRADE_FAIL_CONTINUE
} GbeOnUpgradeFailure;
typedef enum { GBE_ROLLBACK_RESTORE, GBE_ROLLBACK_IF_FAILED, GBE_ROLLBACK_NEVER } GbeOnRollback;
typedef enum { GBE_CORRUPT_RESTORE, GBE_CORRUPT_REFUSE, GBE_CORRUPT_KEEP } GbeOnCorrupt;
typedef enum { GBE_MISSING_FRESH, GBE_MISSING_RESTORE } GbeOnMissing;
typedef enum { GBE_FAILED_LAST_GOOD, GBE_FAILED_KEEP, GBE_FAILED_REFUSE } GbeOnUpgradeFromFailed;
typedef enum { GBE_NOSPACE_CANNOT_TELL, GBE_NOSPACE_UNHEALTHY, GBE_NOSPACE_HEALTHY } GbeOnNospace;

/* A text whose key is empty is NULL (service: the program is off); member_dir may be "auto". */
typedef struct {
	struct {
		char *data_dir, *member_dir, *version_file, *wal_dir, *service, *binary;
		char *endpoint, *cacert, *cert, *key, *name, *peer_urls;
	} etcd;
	struct {
		guint64 timeout, request_timeout; /* seconds */
		gboolean timeout_scale;		  /* attempt: true */
		guint min_free, quota_warn;	  /* percent */
		guint64 cert_warn, monitor;	  /* seconds; monitor 0: off */
		GbeOnNospace on_nospace;
	} health;
	struct {
		char *directory; /* NULL: auto */
		guint keep_good; /* 0: by the file system (2 on clones, else 1) */
		guint keep_bad;
		GbeWhen at_boot, at_shutdown;
		GbeBackupVerify verify;
		GbeOnUpgradeFailure on_upgrade_failure;
		char *schedule;	     /* NULL: no periodic ones */
		guint hourly, daily; /* of those */
	} backup;
	struct {
		GbeOnRollback on_rollback;
		guint64 trial_limit; /* seconds */
		gboolean retry_trial;
		GbeOnCorrupt on_corrupt_data;
		GbeOnMissing on_missing_data;
		GbeOnUpgradeFromFailed on_upgrade_from_failed;
		gboolean hand_back;
		guint64 verify_budget; /* seconds; 0: every backup gets the sanity check alone */
	} restore;
	struct {
		gboolean enabled;
		guint64 min_size;	 /* bytes */
		guint max_fragmentation; /* percent */
		guint64 interval;	 /* seconds */
		gboolean at_start;
	} defrag;
	struct {
		char *args, *env_file, *credentials;
		guint64 quota_backend_bytes;
		guint64 memory_high; /* 0: not set */
		guint io_weight;     /* 0: not set */
	} run;
	struct {
		char *directories, *regenerated;
	} certs;
	struct {
		char *textfile;
	} metrics;
	struct {
		char *directory, *key, *encrypt_to, *identity;
		guint hourly, daily;
		GbeRequests requests;
	} store;
	struct {
		guint64 compact_keep;
	} alarm;
	GHashTable *origins; /* "group.key" -> "file:line"; absent: the default */
	GPtrArray *warnings; /* of char *: unknown groups and keys */
} GbeConfig;

GbeConfig *gbe_config_new(void); /* the defaults */
void gbe_config_free(GbeConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeConfig, gbe_config_free)

/* Merges one file's bytes. On error @config is unchanged, and @ret_bad_key (may be NULL) is the
 * "group.key" at fault or NULL where the file as a whole cannot be parsed. @skip (may be NULL): set of
 * "group.key" to leave out. GBE_ERROR_INVALID_CONFIG "FILE:LINE: [group] key: ...". */
bool gbe_config_merge(GbeConfig *config, const char *file, const char *bytes, gsize size,
		      gboolean strict, GHashTable *skip, char **ret_bad_key,
		      GError **error) GBE_CHECKED;
/* Rules between keys (a cert without a key, a relative path); INVALID_CONFIG. */
bool gbe_config_check(const GbeConfig *config, GError **error) GBE_CHECKED;
/* Calls @each(group, key, value as text without a password, origin or NULL for the default) for every key, in
 * order. */
typedef void (*GbeConfigEach)(const char *group, const char *key, const char *value,
			      const char *origin, gpointer data);
void gbe_config_foreach(const GbeConfig *config, GbeConfigEach each, gpointer data);
/* "10s" "5min" "2h" "30d" (a bare number: seconds); "100MB" "2GiB" "4k" (a bare number: bytes; k, M, G
 * and kB, MB, GB are powers of 1000, KiB MiB GiB of 1024). */
bool gbe_duration_parse(const char *text, guint64 *ret_seconds, GError **error) GBE_CHECKED;
bool gbe_size_parse(const char *text, guint64 *ret_bytes, GError **error) GBE_CHECKED;
