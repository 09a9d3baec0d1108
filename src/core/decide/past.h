/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The past as the ledger records it: the fold over its records into facts, and the records that a shorter
 * ledger keeps. Implemented in past.c. Also the owner of the data, implemented in identity.c.
 */
#pragma once

#include "core/decide/facts.h"
#include "core/record/ledger.h"

/* Fills in the facts about the past: ->take_overs, ->runs, ->gone, the request, the open intent and the rest. */
void gbe_ledger_fold(const GbeLedger *ledger, GbeFacts *facts);
/* Adds one take-over to the facts, as if it were the newest record. Takes @take_over. */
void gbe_past_add(GbeFacts *facts, GbeTakeOver *take_over);
/* The records that are still needed, in order, borrowed. A record is needed by the newest 32 runs, a listed deployment,
 * an existing backup, an open operation, a request or `undo`. All records of an unknown kind are needed.
 * @facts: folded, with the store and ostree's list (known, or there is no ostree). */
GPtrArray *gbe_ledger_needed(const GbeLedger *ledger, const GbeFacts *facts);

/*
 * Identifies the data. The ledger knows a tree by its file system and the handle of its top: only root can put
 * another directory there. If a handle is no proof (root moved or copied the data, another disk, a ledger
 * that was reset), root's nonce in the tree decides. The directory's owner may write any file
 * into it, so the program believes none of these files.
 */

/* The text of the nonce file, newly allocated. Its member "summary" is for people. */
char *gbe_nonce_print(const char *ledger_id, const GbeTakeOver *take_over);
/* Reads the nonce file's bytes into @nonce. @nonce stays empty if the bytes are not a nonce. */
void gbe_nonce_parse(const char *bytes, gsize size, GbeNonce *nonce);
void gbe_nonce_clear(GbeNonce *nonce);

/* Finds the owner of the data from facts->tree, ->nonce and ->take_overs. Sets ->owner (NULL, with ->owner_why:
 * unknown) and ->stranger. */
void gbe_identify(GbeFacts *facts);
