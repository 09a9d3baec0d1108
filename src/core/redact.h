/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Texts that leave the device lose what looks like a secret first: a person's own words, arguments and
 * error messages may hold anything. "(left out)" takes the place of
 *
 *   the user information of a URL           https://(left out)@host
 *   what follows a telling name             password=, token:, "client-secret": "...", --user X
 *   the word behind "Bearer"
 *   whatever begins with -----BEGIN         to its -----END...-----, else to the end
 *
 * A telling name ends in password, passwd, passphrase, secret, token, apikey, api-key, credential(s)
 * or authorization. No proof that nothing is left: what is known to hold secrets is never given to it.
 */
#pragma once

#include <glib.h>

#define GBE_REDACTED "(left out)"

/* Newly allocated; @text where nothing was found. Redacting twice changes nothing more. */
char *gbe_redact(const char *text);
/* The same of one address, which may be wrong: all before its last '@' but the scheme. NULL stays NULL. */
char *gbe_redact_endpoint(const char *url);
