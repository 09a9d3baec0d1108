/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What happened to the data: the ledger for people, a record an object, in the order in which it was written
 * (data/schema/log.json). "text" says it in words; "detail": what only repeats or completes another one.
 */
#pragma once

#include "app/context.h"

#include <json-glib/json-glib.h>

/* @since: seconds since the epoch, 0 from the beginning (a label: clocks go wrong); @backup: only what names it,
 * NULL for all. */
bool gbe_log_read(GbeApp *app, gint64 since, const char *backup, JsonArray **ret_log,
		  GError **error) GBE_CHECKED;
