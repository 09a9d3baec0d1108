/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One file's blocks, shared with an empty one. That costs some microseconds for each extent, and whoever owns the
 * file makes millions of them at no cost. For fs/clone-file.h.
 */
#pragma once

#include "fs/clone-file.h"

/* Counts the extents of @src, at a fiftieth of what cloning them costs, for a backup that may be left out:
 * GBE_ERROR_UNSUPPORTED beyond GBE_CLONE_MAX_EXTENTS of all files together. */
bool gbe_reflink_spend(GbeFileCloner *cloner, int src, guint64 size, const char *what,
		       GError **error) GBE_CHECKED;
/* In pieces, with progress between them. 0, or an errno; ECANCELED with @error set. */
int gbe_reflink(const GbeFileCloner *cloner, int src, int dst, guint64 size, const char *what,
		GError **error);
