/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a person asked the next start to do, and the small counters and notes of the state that need
 * a text form: request, attempts, last operation, carried failure. All sealed records.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/verdict.h"

#include <json-glib/json-glib.h>

typedef enum {
	GBE_REQUEST_NONE,
	GBE_REQUEST_RESTORE,   /* ->name */
	GBE_REQUEST_LAST_GOOD, /* resolved when it is due */
	GBE_REQUEST_UNDO,
} GbeRequestKind;

typedef struct {
	GbeRequestKind kind;
	char *name; /* GBE_REQUEST_RESTORE */
	char *run;  /* in which it was asked: due in a later one */
	gboolean force;
	gboolean from_cmdline; /* greenboot-etcd.restore= on the kernel command line */
} GbeRequest;

void gbe_request_clear(GbeRequest *request);
/* "NAME", "last-good", "undo"; GBE_ERROR_USAGE on anything else. */
bool gbe_request_parse_target(const char *text, GbeRequest *request, GError **error) GBE_CHECKED;
bool gbe_request_from_json(JsonObject *object, GbeRequest *request, GError **error) GBE_CHECKED;
JsonObject *gbe_request_to_json(const GbeRequest *request);

/* How often a backup was restored for a deployment without a green run since: at most 3. */
#define GBE_ATTEMPTS_MAX 3
typedef struct {
	char *backup;
	char *deployment;
	guint count;
} GbeAttempt;
void gbe_attempt_free(GbeAttempt *attempt);
/* Arrays of GbeAttempt with free func. Unreadable members are skipped. */
GPtrArray *gbe_attempts_from_json(JsonObject *object);
JsonObject *gbe_attempts_to_json(GPtrArray *attempts);

/* What was done last, for status. */
typedef struct {
	char *operation; /* backup restore hold fresh stamp delete ... */
	char *result;	 /* done failed partial held */
	char *rule;
	char *reason;
	char *backup;
	char *run;
	gint64 started; /* seconds since the epoch */
	gint64 duration_usec;
	char *rewound_from; /* last restore: the revision or name that was displaced; NULL */
	char *undo;	    /* name of the tree that the last restore displaced; NULL */
} GbeLastOperation;
void gbe_last_operation_clear(GbeLastOperation *last);
void gbe_last_operation_from_json(JsonObject *object, GbeLastOperation *last);
JsonObject *gbe_last_operation_to_json(const GbeLastOperation *last);
