/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every use case starts from: the root, the configuration, the state directory, the lock. All
 * paths of the program are here and nowhere else; they are absolute as on the device and resolved
 * below the root.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/config.h"
#include "fs/lock.h"
#include "sys/run.h"

#define GBE_STATE_DIR "/var/lib/greenboot-etcd"
#define GBE_RUN_DIR "/run/greenboot-etcd"
#define GBE_STATUS_FILE "/run/greenboot-etcd/status.json"
#define GBE_MOTD_FILE "/run/motd.d/greenboot-etcd"
/* At the root of the data's file system, where the state lies on another one. */
#define GBE_HIDDEN_DIR ".greenboot-etcd"
#define GBE_LOCK_NAME "lock"
/* In the state, fs/reserve.h. */
#define GBE_RESERVE_NAME "reserve"

/* Called whenever bytes have moved: @bytes since the last call. */
typedef void (*GbeProgress)(guint64 bytes, gpointer data);

typedef struct GbeLedgerFile GbeLedgerFile;

typedef struct {
	char *program;	 /* "prerun": for events and the lock's holder */
	char *root_path; /* "/" or DIR */
	int root_fd;
	gboolean below_root; /* --root was given: no service, no journal, no bus */
	gboolean initramfs;  /* the command line's request is that of the initramfs */
	char *config_file;   /* --config, or NULL */
	GbeConfig *config;
	struct GbeKeys *keys; /* app/keys.h; NULL: none, or not asked for yet */
	GbeCmdline cmdline;
	int state_fd;	       /* -1 until gbe_app_open_state() */
	GbeLock *lock;	       /* NULL until gbe_app_lock() */
	GbeLedgerFile *ledger; /* app/ledger.h: what was read of it; NULL */
	void (*ledger_free)(
	    GbeLedgerFile *ledger); /* set with it: who never reads it links without it */
	GbeProgress progress;
	gpointer progress_data;
	/* Microseconds left for removing trees whose names are swept: a boot and a shutdown do not wait for the
	 * last of a million names. NULL: no limit. */
	gint64 *patience;
} GbeApp;

/* Opens root, reads the kernel command line; loads no configuration yet. */
bool gbe_app_new(const char *program, const char *root, GbeApp **ret_app,
		 GError **error) GBE_CHECKED;
void gbe_app_free(GbeApp *app);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeApp, gbe_app_free)

/* The state directory; with @make it is made (0700, durable) where it is missing. Without, and missing:
 * GBE_ERROR_NOT_FOUND. */
bool gbe_app_open_state(GbeApp *app, gboolean make, GError **error) GBE_CHECKED;
/* Opens the state and takes the lock (GBE_ERROR_BUSY names the holder). On a full disk the reserve is given
 * back, so that what is done under the lock can be recorded; unlocking takes it again. */
bool gbe_app_lock(GbeApp *app, const char *operation, guint timeout_ms, GError **error) GBE_CHECKED;
void gbe_app_unlock(GbeApp *app);
/* Says that bytes moved; fits the callbacks of src/fs. @data is the GbeApp. Always true. */
bool gbe_app_progress(guint64 bytes, gpointer data);
