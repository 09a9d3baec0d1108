/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The token of `cluster token`: a cluster's authority with its key, as PEM. During a rotation, a line "rotation: trusted"
 * or "rotation: reissued" comes first, and the other authority with its key follows.
 */
#pragma once

#include "certs/pki.h"

/* A new file, 0600: with it, anybody can issue certificates. */
bool gbe_token_write(GbeApp *app, const char *path, GError **error) GBE_CHECKED;
/* Sets the authorities and the rotation of @ret_pki. GBE_ERROR_NOT_FOUND: no such file; _REFUSED: it is not a token, or
 * other users have access to it. */
bool gbe_token_read(GbeApp *app, const char *path, GbePki *ret_pki, GError **error) GBE_CHECKED;
/* Are both the same authority? */
bool gbe_authority_equal(const GbeAuthority *one, const GbeAuthority *other);
