/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration (interface.md, section 4): merges key files from memory; later files win key by key.
 * src/app/state/configuration.h finds the files. A value that cannot be parsed or is out of range is an
 * error that names the file, the line and the allowed range. An unknown group or key is a warning, with
 * @strict an error.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

/* Below [store] directory: holds the requests of people who reach the store and not the device. */
#define GBE_STORE_REQUESTS "requests"

typedef enum { GBE_WHEN_COW_ONLY, GBE_WHEN_ALWAYS, GBE_WHEN_NEVER } GbeWhen;
/* How requests in a store are found. YES: by a timer. WATCH: also by systemd itself, which must reach the directory. */
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
/* How much of an update's etcd is tried. AUTO: the start on a clone; FULL: also whether today's etcd reads what that
 * left. */
typedef enum {
	GBE_REHEARSE_AUTO,
	GBE_REHEARSE_FULL,
	GBE_REHEARSE_VERSIONS,
	GBE_REHEARSE_NO
} GbeRehearseMode;
typedef enum { GBE_NOSPACE_CANNOT_TELL, GBE_NOSPACE_UNHEALTHY, GBE_NOSPACE_HEALTHY } GbeOnNospace;

/* An empty key is NULL (service NULL: the program is off). member_dir may be "auto". */
typedef struct {
	struct {
		char *data_dir, *member_dir, *version_file, *wal_dir, *service, *binary;
		char *endpoint, *cacert, *cert, *key, *name, *peer_urls;
		char *user, *password_file;
	} etcd;
	struct {
		guint64 timeout, request_timeout; /* seconds */
		guint timeout_scale;		  /* 1: with each attempt */
		guint min_free, quota_warn;	  /* percent */
		guint64 cert_warn, monitor;	  /* seconds; monitor 0: off */
		GbeOnNospace on_nospace;
	} health;
	struct {
		char *directory; /* NULL: auto */
		guint keep_good; /* 0: 2 where the file system clones, else 1 */
		guint keep_bad;
		GbeWhen at_boot, at_shutdown;
		GbeBackupVerify verify;
		GbeOnUpgradeFailure on_upgrade_failure;
		char *schedule;	     /* NULL: no periodic backups */
		guint hourly, daily; /* periodic backups kept */
	} backup;
	struct {
		GbeOnRollback on_rollback;
		guint64 trial_limit; /* seconds */
		bool retry_trial;
		GbeOnCorrupt on_corrupt_data;
		GbeOnMissing on_missing_data;
		GbeOnUpgradeFromFailed on_upgrade_from_failed;
		bool hand_back;
		guint64 verify_budget; /* seconds; 0: only the sanity check */
	} restore;
	struct {
		bool enabled;
		guint64 min_size;	 /* bytes */
		guint max_fragmentation; /* percent */
		guint64 interval;	 /* seconds */
		bool at_start;
	} defrag;
	struct {
		char *args, *env_file, *credentials;
		guint64 quota_backend_bytes;
		guint64 memory_high; /* 0: not set */
		guint io_weight;     /* 0: not set */
	} run;
	struct {
		char *directories, *regenerated;
		char *names;	     /* more hosts that the certificates made here are for */
		guint64 validity;    /* seconds */
		char *renew_command; /* NULL: this program renews what it has made */
	} certs;
	struct {
		bool rejoin, update_lock;
		guint64 lock_time; /* seconds */
	} cluster;
	struct {
		char *textfile;
	} metrics;
	struct {
		char *directory; /* or ->url, not both */
		char *url, *region, *access_key_file, *ca, *proxy;
		guint64 rate_limit; /* bytes per second; 0: none */
		char *schedule;	    /* NULL: nothing is pushed automatically */
		guint queue_keep;
		char *prove;	    /* a calendar event; NULL: never */
		guint64 prove_warn; /* seconds; 0: no warning */
		char *key, *encrypt_to, *identity;
		guint hourly, daily;
		GbeRequests requests;
	} store;
	struct {
		guint64 compact_keep;
	} alarm;
	struct {
		GbeRehearseMode rehearse;
		guint64 rehearse_copy_max; /* bytes, where the file system does not clone */
		char *rehearse_command;	   /* NULL: [etcd] binary is etcd */
		guint lock_failed;	   /* on-failed-rehearsal: 1 with lock */
	} preflight;
	/* "group.key" -> "file:line", or "detected: MicroShift"; absent: the default */
	GHashTable *origins;
	char *ambiguous;     /* what a person is asked where more than one system is there; NULL */
	GPtrArray *warnings; /* of char *: unknown groups and keys */
} GbeConfig;

GbeConfig *gbe_config_new(void); /* the defaults */
void gbe_config_free(GbeConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeConfig, gbe_config_free)

/* Merges one file's bytes. On error @config is unchanged, and @ret_bad_key (may be NULL) is the wrong "group.key", or
 * NULL where the whole file cannot be parsed. @skip (may be NULL): a set of "group.key" to leave out.
 * GBE_ERROR_INVALID_CONFIG "FILE:LINE: [group] key: ...". */
bool gbe_config_merge(GbeConfig *config, const char *file, const char *bytes, gsize size,
		      bool strict, GHashTable *skip, char **ret_bad_key,
		      GError **error) GBE_CHECKED;
/* The same, strictly, for a person who asks for all errors: adds each to @faults (of char *), and merges the other
 * lines. */
void gbe_config_merge_right(GbeConfig *config, const char *file, const char *bytes, gsize size,
			    GPtrArray *faults);
/* True: [etcd] service is empty, which switches off everything that runs automatically. */
bool gbe_config_is_off(const GbeConfig *config);
/* Finds the keys that contradict each other (a cert without a key): "FILE:LINE: [group] key: ...", of char *. Free with
 * g_ptr_array_unref(). */
GPtrArray *gbe_config_faults(const GbeConfig *config);
/* GBE_ERROR_INVALID_CONFIG with the first of them. */
bool gbe_config_check(const GbeConfig *config, GError **error) GBE_CHECKED;
/* Sets GBE_ERROR_INVALID_CONFIG "FILE:LINE: [group] key: @what". Always returns false. */
bool gbe_config_refuse(const GbeConfig *config, const char *group, const char *key,
		       const char *what, GError **error);
/* Calls @each for every key, in order. @value is text without a password. @origin is NULL for the default. */
typedef void (*GbeConfigEach)(const char *group, const char *key, const char *value,
			      const char *origin, gpointer data);
void gbe_config_foreach(const GbeConfig *config, GbeConfigEach each, gpointer data);
/* "10s" "5min" "2h" "30d" (a bare number: 0 only). "100MB" "2GiB" "4k" (a bare number: bytes; k, M, G, kB, MB, GB are
 * powers of 1000, KiB MiB GiB of 1024). */
bool gbe_duration_parse(const char *text, guint64 *ret_seconds, GError **error) GBE_CHECKED;
bool gbe_size_parse(const char *text, guint64 *ret_bytes, GError **error) GBE_CHECKED;
