/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The data directory on this device: where it is, whether it is a mount point, the stamp inside. The
 * handle on which backup and restore work.
 */
#pragma once

#include "app/context.h"
#include "core/facts.h"
#include "core/record.h"

typedef struct {
	char *path;	      /* absolute, normalized, without --root */
	int parent_fd;	      /* -1: the parent is not there */
	char *name;	      /* last component */
	int fd;		      /* the directory; -1: there is none */
	gboolean mount_point; /* rename and exchange work one level deeper */
	char *member_path;    /* "" or "etcd": member/ lies there; NULL: no member/ */
	char *wal_dir;	      /* [etcd] wal-dir, or NULL */
	int wal_fd;	      /* -1 */
} GbeData;

/* What is no part of the data, at its top: NULL-terminated, static. */
extern const char *const gbe_data_exclude[];
/* Where this program works in a data directory that is a mount point; for gbe_own_dir_open_at(). */
extern const char *const gbe_data_hidden[];

/* A missing directory is no error (->fd -1). GBE_ERROR_UNSAFE_SOURCE: a symlink, or a parent that
 * others can write. */
bool gbe_data_open(GbeApp *app, GbeData **ret_data, GError **error) GBE_CHECKED;
void gbe_data_free(GbeData *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeData, gbe_data_free)
/* Is what etcd works on all in here? GBE_ERROR_UNSAFE_SOURCE names the WAL that lies elsewhere, and what
 * to do: a copy of the rest would be a backup that etcd cannot start from, or starts from as a new
 * member, and a restored rest beside the WAL of now would be two halves of different times. */
bool gbe_data_check_whole(const GbeData *data, GError **error) GBE_CHECKED;
/* The WAL of a copy of the data directory that was @data_dir: a new fd where [etcd] wal-dir lies in there, as
 * that came along; else -1, and it is beside the database. */
int gbe_data_open_wal_of_copy(const GbeApp *app, const char *data_dir, int copy_fd);
/* Fills the facts about the data: presence, openness, stamp, handle, fingerprint, last write... With
 * @ret_lock_fd, etcd's lock on db is taken and kept there (-1 where there is no db). */
void gbe_data_observe(GbeApp *app, GbeData *data, GbeFacts *facts, int *ret_lock_fd);
/* Writes the stamp into the data directory, durably (2 flushes): the take-over itself. */
bool gbe_data_write_stamp(GbeData *data, const GbeStamp *stamp, GError **error) GBE_CHECKED;
/* Takes the closing record out of the stamp, durably, where there is one: etcd is about to write. Who forgot
 * would take its writes for those of somebody without this program (rule 13). */
bool gbe_data_clear_closing(GbeData *data, GError **error) GBE_CHECKED;
/* Into any tree, without a flush of the directory: for staging trees. */
bool gbe_data_write_stamp_at(int dir_fd, const GbeStamp *stamp, GError **error) GBE_CHECKED;
/* NULL and no error: there is none. */
bool gbe_data_read_stamp_at(int dir_fd, GbeStamp **ret_stamp, GError **error) GBE_CHECKED;
/* Removes the stamp, durably: the data is nobody's. */
bool gbe_data_forget_stamp(GbeApp *app, GbeData *data, GError **error) GBE_CHECKED;
