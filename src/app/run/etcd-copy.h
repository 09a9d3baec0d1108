/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An etcd on a clone of data, as the only member, walled off (walled.h). It hears a unix socket below the clone and
 * nothing else. The clone lies in the store:
 *
 *   .partial-<name>/etcd/           etcd's working directory, of etcd's user (walled.h)
 *   .partial-<name>/etcd/data/member/...
 *   .partial-<name>/etcd/client:1   etcd's socket
 *
 * After a power cut or a kill the next holder of the program's lock, which the caller has, sweeps it.
 */
#pragma once

#include "app/backups/store.h"
#include "app/device/endpoint.h"
#include "app/run/walled.h"
#include "etcd/api/client.h"

typedef struct {
	GbeApp *app;
	const GbeStore *store;
	char *place;
	int place_fd, work_fd, data_fd; /* ->data_fd is -1 before gbe_etcd_copy_clone() */
	guint64 size;			/* of the data, bytes */
	GbeChildUser user;		/* etcd's */
	GbeWalledRun run;
	GbeClient *client; /* NULL: not open; it borrows the next three */
	int socket_fd;
	char *url;
	GbeEndpoint endpoint;
	GbeAppEndpoint live; /* whose user the clone also has */
} GbeEtcdCopy;
#define GBE_ETCD_COPY_NONE                                                                         \
	{                                                                                          \
		.place_fd = -1, .work_fd = -1, .data_fd = -1, .socket_fd = -1                      \
	}

/* Makes the place. @owner: of the data. */
bool gbe_etcd_copy_make(GbeApp *app, const GbeStore *store, const char *name,
			const struct stat *owner, GbeEtcdCopy *ret_copy,
			GError **error) GBE_CHECKED;
/* Ends etcd and removes everything. */
void gbe_etcd_copy_clear(GbeEtcdCopy *copy);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeEtcdCopy, gbe_etcd_copy_clear)

/* Clones member/, which lies at @member_path of @from_fd, alone: the files next to it are not etcd's. @wal_fd: -1, or
 * the open --wal-dir, which becomes the clone's member/wal. @live: etcd is running, so the clone is made in the order
 * that keeps its files' rules. @cow_only as in fs/copy/clone.h. A clone that is there already is replaced. */
bool gbe_etcd_copy_clone(GbeEtcdCopy *copy, int from_fd, const char *member_path, int wal_fd,
			 bool live, bool cow_only, GError **error) GBE_CHECKED;

typedef struct {
	const char *tree; /* as in walled.h */
	int tree_fd;
	const char *program;
	const char *command; /* [preflight] rehearse-command; NULL: @program is etcd */
	bool alone;	     /* its member was one of several, and forgets the others */
	guint64 seconds;
} GbeEtcdCopyStart;

bool gbe_etcd_copy_start(GbeEtcdCopy *copy, const GbeEtcdCopyStart *start,
			 GError **error) GBE_CHECKED;
/* The version that the program prints, newly allocated. GBE_ERROR_CANNOT_TELL: it prints none. */
bool gbe_etcd_copy_version(GbeEtcdCopy *copy, const GbeEtcdCopyStart *start, char **ret_version,
			   GError **error) GBE_CHECKED;
/* Opens ->client. A link in the socket's place is refused: it could lead to another etcd. False: not yet. */
bool gbe_etcd_copy_connect(GbeEtcdCopy *copy, GbeCallFailure *ret_failure) GBE_CHECKED;
/* Lets etcd end in order. */
void gbe_etcd_copy_end(GbeEtcdCopy *copy);
