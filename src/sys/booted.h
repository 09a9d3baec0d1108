/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of ostree's deployments is told by files alone, below --root where libostree looks at the
 * machine's own /run and / instead: the booted one (ostree= on the kernel command line) and the staged
 * one (run/ostree/staged-deployment).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* A deployment by its directory: /ostree/deploy/<stateroot>/deploy/<checksum>.<serial>. */
typedef struct {
	char *stateroot;
	char *checksum;
	guint serial;
} GbeDeployDir;

void gbe_deploy_dir_clear(GbeDeployDir *dir);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDeployDir, gbe_deploy_dir_clear)

/* From the end of @path, whatever is before "deploy/<stateroot>/deploy/". */
bool gbe_deploy_dir_parse(const char *path, GbeDeployDir *ret_dir);
/* Relative to the sysroot, newly allocated. */
char *gbe_deploy_dir_path(const GbeDeployDir *dir);
/* Follows @ostree_arg (as ostree= names it: a link below the sysroot) to a deployment's directory. */
bool gbe_booted_resolve(int sysroot_fd, const char *ostree_arg, GbeDeployDir *ret_dir,
			GError **error) GBE_CHECKED;
/* GBE_ERROR_NOT_FOUND when nothing is staged. *ret_locked: it is not to be finalized at the next
 * shutdown. */
bool gbe_staged_read(int root_fd, GbeDeployDir *ret_dir, gboolean *ret_locked,
		     GError **error) GBE_CHECKED;
/* From memory: ostree's a{sv}. Any bytes. */
bool gbe_staged_parse(const char *bytes, gsize size, GbeDeployDir *ret_dir, gboolean *ret_locked,
		      GError **error) GBE_CHECKED;
