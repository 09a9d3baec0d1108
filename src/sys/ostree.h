/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libostree: its list of deployments and its commits. It takes no lock for reading, and neither do we. */
#pragma once

#include "sys/booted.h"

typedef struct GbeOstree GbeOstree;

typedef struct {
	GbeDeployDir dir;
	gboolean staged, pinned;
	const char *unlocked; /* libostree's word for how; NULL: it is not */
} GbeOstreeDeployment;

/* Begins to load libostree in a thread, beside what the caller does until gbe_ostree_open(), which waits for it
 * and says what is wrong. The dynamic linker takes twenty times as long for it and what comes with it as libostree
 * for a sysroot. Nothing where it is loaded. */
void gbe_ostree_load_ahead(void);
/* @is_root: the system itself, so that it knows which deployment is booted. GBE_ERROR_CANNOT_TELL. */
bool gbe_ostree_open(int sysroot_fd, gboolean is_root, GbeOstree **ret_ostree,
		     GError **error) GBE_CHECKED;
void gbe_ostree_free(GbeOstree *ostree);
/* In boot order. Of GbeOstreeDeployment, newly allocated. */
GPtrArray *gbe_ostree_list(const GbeOstree *ostree);
/* False where none of them is; never true below --root. */
bool gbe_ostree_booted(const GbeOstree *ostree, GbeDeployDir *ret_dir);
/* A label only: 0 where the commit cannot be read. */
gint64 gbe_ostree_commit_time(const GbeOstree *ostree, const char *checksum);
