/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A person's request to the next start, and the last operation: records of the ledger.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/words.h"

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
	char *run;  /* the run in which the person asked: due in a later run */
	bool force;
	bool from_cmdline; /* greenboot-etcd.restore= on the kernel command line */
	char *text;	   /* GBE_NEXT_BOOT, or the command line's argument; NULL: by hand */
} GbeRequest;

/* The ways to ask: the values of ->text. */
#define GBE_NEXT_BOOT "--next-boot"
#define GBE_CMDLINE_RESTORE "greenboot-etcd.restore="
#define GBE_CMDLINE_RD_RESTORE "rd." GBE_CMDLINE_RESTORE

void gbe_request_clear(GbeRequest *request);
/* "NAME", "last-good", "undo"; GBE_ERROR_USAGE on anything else. */
bool gbe_request_parse_target(const char *text, GbeRequest *request, GError **error) GBE_CHECKED;
/* {request, name, run, force, from_cmdline}: a record has "kind" already. */
bool gbe_request_from_json(JsonObject *object, GbeRequest *request, GError **error) GBE_CHECKED;
JsonObject *gbe_request_to_json(const GbeRequest *request);

/* The last operation, for status. */
typedef struct {
	char *operation; /* as gbe_action_to_string(), delete ... */
	char *result;	 /* done failed partial held */
	char *rule;
	char *reason;
	char *backup;
	/* The backup of what a restore displaced, while it is there. Not recorded. */
	char *set_aside;
	char *run;
	gint64 started; /* seconds since the epoch */
	gint64 duration_usec;
} GbeLastOperation;
void gbe_last_operation_clear(GbeLastOperation *last);
void gbe_last_operation_from_json(JsonObject *object, GbeLastOperation *last);
JsonObject *gbe_last_operation_to_json(const GbeLastOperation *last);
