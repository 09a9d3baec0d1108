/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger's path and the limits of a line, for ledger.c (writes) and ledger-read.c (reads). */
#pragma once

#include "app/state/ledger.h"
#include "core/json/parse.h"

#define GBE_LEDGER_PATH GBE_STATE_DIR "/" GBE_LEDGER_NAME
/* The digits of the CRC and the blank. */
#define GBE_LEDGER_CRC_LEN 9
/* A record has some hundred bytes, an intent some thousand. Longer lines are neither read nor written. */
#define GBE_LEDGER_LINE_MAX (GBE_LEDGER_CRC_LEN + GBE_JSON_MAX_SIZE)

void gbe_ledger_file_free(GbeLedgerFile *file);

struct GbeLedgerFile {
	GbeLedger *ledger;
	int fd;	     /* for appending; -1 */
	guint64 end; /* offset after the last whole line */
	guint64 size;
};

/* @how: O_RDONLY, or O_RDWR | O_CREAT. *ret_fd is -1, without an error, when there is no ledger. Implemented in
 * ledger-read.c. */
bool gbe_ledger_open(GbeApp *app, int how, int *ret_fd, GError **error) GBE_CHECKED;
