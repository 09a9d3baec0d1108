/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file of the ledger: `ledger` in the state directory (root's, 0600), a record a line, each line its
 * CRC32C in 8 hex digits, a blank, and JSON (core/ledger.h). Only who holds the lock appends.
 *
 * After a power cut the file is what it was, or that and a part of the record that was being appended: a
 * line that is not whole is none, and the next writer cuts it off, durably, before it appends. A line in
 * the middle that cannot be read is a hole (GbeLedger.holes); it stays until the file is written anew.
 */
#pragma once

#include "app/context.h"
#include "core/ledger.h"
#include "fs/write.h"

#define GBE_LEDGER_NAME "ledger"

/* What is in the file by now; it belongs to @app, and stays what it is as long as @app holds the lock.
 * No file: an empty ledger. What cannot be read for now is GBE_ERROR_FAILED. Lines that are no records are
 * said once for each time that the file is read under the lock. */
bool gbe_ledger_load(GbeApp *app, const GbeLedger **ret_ledger, GError **error) GBE_CHECKED;
/* Appends a record of that kind; fills in sequence (unless @object has one), kind and time. Takes
 * @object. GBE_WRITE_DURABLE: it is on the disk when this returns; else with the next that is. On failure
 * the file ends as it did, as far as the disk lets it be. On a full disk the reserve is given back first. */
bool gbe_ledger_append(GbeApp *app, GbeLedgerKind kind, JsonObject *object, GbeWrite how,
		       GError **error) GBE_CHECKED;
/* Numbers up to @upto are given out: records that have none of their own get larger ones. */
void gbe_ledger_reserve(GbeApp *app, guint64 upto);
/* Where the file has grown to more than twice what is needed (gbe_ledger_needed()), or has healed
 * (gbe_ledger_has_healed()): writes it anew and renames it into place. */
bool gbe_ledger_compact(GbeApp *app, const GbeFacts *facts, GError **error) GBE_CHECKED;
/* 16 hex digits that nobody can guess; newly allocated. */
char *gbe_ledger_nonce(void);
