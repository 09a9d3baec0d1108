/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owner of a tree may have set what keeps it from being moved or removed: attributes of chattr(1), or the
 * read-only property of a btrfs subvolume. Here it is cleared. Nothing is synced: after a power cut it may be back.
 */
#pragma once

#include <stdbool.h>

/* Clears the attributes that forbid to unlink (immutable, append-only), or to move a file of another project into the
 * directory (PROJINHERIT). True: there were some. */
bool gbe_unprotect(int fd);
/* The same for a file or a directory that may be gone, or of another type: then it has none. */
bool gbe_unprotect_at(int dir_fd, const char *name);
/* renameat2(), which tries once more without what an unprivileged owner can set: another project of the directories, a
 * read-only subvolume. The immutable attribute is root's, and counts. 0 or an errno. */
int gbe_rename_unprotected(int from_dir, const char *from, int to_dir, const char *to,
			   unsigned int flags);
