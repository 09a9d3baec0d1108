/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update lock: of the members of a cluster, one is updated at a time. The lock is a key in etcd
 * (core/record/update-lock.h), which is written by transactions only, and a lease of [cluster] lock-time= beside it.
 * It is taken while every member works; it ends when the holder's update is green, or a person ends it. The lease
 * tells whether the holder is still heard of: it does not end the lock, since an update of which nothing is heard is
 * none that has gone well.
 *
 * A record, `update-lock`, is written before etcd is asked. After a kill or a power cut the next call reads it and the
 * key, and goes on. Until the record says that the lock is held, ostree does not finalize the staged update: it is
 * locked as soon as this program has seen it, and otherwise at shutdown (app/boot/finalize.c).
 */
#pragma once

#include "app/device/context.h"
#include "core/record/update-lock.h"

typedef struct {
	const char *action; /* none waits taken held failed released */
	char *said;	    /* for people; NULL: nothing */
} GbeUpdateLockResult;

void gbe_update_lock_result_clear(GbeUpdateLockResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeUpdateLockResult, gbe_update_lock_result_clear)

/* For the timer: does what follows from where this device's update is. That the lock is not to be had now, and that
 * etcd does not answer, is "waits". GBE_ERROR_BUSY: another operation has the program's lock. */
bool gbe_update_lock_tend(GbeApp *app, GbeUpdateLockResult *ret_result, GError **error) GBE_CHECKED;
/* By hand. GBE_ERROR_REFUSED: another member has it, or one does not work; _CANNOT_TELL: etcd does not answer. */
bool gbe_update_lock_take(GbeApp *app, bool dry_run, GbeUpdateLockResult *ret_result,
			  GError **error) GBE_CHECKED;
/* GBE_ERROR_REFUSED without @force: it is another member's, or says that an update failed. */
bool gbe_update_lock_release(GbeApp *app, bool force, bool dry_run, GbeUpdateLockResult *ret_result,
			     GError **error) GBE_CHECKED;

/* Holds the lock as @id (16 hex digits) while a member that does not work rejoins; another member is asked. The lock of this
 * device's own update will do, and is not touched. GBE_ERROR_REFUSED: another one has it; _CANNOT_TELL: etcd does not
 * answer. A power cut leaves the key as it was, or as it is to be. */
bool gbe_update_lock_take_to_rejoin(GbeApp *app, const char *id, const char *member,
				    GError **error) GBE_CHECKED;
/* Removes the key where it is @id's; otherwise there is nothing to do. */
bool gbe_update_lock_release_rejoined(GbeApp *app, const char *id, GError **error) GBE_CHECKED;

/* For a device that leaves its cluster: removes the key where it is this device's and etcd answers, else notes who has to
 * do so. Then lifts the lock of the staged update, and removes the record. The caller has the program's lock, which this
 * releases. */
bool gbe_update_lock_abandon(GbeApp *app, GError **error) GBE_CHECKED;

typedef struct {
	GbeUpdateLock lock;
	bool held;    /* there is a lock, and ->lock says whose */
	bool own;     /* this device's; false also where that cannot be read */
	bool overdue; /* the holder's lease has run out */
} GbeUpdateLockSeen;

bool gbe_update_lock_look(GbeApp *app, GbeUpdateLockSeen *ret_seen, GError **error) GBE_CHECKED;
