/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The past as the ledger records it: the fold over its records into facts, and the records that a shorter
 * ledger keeps. Implemented in fold.c, needed.c.
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
