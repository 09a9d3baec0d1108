/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A record of the ledger in words: the subject first, names in full. */
#pragma once

#include "core/record/ledger.h"

/* @rule: of the operation that a take-over ended, or NULL. Newly allocated. */
char *gbe_log_words(const GbeLedgerRecord *record, const char *rule);
