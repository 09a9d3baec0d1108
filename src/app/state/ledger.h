/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file of the ledger: `ledger` in the state directory (root's, 0600). A line is one record: its CRC32C in 8 hex
 * digits, a blank, and JSON (core/record/ledger.h). Only the holder of the lock appends.
 */
#pragma once

#include "app/device/context.h"
#include "core/decide/past.h"
#include "core/record/ledger.h"
#include "fs/write.h"

#define GBE_LEDGER_NAME "ledger"
#define GBE_LEDGER_PATH GBE_STATE_DIR "/" GBE_LEDGER_NAME

/* The ledger as the file has it now. It belongs to @app and does not change as long as @app holds the lock. A
 * missing file is an empty ledger. GBE_ERROR_FAILED when the file cannot be read for now. Lines that are not
 * records are reported once each time that the file is read under the lock. */
bool gbe_ledger_load(GbeApp *app, const GbeLedger **ret_ledger, GError **error) GBE_CHECKED;
/* Appends a record of that kind; fills in sequence (unless @object has one), kind and time. Takes @object. With
 * GBE_WRITE_DURABLE the record is on the disk when this returns, else with the next durable record. On failure
 * the file ends as it did before, as far as the disk allows. On a full disk the reserve is given back first.
 *
 * After a power cut the file is as before, or has a part of the new record at its end. Such an incomplete line counts
 * as absent, and the next writer cuts it off, durably, before it appends. A line in the middle that cannot be read is a
 * hole (GbeLedger.holes); it stays until the file is rewritten. */
bool gbe_ledger_append(GbeApp *app, GbeLedgerKind kind, JsonObject *object, GbeWrite how,
		       GError **error) GBE_CHECKED;
/* Numbers up to @upto are already used: records without a number of their own get larger ones. */
void gbe_ledger_reserve(GbeApp *app, guint64 upto);
/* Rewrites the file and renames it into place when it has grown to more than twice the needed size
 * (gbe_ledger_needed()), or has healed (gbe_ledger_has_healed()). */
bool gbe_ledger_compact(GbeApp *app, const GbeFacts *facts, GError **error) GBE_CHECKED;
/* 16 hex digits that cannot be guessed; newly allocated. */
char *gbe_ledger_nonce(void);
