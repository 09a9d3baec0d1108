/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger: root's word on the history of the data. It is an append-only file with one record a line. A fold
 * over the records gives the known past (core/decide/past.h). src/app/state/ledger.h reads and writes the file.
 * A record is never changed: later knowledge is a later record that names the take-over ("of").
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <json-glib/json-glib.h>

/* JSON holds numbers up to this one exactly. A line with a larger sequence is no record. */
#define GBE_LEDGER_SEQUENCE_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)

/* The newest runs whose records are kept in any case. */
#define GBE_LEDGER_RUNS_KEPT 32

/*
 * Each record is a JSON object with "sequence" (its own number, which gives the order; a clock never does), "kind" and
 * "time" (a label). An unknown kind is a newer program's: it is kept and says nothing.
 */
typedef enum {
	GBE_LEDGER_OTHER,     /* a newer program's */
	GBE_LEDGER_HOLE,      /* {line, lines, reason}: lines that are no records; only in memory */
	GBE_LEDGER_HEAD,      /* {id}: the first record of the file */
	GBE_LEDGER_TAKE_OVER, /* core/record/take-over.h */
	GBE_LEDGER_TREE, /* {of, tree, nonce, mount_point}: the place of that take-over's data */
	GBE_LEDGER_HANDED_BACK, /* {of}: the data has no owner from here on */
	GBE_LEDGER_VERDICT,	/* {of, ...}: core/record/run.h */
	GBE_LEDGER_CLOSING,	/* {of, tree, ...}: the orderly end of the run */
	GBE_LEDGER_OPENED,	/* {of}: etcd may write again, the closing record is over */
	GBE_LEDGER_USED,	/* {of}: the run has used the data for longer than trial-limit */
	GBE_LEDGER_START,	/* {deployment}: a prerun began */
	/* {deployment, of, held, fell_back, reason}: that prerun ended; fell_back: the default was another one */
	GBE_LEDGER_END,
	GBE_LEDGER_INTENT,	 /* core/record/intent.h */
	GBE_LEDGER_INTENT_ENDED, /* {of, result}: undone; a take-over ends an intent that was
				  * done */
	GBE_LEDGER_BACKUP,  /* {backup, number, deployment, grade, reason}: taken or displaced */
	GBE_LEDGER_GRADED,  /* {backup, number, grade, reason} */
	GBE_LEDGER_REMOVED, /* {backup, number, reason} */
	GBE_LEDGER_REQUEST, /* core/record/request.h: --next-boot */
	GBE_LEDGER_REQUEST_ENDED, /* {result, reason}: cancelled, or could not be done */
	GBE_LEDGER_CMDLINE,	  /* {restore, rd_restore}: done; null: not on the command line */
	GBE_LEDGER_GONE,	  /* {deployment, upto}: ostree's list lacked it */
	GBE_LEDGER_OPERATION,	  /* core/record/request.h: the last operation */
	GBE_LEDGER_FAILURE,	  /* {operation, reason}: at shutdown; the next start reports it */
	GBE_LEDGER_KINDS
} GbeLedgerKind;

typedef struct {
	guint64 sequence;
	GbeLedgerKind kind;
	JsonObject *object; /* as read */
} GbeLedgerRecord;

typedef struct {
	char *id;	    /* 16 hex digits; NULL: there is no ledger yet */
	GPtrArray *records; /* of GbeLedgerRecord, as in the file, without the head */
	guint64 last;	    /* the largest sequence that was given out; 0: none */
	bool holes;	    /* a line could not be read: the past is incomplete */
} GbeLedger;

GbeLedger *gbe_ledger_new(void);
void gbe_ledger_free(GbeLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeLedger, gbe_ledger_free)

const char *gbe_ledger_kind_to_string(GbeLedgerKind kind);
/* A sequence number in a record. 0: absent, or no number that a ledger gives out. */
guint64 gbe_ledger_number(JsonObject *object, const char *key);
/* Adds a record that was read or written. Takes a reference. GBE_ERROR_CORRUPT: @object is no record. */
bool gbe_ledger_add(GbeLedger *ledger, JsonObject *object, GError **error) GBE_CHECKED;
/* Adds GBE_LEDGER_HOLE for a line that is no record, and may have been any. Adjacent lines share one hole. */
void gbe_ledger_add_hole(GbeLedger *ledger, guint64 line, const char *reason);
/* true where as many runs as are kept have come since the last unreadable line: that line is not missed any more. */
bool gbe_ledger_has_healed(const GbeLedger *ledger);
