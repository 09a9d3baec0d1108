/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Making things durable. Open the fd before writing: syncfs reports write-back errors since then
 * (kernel 5.8). On btrfs each of these commits the file system (sync.c says why). After a true result, what was written before the call survives a power cut.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* @what names the object in the error. */
bool gbe_sync_fs(int fd, const char *what, GError **error) GBE_CHECKED; /* the whole file system */
bool gbe_sync_dir(int dir_fd, const char *what,
		  GError **error) GBE_CHECKED; /* names in a directory */
bool gbe_sync_file(int fd, const char *what, GError **error) GBE_CHECKED;
