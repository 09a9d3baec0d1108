/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shares one file's blocks with an empty file, for fs/copy/clone-file.h. Each extent costs some microseconds, and the
 * file's owner can make millions of extents at no cost.
 */
#pragma once

#include "fs/copy/clone-file.h"

/* Counts the extents of @src in a backup that may be left out. Counting takes a fiftieth of the time of cloning.
 * GBE_ERROR_UNSUPPORTED beyond GBE_CLONE_MAX_EXTENTS of all files together. */
bool gbe_reflink_spend(GbeFileCloner *cloner, int src, guint64 size, const char *what,
		       GError **error) GBE_CHECKED;
/* Clones in pieces and reports progress between them. Returns 0 or an errno; with ECANCELED, @error is set. */
int gbe_reflink(const GbeFileCloner *cloner, int src, int dst, guint64 size, const char *what,
		GError **error);
