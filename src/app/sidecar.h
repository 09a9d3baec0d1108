/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A keyed digest in a file of its own, one line of hex: "FILE.hmac" beside a snapshot that was pulled, so that an
 * import of FILE knows that it is what was pushed; "_etcd_backup.hmac" in a store. A file that says nothing
 * of the data by itself: a power cut may leave it without that, or a half one, which proves nothing.
 */
#pragma once

#include "app/keys.h"
#include "fs/part.h"

#define GBE_SIDECAR_SUFFIX ".hmac"

/* NULL: there is none, or none that could be one. */
char *gbe_sidecar_read(int dir_fd, const char *name);

/* Beside the file @name, of the database with that SHA-256. Nothing is done without a key; an old one goes. */
bool gbe_sidecar_sign_file(GbeApp *app, int dir_fd, const char *name, const char *sha256,
			   GError **error) GBE_CHECKED;
/* *ret_proved: there is a right one beside the file at @path. GBE_ERROR_VERIFY_FAILED: there is a wrong one. */
bool gbe_sidecar_prove_file(GbeApp *app, const char *path, const char *sha256, gboolean *ret_proved,
			    GError **error) GBE_CHECKED;
