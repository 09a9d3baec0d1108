/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides one device's next step with the update lock of a cluster (core/record/update-lock.h), from the state of its
 * update and the holder of the key. Pure.
 */
#pragma once

#include "core/decide/facts.h"

/* How far this device's update is. */
typedef enum {
	GBE_TURN_UNKNOWN, /* the deployments, or the booted one, are unknown */
	GBE_TURN_NONE,	  /* no update is staged, and no lock is wanted */
	GBE_TURN_BY_HAND, /* the lock is a person's */
	GBE_TURN_STAGED,
	GBE_TURN_TRIAL,	  /* booted, and not green yet */
	GBE_TURN_RED,	  /* booted, and red in this run */
	GBE_TURN_GREEN,	  /* or its trial is over, on a device without greenboot */
	GBE_TURN_FAILED,  /* it has been tried, and another system is booted */
	GBE_TURN_DROPPED, /* it is not staged any more, and never was tried */
	GBE_N_TURNS,
} GbeTurn;

/* @wanted: the update in the record; ->id NULL: by hand. @recorded: there is a record. @staged NULL: no update is
 * staged that may be finalized once the lock is held. @listed: of GbeListed; NULL: not known. */
GbeTurn gbe_turn_of(const GbeFacts *facts, const GPtrArray *listed, const GbeListed *staged,
		    bool recorded, const GbeDeployment *wanted);

typedef enum {
	GBE_LOCK_KEY_UNKNOWN, /* etcd does not answer, or has no quorum */
	GBE_LOCK_KEY_FREE,
	GBE_LOCK_KEY_OWN,
	GBE_LOCK_KEY_OWN_FAILED,
	GBE_LOCK_KEY_OTHER,
	GBE_N_LOCK_KEYS,
} GbeLockKey;

typedef enum {
	GBE_LOCK_WAIT, /* changes nothing in etcd */
	GBE_LOCK_TAKE,
	GBE_LOCK_HOLD,	  /* keeps the lease, and names the update */
	GBE_LOCK_FAIL,	  /* writes that the update failed */
	GBE_LOCK_RELEASE, /* removes the key, then the record */
	GBE_LOCK_FORGET,  /* removes the record: the key is not, or no longer, its own */
} GbeLockStep;

/* @all_work: every member of the cluster works for certain. The lock is taken only then, and once taken it ends by the
 * device's own green, or by a person. */
GbeLockStep gbe_lock_step(GbeTurn turn, GbeLockKey key, bool all_work);
