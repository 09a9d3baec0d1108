/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history of the data: the ledger for people, one object for each record, in the order in which it was written
 * (data/schema/log.json). "text" has the record in words; "detail" is true for a record that only repeats or
 * completes another one.
 */
#pragma once

#include "app/device/context.h"

#include <json-glib/json-glib.h>

/* @since: seconds since the epoch, 0: from the beginning (times are only labels: clocks go wrong). @backup: only
 * records that name it, NULL: all. */
bool gbe_log_read(GbeApp *app, gint64 since, const char *backup, JsonArray **ret_log,
		  GError **error) GBE_CHECKED;
