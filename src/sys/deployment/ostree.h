/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libostree's list of deployments and its commits. For reading, libostree takes no lock; this program takes none,
 * either. */
#pragma once

#include "sys/deployment/booted.h"

typedef struct GbeOstree GbeOstree;

typedef struct {
	GbeDeployDir dir;
	bool staged, pinned;
	const char *unlocked; /* libostree's word for the kind of unlock; NULL: locked */
} GbeOstreeDeployment;

/* Starts to load libostree in a thread, in parallel to the caller. gbe_ostree_open() waits for the thread and reports its
 * error. The dynamic linker takes twenty times as long for libostree and its dependencies as libostree takes for a
 * sysroot. Does nothing if libostree is loaded. */
void gbe_ostree_load_ahead(void);
/* @is_root: this is the running system, so that libostree knows the booted deployment. GBE_ERROR_CANNOT_TELL. */
bool gbe_ostree_open(int sysroot_fd, bool is_root, GbeOstree **ret_ostree,
		     GError **error) GBE_CHECKED;
void gbe_ostree_free(GbeOstree *ostree);
/* GbeOstreeDeployment entries in boot order, newly allocated. */
GPtrArray *gbe_ostree_list(const GbeOstree *ostree);
/* False where no deployment is booted, and always below --root. */
bool gbe_ostree_booted(const GbeOstree *ostree, GbeDeployDir *ret_dir);
/* Labels of a commit: its time (0: the commit cannot be read), and the version in its metadata, newly allocated. NULL: the
 * metadata has no version. */
void gbe_ostree_commit_labels(const GbeOstree *ostree, const char *checksum, gint64 *ret_time,
			      char **ret_version);
