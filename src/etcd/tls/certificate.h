/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Examines the files that TLS needs apart from their use, so that each problem names its file. */
#pragma once

#include "core/health/health.h"

/* @cacert, @cert, @key: NULL or "" for none. Fills @tls in that order, paths included. Never asks for a passphrase:
 * a key that needs one is a problem. */
void gbe_certificates_look(const char *cacert, const char *cert, const char *key,
			   GbeTlsFile tls[3]);
