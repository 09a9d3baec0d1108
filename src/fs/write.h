/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small file, written as a whole. After a power cut @name is the old content or the new one, never a
 * part; a leftover temporary (".gbe-tmp.<name>") is overwritten by the next write and swept.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/types.h>

#define GBE_TMP_PREFIX ".gbe-tmp."

typedef enum {
	GBE_WRITE_DURABLE, /* file and directory are on disk when it returns: 2 flushes */
	GBE_WRITE_LATER,   /* settled (sync.h), renamed into place; the caller flushes later */
	GBE_WRITE_NO_DIR, /* file is on disk, its name not yet; the caller syncs the directory: 1 flush */
} GbeWrite;

/* The temporary is made with O_EXCL|O_NOFOLLOW after an unlink, so that an unprivileged owner of the
 * directory can neither redirect nor pre-open it. Owner root, @mode exactly. */
bool gbe_write_file_at(int dir_fd, const char *name, const void *bytes, gsize size, mode_t mode,
		       GbeWrite how, GError **error) GBE_CHECKED;
/* The same in two steps, for a record that must not be seen before what it says is true: content under the
 * temporary's name, flushed by the caller; then its name, flushed by the caller. */
bool gbe_write_prepare_at(int dir_fd, const char *name, const void *bytes, gsize size, mode_t mode,
			  GError **error) GBE_CHECKED;
bool gbe_write_publish_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
/* Removes the temporaries that a power cut or a kill left in a directory that is root's alone. Who writes in
 * it must hold a lock. Not flushed: one that comes back is swept again. @what: the directory, as people know it. */
bool gbe_sweep_writes_at(int dir_fd, const char *what, GError **error) GBE_CHECKED;
/* unlink and sync of the directory; a file that is not there is no error. */
bool gbe_unlink_durable_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
/* Renames an unreadable record to "<name>.broken-<n>" (n from 1, at most 9 kept), durable. *ret_kept
 * (may be NULL) gets the new name. */
bool gbe_set_broken_aside_at(int dir_fd, const char *name, char **ret_kept,
			     GError **error) GBE_CHECKED;
