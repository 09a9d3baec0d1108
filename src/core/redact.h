/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removes what looks like a secret from text that leaves the device: words of a person, arguments and error messages
 * may hold anything. Some secrets may be left, so text that is known to hold secrets must never be passed to it.
 */
#pragma once

#include <glib.h>

/*
 * GBE_REDACTED takes the place of
 *
 *   the user information of a URL           https://(left out)@host
 * the value after a telling name password=, token:, "client-secret": "...", --user X
 * the word after "Bearer"
 *   text from -----BEGIN                    to its -----END...-----, else to the end
 *
 * A telling name ends in pass, pwd, password, passwd, passphrase, secret, token, apikey, api-key, secret-key,
 * private-key, credential(s) or authorization.
 */
#define GBE_REDACTED "(left out)"

/* Newly allocated; a copy of @text where nothing was found. Redacting twice changes nothing more. */
char *gbe_redact(const char *text);
/* The same for one address, which may be malformed: removes all text before its last '@', except the scheme. NULL
 * gives NULL. */
char *gbe_redact_endpoint(const char *url);
