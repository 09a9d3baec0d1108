/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The data directory on this device, for backup and restore. Its place, its tree's identity, whether it is a mount
 * point, and the process that has it open.
 */
#pragma once

#include "app/device/context.h"
#include "core/decide/facts.h"
#include "core/json/parse.h"

typedef struct {
	char *path;	   /* absolute, normalized, without --root */
	int parent_fd;	   /* -1: the parent is not there */
	char *name;	   /* last component */
	int fd;		   /* the directory; -1: missing */
	bool mount_point;  /* rename and exchange work one level deeper */
	char *member_path; /* "" or "etcd": member/ lies there; NULL: no member/ */
	/* Why what is in there cannot be etcd's; NULL. With ->fd -1: a link is in the directory's place. */
	char *unsafe;
	char *wal_dir; /* [etcd] wal-dir, or NULL */
	int wal_fd;    /* -1 */
} GbeData;

/* Names at the top of the data directory that are no part of the data; NULL-terminated, static. */
extern const char *const gbe_data_exclude[];
/* The directory in which this program works in a data directory that is a mount point; for gbe_own_dir_open_at(). */
extern const char *const gbe_data_hidden[];

/* A missing directory is no error (->fd is -1). A link of that name is no error (->unsafe is set also), and a restore
 * removes it. GBE_ERROR_UNSAFE_SOURCE: a file has that name, or others can write to a parent. */
bool gbe_data_open_any(GbeApp *app, GbeData **ret_data, GError **error) GBE_CHECKED;
/* The same for callers that need the directory. GBE_ERROR_UNSAFE_SOURCE also for a link. */
bool gbe_data_open(GbeApp *app, GbeData **ret_data, GError **error) GBE_CHECKED;
void gbe_data_free(GbeData *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeData, gbe_data_free)
/* Is everything that etcd works on in this directory? GBE_ERROR_UNSAFE_SOURCE names a WAL that lies elsewhere, and says
 * what to do. A copy without that WAL is a backup that etcd cannot start from, or starts from as a new member. A tree
 * that is restored next to the present WAL would be two halves of different times. */
bool gbe_data_check_whole(const GbeData *data, GError **error) GBE_CHECKED;
/* The path of [etcd] wal-dir below @data_dir, borrowed. NULL: it is not set, or lies elsewhere. */
const char *gbe_data_wal_below(const GbeApp *app, const char *data_dir);
/* The WAL of a copy of the data directory @data_dir. If [etcd] wal-dir lies inside @data_dir, the copy has the WAL
 * there: a new fd. Else -1, and the WAL is next to the database. */
int gbe_data_open_wal_of_copy(const GbeApp *app, const char *data_dir, int copy_fd);
/* Fills the facts about the data: presence, openness, identity, nonce, fingerprint, last write... With
 * @ret_lock_fd, etcd's lock on db is taken and kept there (-1 where there is no db). */
void gbe_data_observe(GbeApp *app, GbeData *data, GbeFacts *facts, int *ret_lock_fd);
/* Fills only the facts whether there is data, and a log. */
void gbe_data_observe_presence(const GbeData *data, GbeFacts *facts);
/* Fills only the facts that say which tree it is: identity and nonce. */
void gbe_data_observe_identity(const GbeData *data, GbeFacts *facts);
/* Writes the nonce of a take-over into a tree (core/decide/past.h), not flushed. */
bool gbe_data_write_nonce_at(GbeApp *app, int dir_fd, const GbeTakeOver *take_over,
			     GError **error) GBE_CHECKED;
/* Removes the nonce: what the ledger says of the end of the last run is then no longer valid. */
bool gbe_data_remove_nonce(GbeData *data, GError **error) GBE_CHECKED;
/* The process that has @data open: "etcd (pid 812, microshift-etcd.scope)", or "a process that cannot be seen from
 * here". Newly allocated. */
char *gbe_data_holder(const GbeData *data);
/* The unit of that process; NULL: no unit, or unknown. Newly allocated. */
char *gbe_data_holder_unit(const GbeData *data);
/* The process itself; 0: unknown. */
pid_t gbe_data_holder_pid(const GbeData *data);
/* Waits up to @seconds (0: looks once), and counts the waiting as progress; holds no lock afterwards.
 * GBE_ERROR_BUSY names the process that still has @data open; any other error: that could not be told. */
bool gbe_data_wait_closed(GbeApp *app, const GbeData *data, guint seconds,
			  GError **error) GBE_CHECKED;
