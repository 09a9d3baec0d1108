/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that TLS needs, looked at beside their use, so that what is wrong with them can be said by name.
 */
#pragma once

#include "core/health.h"

/* @cacert, @cert, @key: NULL or "" for none. Fills @tls in that order, its paths included. Asks for no
 * passphrase: a key that needs one is a problem. */
void gbe_certificates_look(const char *cacert, const char *cert, const char *key,
			   GbeTlsFile tls[3]);
