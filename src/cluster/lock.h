/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update lock: only one member of a cluster is updated at a time. The lock is a key in etcd
 * (core/record/update-lock.h), which is written by transactions only, with a lease of [cluster] lock-time=. A device
 * can take the lock while every member works. The lock ends when the holder's update is green, or when a person
 * releases it. The lease shows whether the holder is alive. The end of the lease does not free the lock: a silent
 * holder may have failed its update.
 *
 * A record, `update-lock`, is written before etcd is asked. After a kill or a power cut, the next call reads the
 * record and the key, and resumes. Until the record says that the lock is held, ostree does not finalize the staged
 * update. This program locks the update when it first sees it, or at shutdown (app/boot/finalize.c).
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

/* For the timer: takes, keeps, fails or releases the lock, according to the state of this device's update. The result
 * is "waits" if the lock is not free, or etcd does not answer. GBE_ERROR_BUSY: another operation has the program's
 * lock. */
bool gbe_update_lock_tend(GbeApp *app, GbeUpdateLockResult *ret_result, GError **error) GBE_CHECKED;
/* By hand. GBE_ERROR_REFUSED: another member has the lock, or a member does not work; _CANNOT_TELL: etcd does not
 * answer. */
bool gbe_update_lock_take(GbeApp *app, bool dry_run, GbeUpdateLockResult *ret_result,
			  GError **error) GBE_CHECKED;
/* GBE_ERROR_REFUSED without @force: the lock is another member's, or its update failed. */
bool gbe_update_lock_release(GbeApp *app, bool force, bool dry_run, GbeUpdateLockResult *ret_result,
			     GError **error) GBE_CHECKED;

/* Holds the lock as @id (16 hex digits) while a member that does not work rejoins; another member is asked. A lock
 * for this device's own update is enough, and is not changed. GBE_ERROR_REFUSED: another member has the lock;
 * _CANNOT_TELL: etcd does not answer. A power cut leaves the old key or the new one. */
bool gbe_update_lock_take_to_rejoin(GbeApp *app, const char *id, const char *member,
				    GError **error) GBE_CHECKED;
/* Removes the key if its holder is @id. */
bool gbe_update_lock_release_rejoined(GbeApp *app, const char *id, GError **error) GBE_CHECKED;

/* For a device that leaves its cluster: removes the key if it is this device's and etcd answers. Otherwise warns that
 * the lock may remain. Then unlocks the staged update, and removes the record. The caller has the program's lock,
 * which this releases. */
bool gbe_update_lock_abandon(GbeApp *app, GError **error) GBE_CHECKED;

typedef struct {
	GbeUpdateLock lock;
	bool held;    /* there is a lock, and ->lock says whose */
	bool own;     /* this device's; also false if the record is unreadable */
	bool overdue; /* the holder's lease has run out */
} GbeUpdateLockSeen;

bool gbe_update_lock_look(GbeApp *app, GbeUpdateLockSeen *ret_seen, GError **error) GBE_CHECKED;
