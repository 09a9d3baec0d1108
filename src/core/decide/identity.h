/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which data is it? The ledger knows a tree by its file system and the handle of its top: only root can put
 * another directory there. Where a handle cannot tell (root moved or copied the data, another disk, a ledger
 * that went back), root's nonce in the tree decides. The directory's owner may write any file
 * into it, so the program believes none of these files.
 */
#pragma once

#include "core/decide/facts.h"

/* The text of the nonce file, newly allocated. Its member "summary" is for people. */
char *gbe_nonce_print(const char *ledger_id, const GbeTakeOver *take_over);
/* Reads the nonce file's bytes into @nonce. Bytes that are no nonce leave @nonce empty. */
void gbe_nonce_parse(const char *bytes, gsize size, GbeNonce *nonce);
void gbe_nonce_clear(GbeNonce *nonce);

/* Finds the owner of the data from facts->tree, ->nonce and ->take_overs. Sets ->owner (NULL, with ->owner_why: not
 * known) and ->stranger. */
void gbe_identify(GbeFacts *facts);
