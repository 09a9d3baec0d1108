/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A keyed digest in a file of its own, one line of hex: "FILE.hmac" beside a pulled snapshot lets an import of FILE
 * prove that it is what was pushed; "_etcd_backup.hmac" is the one in a store. The file says nothing about the data
 * by itself: after a power cut it may be missing or incomplete, and then proves nothing.
 */
#pragma once

#include "app/backups/keys.h"
#include "fs/part.h"

#define GBE_SIDECAR_SUFFIX ".hmac"

/* The digest beside the file @name. GBE_ERROR_FAILED: one is there already, also where there is no key: an import with a
 * key would take it for that of the new file. */
bool gbe_sidecar_begin(int dir_fd, const char *name, GbePart *ret_part, GError **error) GBE_CHECKED;
/* @sha256: of the database in the file. Without a key, nothing is written. */
bool gbe_sidecar_sign(GbeApp *app, GbePart *part, const char *sha256, GError **error) GBE_CHECKED;
/* After the file has its name. Nothing appears where nothing was written. */
bool gbe_sidecar_publish(GbePart *part, GError **error) GBE_CHECKED;
/* *ret_proved: a right digest lies beside the file at @path. GBE_ERROR_VERIFY_FAILED: a wrong one does. */
bool gbe_sidecar_prove_file(GbeApp *app, const char *path, const char *sha256, bool *ret_proved,
			    GError **error) GBE_CHECKED;
