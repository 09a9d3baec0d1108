/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks the running etcd before its database is changed. Its data must be on this device and unused by other
 * processes, etcd healthy, and the disk not full. Also takes a copy before the change. This module does not change
 * etcd.
 */
#pragma once

#include "app/device/service.h"
#include "app/health/look.h"
#include "fs/lock.h"

typedef struct {
	GbeApp *app;
	const char *operation; /* for messages and the lock: "defrag" */
	GbeHealthLook *look;   /* facts and report are of the last look, when the client is open */
	GbeLock *lock;	       /* NULL until gbe_live_etcd_lock() */
} GbeLiveEtcd;

/* For root. A process must have the data open: otherwise the etcd that answers may work on another disk. Below
 * --root, only the etcd of that root may be touched. GBE_ERROR_NOT_FOUND: no data, or no process has it open (below
 * --root: _REFUSED). */
bool gbe_live_etcd_open(GbeApp *app, const char *operation, GbeLiveEtcd *ret_live,
			GError **error) GBE_CHECKED;
/* The same about the data only. */
bool gbe_live_etcd_check_open(GbeApp *app, GError **error) GBE_CHECKED;
void gbe_live_etcd_clear(GbeLiveEtcd *live);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeLiveEtcd, gbe_live_etcd_clear)

/* Looks at etcd's health until it is healthy or @seconds have passed; ->look has the result. */
void gbe_live_etcd_look(GbeLiveEtcd *live, guint seconds);
/* By the last look: unhealthy is GBE_ERROR_VERIFY_FAILED, unknown is _CANNOT_TELL. */
bool gbe_live_etcd_check_healthy(const GbeLiveEtcd *live, GError **error) GBE_CHECKED;
/* Starts [etcd] service after gbe_service_stop(), also if the service was inactive or if systemd has given up. */
bool gbe_live_etcd_start_service(const GbeApp *app, GbeService *service,
				 GError **error) GBE_CHECKED;
/* Both, by a new look, which reads the TLS files again: for an etcd that was started, or has got other certificates. */
bool gbe_live_etcd_wait_healthy(GbeApp *app, const char *operation, guint64 seconds,
				GError **error) GBE_CHECKED;
/* Does this program act as etcd's user root, if etcd has users? The text of GBE_ERROR_NO_USER names the settings. */
bool gbe_live_etcd_check_root(const GbeLiveEtcd *live, GError **error) GBE_CHECKED;
/* By the last look: is there room for a new database next to the old one? GBE_ERROR_NO_SPACE, _CANNOT_TELL. */
bool gbe_live_etcd_check_room(const GbeLiveEtcd *live, GError **error) GBE_CHECKED;

/* Takes a verified copy of the present state. *ret_name: a backup's name when the file system clones; else the path of
 * a snapshot, GBE_BEFORE_FILE, which replaces the one before. A full second database is not kept as a backup. Retention
 * would keep it for long, but it is useful only if the coming change fails. */
bool gbe_live_etcd_back_up(GbeLiveEtcd *live, const char *why, char **ret_name,
			   GError **error) GBE_CHECKED;
#define GBE_BEFORE_FILE GBE_STATE_DIR "/before-maintenance.db"

/* Has etcd certainly not done the call? False after a lost connection, even if a second attempt found no listener:
 * libcurl connects again automatically. */
bool gbe_live_etcd_has_not(const GbeCallFailure *failure);
/* Keeps others from copying, streaming or defragmenting the database. GBE_ERROR_BUSY: another process does. */
bool gbe_live_etcd_lock(GbeLiveEtcd *live, GError **error) GBE_CHECKED;

/* restore --skip-backup --stop: removes the displaced backup once etcd is healthy again (app/by-hand/by-hand.h).
 * Waits @seconds at most until etcd, which was started again, is healthy; then removes the backup @name that the
 * restore of @restored displaced. GBE_ERROR_VERIFY_FAILED: etcd is not healthy; _CANNOT_TELL: its health is
 * unknown; _REFUSED: the backup must stay. Not linked into the initramfs, where no etcd runs. */
bool gbe_displaced_discard(GbeApp *app, const char *name, const char *restored, guint seconds,
			   GError **error) GBE_CHECKED;
