/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runs/<sequence>.<none|judging|green|red> in the state: one file for each stamp, made before it. The
 * verdict is in the name, so that giving it is one rename; the content (sealed) says whose run it was
 * and what etcd's health was. Also the ids that were seen missing from ostree's list.
 */
#pragma once

#include "core/deployment.h"
#include "core/tri.h"
#include "core/verdict.h"

#include <json-glib/json-glib.h>

typedef struct {
	guint64 sequence;
	GbeVerdict verdict;
	GbeDeployment deployment;
	char *run;
	GbeTri trial;	  /* the deployment was on trial in this run */
	gboolean by_hand; /* the verdict came from `mark` */
	GbeHealth health;
	char *reason;	    /* of the health or of `mark`; NULL */
	char *etcd_version; /* as etcd said it over its API; NULL */
	gint64 revision;    /* as seen live by green; -1 */
	char *member_id, *cluster_id;
	guint voters;	     /* as seen live; 0 unknown */
	JsonObject *unknown; /* as read: foreign keys survive; NULL: new */
} GbeRunRecord;

/* A deployment id that state knew was absent from ostree's list once: records of it up to that
 * sequence are of another deployment, one without a past today. */
typedef struct {
	char *id;
	guint64 sequence;
} GbeGone;

GbeRunRecord *gbe_run_record_new(void);
void gbe_run_record_free(GbeRunRecord *record);
GbeRunRecord *gbe_run_record_copy(const GbeRunRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeRunRecord, gbe_run_record_free)
/* "00000000000000000042.green": 20 digits, so that names sort as numbers do. */
char *gbe_run_record_name(guint64 sequence, GbeVerdict verdict);
bool gbe_run_record_name_parse(const char *name, guint64 *ret_sequence, GbeVerdict *ret_verdict);
/* Sequence and verdict come from the name. */
bool gbe_run_record_from_json(JsonObject *object, GbeRunRecord **ret_record,
			      GError **error) GBE_CHECKED;
JsonObject *gbe_run_record_to_json(const GbeRunRecord *record);

void gbe_gone_free(GbeGone *gone);
/* Arrays of GbeGone with free func. Unreadable members are skipped. */
GPtrArray *gbe_gone_from_json(JsonObject *object);
JsonObject *gbe_gone_to_json(GPtrArray *gone);
