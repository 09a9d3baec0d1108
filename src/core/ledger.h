/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger: root's word on what happened to the data. An append-only file of records, a line each; what
 * is known of the past is a fold over them. Reading and writing the file is src/app/ledger.h's.
 *
 * Each record is a JSON object with "sequence" (a number of its own; order is by it, never by a clock),
 * "kind" and "time" (a label). A kind that is not known is a newer program's: it is kept and says nothing.
 * A record is never changed: what becomes known later is a later record that names the take-over ("of").
 */
#pragma once

#include "core/facts.h"

/* JSON holds these exactly. A record beyond it is none. */
#define GBE_LEDGER_SEQUENCE_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)

typedef enum {
	GBE_LEDGER_OTHER,     /* a newer program's */
	GBE_LEDGER_HOLE,      /* {line, lines, reason}: lines that are no records; in memory only */
	GBE_LEDGER_HEAD,      /* {id}: the first record of the file */
	GBE_LEDGER_TAKE_OVER, /* core/take-over.h */
	GBE_LEDGER_TREE, /* {of, tree, nonce, mount_point}: where that take-over's data was found */
	GBE_LEDGER_HANDED_BACK, /* {of}: the data is nobody's from here on */
	GBE_LEDGER_VERDICT,	/* {of, ...}: core/run-record.h */
	GBE_LEDGER_CLOSING,	/* {of, tree, ...}: the orderly end of the run */
	GBE_LEDGER_OPENED,	/* {of}: etcd may write again, the closing record is over */
	GBE_LEDGER_USED,	/* {of}: the run has used the data for longer than trial-limit */
	GBE_LEDGER_START,	/* {deployment}: a prerun began */
	GBE_LEDGER_END,		/* {deployment, of, held, reason}: and came to its end */
	GBE_LEDGER_INTENT,	/* core/intent.h */
	GBE_LEDGER_INTENT_ENDED, /* {of, result}: undone; a take-over ends one that was carried out */
	GBE_LEDGER_BACKUP,  /* {backup, number, deployment, grade, reason}: taken or displaced */
	GBE_LEDGER_GRADED,  /* {backup, number, grade, reason} */
	GBE_LEDGER_REMOVED, /* {backup, number, reason} */
	GBE_LEDGER_REQUEST, /* core/request.h: --next-boot */
	GBE_LEDGER_REQUEST_ENDED, /* {result, reason}: cancelled, or it could not be carried out */
	GBE_LEDGER_CMDLINE, /* {restore, rd_restore}: carried out; null: the command line lacks it */
	GBE_LEDGER_GONE,    /* {deployment, upto}: ostree's list lacked it */
	GBE_LEDGER_OPERATION, /* core/request.h: what was done last */
	GBE_LEDGER_FAILURE,   /* {operation, reason}: at shutdown, for the next start to say */
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
	gboolean holes;	    /* a line could not be read: the past is not whole */
} GbeLedger;

GbeLedger *gbe_ledger_new(void);
void gbe_ledger_free(GbeLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeLedger, gbe_ledger_free)

const char *gbe_ledger_kind_to_string(GbeLedgerKind kind);
/* A sequence number in a record; 0: none, or not one that a ledger gives out. */
guint64 gbe_ledger_number(JsonObject *object, const char *key);
/* Adds a record that was read or written. Takes a reference. GBE_ERROR_CORRUPT: it is no record. */
bool gbe_ledger_add(GbeLedger *ledger, JsonObject *object, GError **error) GBE_CHECKED;
/* A line that is no record, and may have been any: GBE_LEDGER_HOLE, one for those that follow each other. */
void gbe_ledger_add_hole(GbeLedger *ledger, guint64 line, const char *reason);
/* What the ledger says, into the facts about the past: ->take_overs, ->runs, ->gone, the request, the open
 * intent and the rest. */
void gbe_ledger_fold(const GbeLedger *ledger, GbeFacts *facts);
/* The records that are still needed, in order, borrowed: by the newest 32 runs, a deployment that is
 * listed, a backup that is there, an open operation, a request or `undo`; and all of a kind that is not known.
 * @facts: as folded, with the store and ostree's list (known, or there is no ostree). */
GPtrArray *gbe_ledger_needed(const GbeLedger *ledger, const GbeFacts *facts);
/* Since the last line that could not be read, as many runs have come as are kept: it is not missed any more. */
gboolean gbe_ledger_has_healed(const GbeLedger *ledger);
