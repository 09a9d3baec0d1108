/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that TLS needs, looked at before they are used, so that what is wrong with them can be said by
 * name. By OpenSSL's libcrypto, which libcurl brings along: glib's own certificates are in a module that small
 * systems do not have.
 */
#pragma once

#include "core/health.h"

/* @cacert, @cert, @key: NULL or "" for none. Fills @tls in that order, its paths included. Asks for no
 * passphrase: a key that needs one is a problem. */
void gbe_certificates_look(const char *cacert, const char *cert, const char *key,
			   GbeTlsFile tls[3]);
