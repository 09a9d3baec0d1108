/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cloning a tree file by file, for fs/clone.c. */
#pragma once

#include "fs/clone.h"

/* Fills @dst_fd, an empty directory that nobody else can enter, and gives it the source's metadata at
 * last. Sets method and bytes_written of @result. What was made is left on failure. */
bool gbe_clone_files(int src_fd, int dst_fd, const GbeCloneOptions *options, GbeCloneResult *result,
		     GError **error) GBE_CHECKED;
