/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a small file as a whole. After a power cut @name has the old content or the new one, never a part. A
 * leftover temporary (".gbe-tmp.<name>") is overwritten by the next write, or swept.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/types.h>

#define GBE_TMP_PREFIX ".gbe-tmp."

typedef enum {
	GBE_WRITE_DURABLE, /* file and directory are on disk on return: 2 flushes */
	GBE_WRITE_LATER,   /* settled (sync.h), renamed into place; the caller flushes later */
	/* file is on disk, its name is not; the caller syncs the directory: 1 flush */
	GBE_WRITE_NO_DIR,
} GbeWrite;

/* The temporary is made with O_EXCL|O_NOFOLLOW after an unlink, so that an unprivileged owner of the directory cannot
 * redirect or pre-open it. The owner is root; the mode is exactly @mode. */
bool gbe_write_file_at(int dir_fd, const char *name, const void *bytes, gsize size, mode_t mode,
		       GbeWrite how, GError **error) GBE_CHECKED;
/* Writes all bytes at the offset of @fd. @what names the file in messages. */
bool gbe_write_all(int fd, const void *bytes, gsize size, const char *what,
		   GError **error) GBE_CHECKED;
/* Writes the content of a new file, and its metadata where they are not root's and 0600. */
typedef bool (*GbeWriteFill)(int fd, gpointer data, GError **error);
/* A GbeWriteFill that writes the bytes of the GBytes @data. */
bool gbe_write_bytes(int fd, gpointer data, GError **error) GBE_CHECKED;
/* Writes a new file in a place that no program sweeps. The file gets its name only when its content is on the disk
 * (O_TMPFILE), so that a kill or a power cut leaves nothing. On a file system without O_TMPFILE, a kill leaves a
 * temporary. The caller flushes the directory. An existing file of that name is an error. */
bool gbe_write_new_at(int dir_fd, const char *name, GbeWriteFill fill, gpointer data,
		      GError **error) GBE_CHECKED;
/* Removes the temporaries that a power cut or a kill left in a directory that is root's alone. Every writer in it
 * must hold a lock. Not flushed: a temporary that comes back is swept again. @what names the directory in messages. */
bool gbe_sweep_writes_at(int dir_fd, const char *what, GError **error) GBE_CHECKED;
/* Unlinks and syncs the directory. A missing file is no error. */
bool gbe_unlink_durable_at(int dir_fd, const char *name, GError **error) GBE_CHECKED;
/* Renames an unreadable record to "<name>.broken-<n>" (n from 1, at most 9 kept), durably. *ret_kept (may be NULL)
 * gets the new name. */
bool gbe_set_broken_aside_at(int dir_fd, const char *name, char **ret_kept,
			     GError **error) GBE_CHECKED;
