/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context that every use case starts from: the root, the configuration, the state directory and the lock. All
 * paths of the program are defined here and nowhere else. They are absolute as on the device and are resolved below
 * the root.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/config/config.h"
#include "core/deployment.h"
#include "core/json/parse.h"
#include "fs/lock.h"
#include "sys/deployment/booted.h"
#include "sys/enabled.h"

#define GBE_PRERUN_UNIT "greenboot-etcd-prerun.service"
#define GBE_STATE_DIR "/var/lib/greenboot-etcd"
/* The variables of a member of a cluster (core/units/cluster-env.h), which etcd's unit reads. */
#define GBE_CLUSTER_ENV GBE_STATE_DIR "/cluster.env"
#define GBE_RUN_DIR "/run/greenboot-etcd"
#define GBE_STATUS_FILE "/run/greenboot-etcd/status.json"
#define GBE_MOTD_FILE "/run/motd.d/greenboot-etcd"
/* This directory lies at the root of the data's file system when the state directory is on another file system. */
#define GBE_HIDDEN_DIR ".greenboot-etcd"
#define GBE_LOCK_NAME "lock"
/* In GBE_RUN_DIR; the kernel drops the lock when its holder ends. */
#define GBE_MAINTENANCE_LOCK "maintenance"
/* A file in the state directory (fs/reserve.h). */
#define GBE_RESERVE_NAME "reserve"

/* Called whenever bytes have moved: @bytes since the last call. */
typedef void (*GbeProgress)(guint64 bytes, gpointer data);

typedef struct GbeLedgerFile GbeLedgerFile;

typedef struct {
	char *program;	 /* "prerun": for events and the lock's holder */
	char *root_path; /* "/" or DIR */
	int root_fd;
	bool below_root;   /* --root was given: no service, no journal, no bus */
	bool initramfs;	   /* the command line's request is that of the initramfs */
	char *config_file; /* --config, or NULL */
	GbeConfig *config;
	bool configured;      /* ->config was chosen; before that, no data is opened */
	struct GbeKeys *keys; /* app/backups/store.h; NULL: no keys, or not loaded yet */
	GbeCmdline cmdline;
	int state_fd;	       /* -1 until gbe_app_open_state() */
	GbeLock *lock;	       /* NULL until gbe_app_lock() */
	GbeLedgerFile *ledger; /* app/state/ledger.h: what was read of the ledger; NULL */
	void (*ledger_free)(
	    GbeLedgerFile *ledger); /* set with ->ledger; a program that never reads the ledger
				     * links without it */
	GbeProgress progress;
	gpointer progress_data;
	/* Microseconds left for removing trees whose names are swept. A boot or a shutdown does not wait until
	 * the last of a million names is removed. NULL: no limit. */
	gint64 *patience;
	/* When an operation with a bucket is given up: monotonic microseconds; 0: each call has its own limit. A bucket
	 * takes it over when it is opened. */
	gint64 store_deadline;
} GbeApp;

/* Opens the root and reads the kernel command line. Does not load the configuration. */
bool gbe_app_new(const char *program, const char *root, GbeApp **ret_app,
		 GError **error) GBE_CHECKED;
void gbe_app_free(GbeApp *app);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeApp, gbe_app_free)

/* Opens the state directory. @make creates it (0700, durable) when it is missing; without @make, a missing
 * directory is GBE_ERROR_NOT_FOUND. */
bool gbe_app_open_state(GbeApp *app, bool make, GError **error) GBE_CHECKED;
/* Reads a sealed file of the state directory, like gbe_state_read() (app/state/state.h), but a broken file is
 * GBE_ERROR_CORRUPT and keeps its name. The function is here so that a small program links no more of the state. */
bool gbe_state_peek(GbeApp *app, const char *name, JsonObject **ret_object,
		    GError **error) GBE_CHECKED;
/* Opens the directory of the certificates that are made here (GBE_PKI_DIR); @make and what is missing as above. */
bool gbe_app_open_pki(GbeApp *app, bool make, int *ret_fd, GError **error) GBE_CHECKED;
/* How long each operation waits for the program's lock, in milliseconds. */
typedef enum {
	GBE_WAIT_NOT = 0,
	/* The lock of maintenance. Before maintenance of etcd, also the program's lock: its holder works on the data. */
	GBE_WAIT_MAINTENANCE = 1000,
	/* A person waits, and the message names the holder: long enough for a backup of a small tree to end. */
	GBE_WAIT_BY_HAND = 2000,
	/* The lock is free at once, or not at all: its holder was killed, or the work is done without it. */
	GBE_WAIT_IF_FREE = 2000,
	/* greenboot waits for the health check, and its result is not lost without the record. */
	GBE_WAIT_GATE = 5000,
	/* A unit that records what it did or saw; systemd or the next boot waits for it. */
	GBE_WAIT_UNIT = 10000,
	/* etcd's start waits, and must not begin without prerun. */
	GBE_WAIT_PRERUN = 30000,
	/* A result that took long to find: of a verification, or status.json. No person waits for it. */
	GBE_WAIT_RESULT = 30000,
	/* Without its verdict, a run that was green may be taken back: what has the lock may have much to copy. */
	GBE_WAIT_VERDICT = 60000,
} GbeLockWait;

/* Opens the state and takes the lock (GBE_ERROR_BUSY names the holder). On a full disk the reserve is given back,
 * so that the work under the lock can be recorded; unlocking takes the reserve again. */
bool gbe_app_lock(GbeApp *app, const char *operation, GbeLockWait wait, GError **error) GBE_CHECKED;
void gbe_app_unlock(GbeApp *app);
/*
 * A lock for streaming etcd's database, cloning its files while it runs, or defragmenting it. Two of these at the same
 * time stop every write for as long as the slower one takes (reference etcd.md, section 8). The program's lock is
 * another one: greenboot's verdict and a shutdown wait for the program's lock, and must not wait for this one.
 *
 * GBE_ERROR_BUSY names the holder. *ret_lock is NULL when the caller is not root and cannot take the lock. The caller
 * then relies on etcd's own word about a defragmentation.
 */
bool gbe_maintenance_lock(GbeApp *app, const char *operation, GbeLock **ret_lock,
			  GError **error) GBE_CHECKED;
#define GBE_KEY_FILE_MAX 8192

/* Opens a file of keys. GBE_ERROR_UNSAFE_SOURCE: the file is a symlink, does not belong to root, or lies on a path that
 * another user can change. The same if others can write it, or read it when it is @secret. */
bool gbe_key_file_open(const GbeApp *app, const char *path, bool secret, int *ret_fd,
		       GError **error) GBE_CHECKED;
/* Reads a secret, from that file or, with @path NULL, from the systemd credential. Wipe @bytes after use. */
bool gbe_key_file_read(const GbeApp *app, const char *path, const char *credential,
		       char bytes[GBE_KEY_FILE_MAX], gsize *ret_size, GError **error) GBE_CHECKED;
/* Reports that bytes moved; fits the callbacks of src/fs. @data is the GbeApp. Always true. */
bool gbe_app_progress(guint64 bytes, gpointer data);
/* Finds the booted deployment from files alone, without libostree: for a program that must stay small, or must
 * work where libostree does not. Follows ostree= of the kernel command line. After a soft reboot, ostree= still names
 * the deployment before it; the caller has to know that. GBE_ERROR_CANNOT_TELL without ostree=. */
bool gbe_booted_from_cmdline(GbeApp *app, GbeDeployment *ret_booted, GError **error) GBE_CHECKED;
/* The state of prerun's unit, as systemd will see it. MASKED: by a file, for this boot (`systemctl mask --runtime`), or
 * by the kernel command line. */
GbeUnitFile gbe_prerun_unit(const GbeApp *app);
