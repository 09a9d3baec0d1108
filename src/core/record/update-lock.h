/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update lock of a cluster. The value of its key in etcd, and the record `update-lock` of the device that holds or
 * wants the lock. ->id is a random number that names the owner of the key. The device writes it down before it asks for
 * the lock. The lease that the device keeps has the same id. Pure.
 */
#pragma once

#include "core/deployment.h"
#include "core/words.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>

/* GROUP/SLOT: a later program may have more groups of devices, and groups in which several may update at once. The
 * FleetLock protocol of Zincati has both. */
#define GBE_UPDATE_LOCK_KEY "greenboot-etcd/update-lock/default/1"

typedef enum {
	GBE_UPDATE_LOCK_WANTED, /* in the record only */
	GBE_UPDATE_LOCK_HELD,
	GBE_UPDATE_LOCK_FAILED, /* the update failed, and the others do not begin theirs */
} GbeUpdateLockState;

extern const GbeWords gbe_update_lock_words;

typedef struct {
	char *id;		  /* 16 hex digits; NULL: no owner */
	char *member;		  /* its name; NULL: not known */
	GbeDeployment deployment; /* the update; ->id NULL: locked by hand */
	guint state;		  /* GbeUpdateLockState */
	char *reason; /* why it failed; in the record also why it is not held yet; NULL */
	gint64 since; /* seconds since the epoch, by the holder's clock; -1: not known */
	/* In the record only: this program has locked the staged deployment against finalization. */
	bool locked;
} GbeUpdateLock;

void gbe_update_lock_clear(GbeUpdateLock *lock);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeUpdateLock, gbe_update_lock_clear)

/* @object NULL, or not such a lock: ->id is NULL. An unknown state counts as held. */
void gbe_update_lock_from_json(JsonObject *object, GbeUpdateLock *ret_lock);
JsonObject *gbe_update_lock_to_json(const GbeUpdateLock *lock);
/* "held by south for the update fedora-iot 0123456789ab". Newly allocated. */
char *gbe_update_lock_to_text(const GbeUpdateLock *lock);
