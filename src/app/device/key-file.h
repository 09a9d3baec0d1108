/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that hold a key or a password. */
#pragma once

#include "app/device/context.h"

#define GBE_KEY_FILE_MAX 8192

/* Opens a file of keys. GBE_ERROR_UNSAFE_SOURCE unless the file is root's, is no symlink, lies on a path that
 * only root can change, and cannot be written by others, nor read by others when it is @secret. */
bool gbe_key_file_open(const GbeApp *app, const char *path, bool secret, int *ret_fd,
		       GError **error) GBE_CHECKED;
/* Reads a secret, from that file or, with @path NULL, from the systemd credential. Wipe @bytes after use. */
bool gbe_key_file_read(const GbeApp *app, const char *path, const char *credential,
		       char bytes[GBE_KEY_FILE_MAX], gsize *ret_size, GError **error) GBE_CHECKED;
