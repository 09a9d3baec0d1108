/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state's record `rehearsal`: the result of the last rehearsal of an update. A sealed file (core/json/parse.h). If
 * the record is lost, the update is rehearsed once more.
 */
#pragma once

#include "core/deployment.h"
#include "core/tri.h"
#include "core/words.h"

#include <json-glib/json-glib.h>

typedef enum {
	GBE_REHEARSAL_NONE, /* no rehearsal yet */
	GBE_REHEARSAL_PASSED,
	GBE_REHEARSAL_FAILED,
	GBE_REHEARSAL_NOT_REHEARSED, /* the rehearsal itself was not possible; the update may be fine */
} GbeRehearsalResult;

typedef struct {
	GbeDeployment deployment; /* the update */
	GbeRehearsalResult result;
	char *reason;	      /* NULL where it passed */
	char *from, *to;      /* etcd's versions today and in the update; NULL: not known */
	gint64 duration_usec; /* -1: not known */
	gint64 at;	      /* seconds since the epoch; -1: never */
	GbeTri goes_back;     /* can today's etcd use what the update's etcd leaves? */
	char *going_back;     /* why not, or why that is unknown; NULL */
	bool locked;	      /* this program has locked the deployment against finalization */
} GbeRehearsal;

extern const GbeWords gbe_rehearsal_words; /* passed failed not-rehearsed */
void gbe_rehearsal_clear(GbeRehearsal *rehearsal);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeRehearsal, gbe_rehearsal_clear)

/* Unknown members read as in a new record, which @object NULL gives. */
void gbe_rehearsal_read(JsonObject *object, GbeRehearsal *ret_rehearsal);
JsonObject *gbe_rehearsal_print(const GbeRehearsal *rehearsal);
const char *gbe_rehearsal_result_to_string(GbeRehearsalResult result); /* NULL for NONE */

/* Does the record answer for @deployment and today's etcd of version @from? A rehearsal that was not possible is
 * tried again. */
bool gbe_rehearsal_answers(const GbeRehearsal *rehearsal, const GbeDeployment *deployment,
			   const char *from);
