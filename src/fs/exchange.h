/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Renames with renameat2(2), so that names change places or nothing happens: no fallback deletes first. A rename is
 * durable once the parents are synced (fs/sync.h).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* Both names must exist. EINVAL/ENOSYS/EXDEV/EBUSY become GBE_ERROR_UNSUPPORTED. */
bool gbe_exchange_at(int dir_a, const char *a, int dir_b, const char *b,
		     GError **error) GBE_CHECKED;
/* @to must not exist (else GBE_ERROR_BUSY). EXDEV becomes GBE_ERROR_UNSUPPORTED. */
bool gbe_rename_new_at(int from_dir, const char *from, int to_dir, const char *to,
		       GError **error) GBE_CHECKED;
/* Can a directory be renamed from @stage_dir to @parent_dir and back? Tries with an empty directory of our own in
 * each and removes both. A power cut leaves them until the next probe or sweep there. */
bool gbe_probe_rename(int stage_dir, int parent_dir);
/* Can a directory change places with @dir_fd in @parent_dir? Writes only where the file system's type does not tell:
 * with empty directories of our own, as above. */
GbeTri gbe_probe_exchange(int parent_dir, int dir_fd);
void gbe_probe_rename_sweep(int dir_fd);

/*
 * Attributes of chattr(1), or the read-only property of a btrfs subvolume, may keep a tree from being moved or removed.
 * These functions clear them. The change is not synced: a power cut may undo it.
 */
/* Clears the attributes that forbid to unlink (immutable, append-only), or to move a file of another project into the
 * directory (PROJINHERIT). True: there were some. */
bool gbe_unprotect(int fd);
/* The same for a file or a directory that may be gone, or of another type: then it has none. */
bool gbe_unprotect_at(int dir_fd, const char *name);
/* renameat2(), which tries once more without what an unprivileged owner can set: another project of the directories, a
 * read-only subvolume. The immutable attribute is root's, and counts. 0 or an errno. */
int gbe_rename_unprotected(int from_dir, const char *from, int to_dir, const char *to,
			   unsigned int flags);
