/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The running etcd, for whoever is going to change its database: is it the one whose data is here, is it
 * healthy, is there room, and is nobody else at it? And a copy before. Nothing here changes etcd.
 */
#pragma once

#include "app/health-look.h"
#include "fs/lock.h"

typedef struct {
	GbeApp *app;
	const char *operation; /* for messages and the lock: "defrag" */
	GbeHealthLook *look;   /* facts and report are of the last look; its client is open then */
	GbeLock *lock;	       /* NULL until gbe_live_etcd_lock() */
} GbeLiveEtcd;

/* Root's. Somebody has to have the data open: what etcd says of itself is nothing to go by for another's
 * disk, and below --root no etcd is touched but the one of that root. GBE_ERROR_NOT_FOUND: no data;
 * _REFUSED, _FAILED: nobody has it open. */
bool gbe_live_etcd_open(GbeApp *app, const char *operation, GbeLiveEtcd *ret_live,
			GError **error) GBE_CHECKED;
void gbe_live_etcd_clear(GbeLiveEtcd *live);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeLiveEtcd, gbe_live_etcd_clear)

/* Looks at its health, again and again until it is healthy or @seconds are over; ->look has what was seen. */
void gbe_live_etcd_look(GbeLiveEtcd *live, guint seconds);
/* Of the last look: unhealthy is GBE_ERROR_VERIFY_FAILED, what cannot be told _CANNOT_TELL. */
bool gbe_live_etcd_check_healthy(const GbeLiveEtcd *live, GError **error) GBE_CHECKED;
/* Of the last look: room for a new database beside the old one. GBE_ERROR_NO_SPACE, _CANNOT_TELL. */
bool gbe_live_etcd_check_room(const GbeLiveEtcd *live, GError **error) GBE_CHECKED;

/* A verified copy, as it is now: a backup, where the file system clones; else a snapshot, GBE_BEFORE_FILE, in
 * place of the one before: a second database as a backup would be kept by retention for long, where
 * nothing but the failure of what comes now makes it wanted. *ret_name: the backup's, or the path. */
bool gbe_live_etcd_back_up(GbeLiveEtcd *live, const char *why, char **ret_name,
			   GError **error) GBE_CHECKED;
#define GBE_BEFORE_FILE GBE_STATE_DIR "/before-maintenance.db"

/* Is a copy of what etcd has open one of clones? *ret_clones, where the store is there. */
bool gbe_live_etcd_clones(GbeApp *app, bool *ret_clones, GError **error) GBE_CHECKED;
/* From here on nobody else copies, streams or defragments it. GBE_ERROR_BUSY: somebody does. */
bool gbe_live_etcd_lock(GbeLiveEtcd *live, GError **error) GBE_CHECKED;
