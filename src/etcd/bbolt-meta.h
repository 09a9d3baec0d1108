/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two meta pages of a bbolt database: each commit writes one of them, with its transaction's
 * number. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* 0 for a page that is not valid (magic, version, page size, checksum). Errors are those of reading. */
bool gbe_bbolt_read_txids(int fd, const char *what, guint64 ret_txid[2], bool *ret_valid,
			  GError **error) GBE_CHECKED;
