/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which data is it? The ledger knows a tree by its file system and the handle of its top: nobody but root
 * can put another directory there. Where a handle cannot tell (data that root moved or copied, another
 * disk, a ledger that went back), a nonce of root's in the tree does. What the owner of the directory
 * writes in there decides nothing (decisions.md, "Who is believed").
 */
#pragma once

#include "core/facts.h"

/* The text of the nonce file; newly allocated. @summary: for people. */
char *gbe_nonce_print(const char *ledger_id, const GbeTakeOver *take_over);
/* Into facts->nonce; bytes that are none leave it absent. */
void gbe_nonce_parse(const char *bytes, gsize size, GbeNonce *nonce);
void gbe_nonce_clear(GbeNonce *nonce);

/* Whose data it is, from facts->tree, ->nonce and ->take_overs: sets ->owner (NULL with ->owner_why: nobody
 * knows) and ->stranger. */
void gbe_identify(GbeFacts *facts);
